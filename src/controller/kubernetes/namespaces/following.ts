import { Slots } from '../../../concurrency/slots.ts';
import type { KubeObject, ResourceType } from '../client/kube-api.ts';
import type { KindName } from '../schema/common.ts';
import { holderOf, LEASE_SELECTOR, LEASES, releaseLease } from './claim.ts';
import { FollowedNamespace, type FollowedNamespaceDeps } from './followed-namespace.ts';
import { Informer, type Change } from '../runtime/informer.ts';
import { KindInformers } from '../runtime/kind-informers.ts';
import { NAMESPACE_STANDINGS, type NamespaceStanding } from '../runtime/metrics.ts';
import { NamespaceCache } from '../runtime/namespace-cache.ts';

/*
 * The namespaces that the operator follows, as they come and go. In the scope `cluster` one watch for each kind, one
 * for the Leases and one or two for the namespaces serve them all, and a namespace adds those of its Secrets. In the
 * scope `namespaces`, for an operator without rights in the cluster, each named namespace has its own watches.
 */

/** Which namespaces are followed. */
export interface Followed {
  readonly namespaces: readonly string[];
  /** A selector of labels in the form of the API server; undefined: only the named ones. */
  readonly namespaceSelector: string | undefined;
  readonly scope: 'cluster' | 'namespaces';
}

interface FollowingDeps extends Omit<FollowedNamespaceDeps, 'claims'>, Followed {}

const CLAIMS_MAX = 16;
const NAMESPACES: ResourceType = { group: '', version: 'v1', plural: 'namespaces' };

interface Member {
  readonly followed: FollowedNamespace;
  /** The informers of this namespace alone, beside those of its Secrets. */
  readonly own: readonly Informer[];
  readonly letGo: AbortController;
  /** Resolves when its Lease is released. */
  ended: Promise<void>;
}

/** Follows namespaces, those with a label as well as those that are named. */
export class Following {
  readonly #deps: FollowingDeps;
  readonly #add: (key: string) => void;
  readonly #members = new Map<string, Member>();
  readonly #names: ReadonlySet<string>;
  /** The informers of the whole cluster. */
  readonly #kinds: KindInformers | undefined;
  readonly #leases: Informer | undefined;
  readonly #namespaces: readonly Informer[];
  /** The release of a Lease, by namespace: it is taken up again only afterwards. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #claims = new Slots(CLAIMS_MAX);
  #signal: AbortSignal = AbortSignal.abort();

  /** @param add has the resource of a key reconciled */
  constructor(deps: FollowingDeps, add: (key: string) => void) {
    this.#deps = deps;
    this.#add = add;
    this.#names = new Set(deps.namespaces);
    const isCluster = deps.scope === 'cluster' && (this.#names.size > 0 || deps.namespaceSelector !== undefined);
    this.#kinds = isCluster ? this.#kindInformers(undefined, (name) => this.#members.get(name)) : undefined;
    this.#leases = isCluster ? this.#leaseInformer(undefined, (name) => this.#members.get(name)) : undefined;
    this.#namespaces = isCluster ? [...this.#namedInformer(), ...this.#selectedInformer()] : [];
  }

  /** The namespace while it is followed. */
  get(namespace: string): FollowedNamespace | undefined {
    return this.#members.get(namespace)?.followed;
  }

  all(): Iterable<FollowedNamespace> {
    return [...this.#members.values()].map(({ followed }) => followed);
  }

  /** How many namespaces stand in which way. */
  standings(): ReadonlyMap<NamespaceStanding, number> {
    const counts = new Map<NamespaceStanding, number>(NAMESPACE_STANDINGS.map((standing) => [standing, 0]));
    const count = (standing: NamespaceStanding, by = 1): void =>
      void counts.set(standing, (counts.get(standing) ?? 0) + by);
    for (const { standing } of this.all()) count(standing);
    const absent = [...this.#names].filter((name) => !this.#members.has(name));
    if (this.#namespaces.every(({ synced }) => synced)) count('absent', absent.length);
    return counts;
  }

  /**
   * The informers that must hear the API server. A namespace that waits for its rights is not among them: it keeps no
   * other one from being served.
   */
  informers(): readonly Informer[] {
    const members = [...this.#members.values()].flatMap(({ followed, own }) => [...own, ...followed.cache.informers]);
    const ofCluster = [...this.#namespaces, ...(this.#leases ? [this.#leases] : []), ...(this.#kinds?.informers ?? [])];
    return [...ofCluster, ...members.filter(({ refused }) => !refused)];
  }

  /** Follows until the signal aborts; the Leases stay, for the next leader. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    this.#signal = signal;
    if (this.#deps.scope === 'namespaces') for (const name of this.#names) this.#takeUp(name);
    const { informers = [] } = this.#kinds ?? {};
    const ofCluster = [...informers, ...(this.#leases ? [this.#leases] : []), ...this.#namespaces];
    await Promise.all(ofCluster.map((informer) => informer.run(signal)));
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await Promise.all([...this.#members.values()].map(({ ended }) => ended));
    await Promise.all(this.#leaving.values());
  }

  #kindInformers(namespace: string | undefined, memberOf: (namespace: string) => Member | undefined): KindInformers {
    return new KindInformers(this.#deps, {
      namespace,
      onChange: (kind: KindName, change: Change) => {
        const object = change.now ?? change.before;
        if (object) memberOf(object.metadata.namespace)?.followed.cache.resourceChanged(kind, change);
      },
    });
  }

  #leaseInformer(namespace: string | undefined, memberOf: (namespace: string) => Member | undefined): Informer {
    return new Informer(this.#deps, {
      type: LEASES,
      namespace,
      fieldSelector: LEASE_SELECTOR,
      onListed: () => {
        for (const { followed } of this.#members.values()) followed.look();
        this.#giveUpOthers();
      },
      onChange: ({ now, before }) => {
        const object = now ?? before;
        if (!object) return;
        memberOf(object.metadata.namespace)?.followed.leaseChanged(now, before);
        if (now) this.#giveUp(now);
      },
    });
  }

  #namedInformer(): Informer[] {
    if (this.#names.size === 0) return [];
    const keep = (object: KubeObject): KubeObject | undefined =>
      this.#names.has(object.metadata.name) ? withoutLabels(object) : undefined;
    return [this.#namespaceInformer({ keep })];
  }

  #selectedInformer(): Informer[] {
    const labelSelector = this.#deps.namespaceSelector;
    return labelSelector === undefined ? [] : [this.#namespaceInformer({ labelSelector, keep: withoutLabels })];
  }

  #namespaceInformer(options: Pick<ConstructorParameters<typeof Informer>[1], 'labelSelector' | 'keep'>): Informer {
    return new Informer(this.#deps, {
      ...options,
      type: NAMESPACES,
      onListed: () => this.#giveUpOthers(),
      onChange: ({ now, before }) => this.#namespaceChanged((now ?? before)?.metadata.name ?? ''),
    });
  }

  #objectOf(name: string): KubeObject | undefined {
    for (const informer of this.#namespaces) {
      const object = informer.get(name);
      if (object) return object;
    }
    return undefined;
  }

  #namespaceChanged(name: string): void {
    const member = this.#members.get(name);
    if (!this.#objectOf(name)) this.#letGo(name);
    else if (member) member.followed.look();
    else this.#takeUp(name);
  }

  #takeUp(name: string): void {
    const { scope } = this.#deps;
    const letGo = new AbortController();
    const signal = AbortSignal.any([this.#signal, letGo.signal]);
    const memberOf = (namespace: string): Member | undefined => this.#members.get(namespace);
    const kinds = this.#kinds ?? this.#kindInformers(name, memberOf);
    const leases = this.#leases ?? this.#leaseInformer(name, memberOf);
    const own = scope === 'cluster' ? [] : [...kinds.informers, leases];
    const cache = new NamespaceCache(this.#deps, {
      namespace: name,
      kinds,
      add: this.#add,
      onRefused: () => this.#members.get(name)?.followed.standingChanged(),
    });
    const terminating = (): boolean | undefined =>
      scope === 'cluster' ? this.#objectOf(name)?.metadata.deletionTimestamp !== undefined : undefined;
    const followed = new FollowedNamespace({ ...this.#deps, claims: this.#claims }, { cache, leases, terminating });
    const member: Member = { followed, own, letGo, ended: Promise.resolve() };
    this.#members.set(name, member);
    const free = this.#leaving.get(name) ?? Promise.resolve();
    member.ended = free.then(async () => {
      await Promise.all([followed.run(signal), ...own.map((informer) => informer.run(signal))]);
    });
  }

  #letGo(name: string): void {
    const member = this.#members.get(name);
    if (!member) return;
    // Its keys are still in the queue, and are forgotten one by one there.
    member.followed.cache.addAll();
    this.#members.delete(name);
    member.letGo.abort(new Error('the namespace is followed no more'));
    this.#leave(
      name,
      member.ended.then(() => member.followed.release()),
    );
  }

  /** @param released never rejects */
  #leave(name: string, released: Promise<void>): void {
    const left: Promise<void> = released.finally(() => {
      if (this.#leaving.get(name) === left) this.#leaving.delete(name);
    });
    this.#leaving.set(name, left);
  }

  /** Gives up the Leases that the release holds from before, in namespaces that it follows no more. */
  #giveUpOthers(): void {
    for (const lease of this.#leases?.everywhere() ?? []) this.#giveUp(lease);
  }

  #giveUp(lease: KubeObject): void {
    const { api, release, log } = this.#deps;
    const { namespace } = lease.metadata;
    // Until all have been listed, a namespace that is followed would be taken for one that is not.
    if (!this.#leases?.synced || !this.#namespaces.every(({ synced }) => synced)) return;
    if (holderOf(lease) !== release || this.#members.has(namespace) || this.#leaving.has(namespace)) return;
    const released = releaseLease({ api, namespace, release }, lease, this.#signal).catch((error: unknown) => {
      log.debug({ err: error, namespace }, 'the Lease of a namespace that is not followed could not be released');
    });
    this.#leave(namespace, released);
  }
}

const withoutLabels = ({ metadata }: KubeObject): KubeObject => {
  const { name, namespace, uid, resourceVersion, generation, deletionTimestamp, finalizers } = metadata;
  return {
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      generation,
      finalizers,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    },
  };
};
