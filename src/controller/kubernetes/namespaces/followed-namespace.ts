import type { Slots } from '../../../concurrency/slots.ts';
import type { Log } from '../../../log.ts';
import { backOffMs } from '../client/back-off.ts';
import { isKubeError, type KubeObject } from '../client/kube-api.ts';
import { holderOf, LEASE_NAME, releaseLease, takeLease, type ClaimDeps } from './claim.ts';
import type { Informer, InformerDeps } from '../runtime/informer.ts';
import type { NamespaceStanding } from '../runtime/metrics.ts';
import type { NamespaceCache } from '../runtime/namespace-cache.ts';

/*
 * One namespace that the operator follows, from when it is taken up until it is let go: its claim, and whether the
 * operator may act in it.
 */

export interface FollowedNamespaceDeps extends InformerDeps {
  /** The release: its namespace and name. */
  readonly release: string;
  /** Bounds the claims that are under way at once: each would take a connection of its own. */
  readonly claims: Slots;
}

interface FollowedNamespaceOptions {
  readonly cache: NamespaceCache;
  readonly leases: Pick<Informer, 'get' | 'written' | 'synced'>;
  /** Whether the namespace is being deleted; undefined where it may not be asked for. */
  readonly terminating: () => boolean | undefined;
}

/** The longest pause before a namespace without its rights is tried again: it is taken up so soon after they come. */
const BACK_OFF = { firstMs: 1000, maxMs: 30_000 };
/** A release whose Lease is deleted leaves it to others for so long. */
const YIELD_MS = 30_000;
const SLEEP_MS_MAX = 3_600_000;
const RELEASE_MS_MAX = 10_000;
/** How the API server speaks of a right that nobody has given: a quota or a policy refuses in other words. */
const LACKS_RIGHT = /cannot [a-z]+ resource "leases"/;

type State = 'starting' | 'held' | 'not_granted' | 'held_by_another';

/** Claims a namespace, and tells whether the operator may act in it. */
export class FollowedNamespace {
  readonly cache: NamespaceCache;
  readonly #deps: FollowedNamespaceDeps;
  readonly #options: FollowedNamespaceOptions;
  readonly #claim: ClaimDeps;
  readonly #log: Log;
  readonly #working = new Set<Promise<unknown>>();
  #state: State = 'starting';
  #told: NamespaceStanding = 'starting';
  /** The release that was last seen to hold the Lease. */
  #holder: string | undefined;
  #refusal: string | undefined;
  #yieldsUntil = 0;
  #failures = 0;
  /** Ends the pause before the next look. */
  #wake = new AbortController();
  /** Ends the work that is under way when the operator may not act any more. */
  #turn = new AbortController();

  constructor(deps: FollowedNamespaceDeps, options: FollowedNamespaceOptions) {
    this.cache = options.cache;
    this.#deps = deps;
    this.#options = options;
    this.#claim = { api: deps.api, release: deps.release, namespace: options.cache.namespace };
    this.#log = deps.log;
  }

  get namespace(): string {
    return this.cache.namespace;
  }

  /** The words of the API server where it is not for want of a right that the Lease cannot be taken. */
  get refusal(): string | undefined {
    return this.#state === 'not_granted' ? this.#refusal : undefined;
  }

  get standing(): NamespaceStanding {
    if (this.#state !== 'held') return this.#state;
    if (this.#options.terminating() === true) return 'terminating';
    return this.cache.refused ? 'not_granted' : 'followed';
  }

  /** Whether the operator may act on the resources of the namespace. */
  get held(): boolean {
    return this.#state === 'held';
  }

  /** The other release that holds the namespace. */
  get holder(): string | undefined {
    return this.#state === 'held_by_another' ? this.#holder : undefined;
  }

  /** Takes a change of the Lease. @param before the Lease as it was; @param now undefined where it is gone */
  leaseChanged(now: KubeObject | undefined, before: KubeObject | undefined): void {
    if (!now && before && holderOf(before) === this.#deps.release) {
      this.#yieldsUntil = this.#deps.clock.monotonic() + YIELD_MS;
    }
    this.look();
  }

  /** Has the claim looked at again: something that it depends on has changed. */
  look(): void {
    this.#failures = 0;
    this.#wake.abort();
  }

  /** Tells those who wait for the standing that it may be another one. */
  standingChanged(): void {
    const { standing } = this;
    if (standing === this.#told) return;
    const fields = { namespace: this.cache.namespace, before: this.#told, standing, holder: this.holder };
    this.#told = standing;
    if (standing === 'not_granted') {
      this.#log.warn(fields, 'the namespace lacks its Role or RoleBinding: apply what muster kubernetes rbac prints');
    } else if (standing === 'held_by_another') {
      this.#log.warn(fields, 'another release holds the namespace: this one does not act in it');
    } else this.#log.info(fields, 'the standing of a followed namespace has changed');
    this.cache.addAll();
  }

  /** Does work on one resource; its signal aborts also when the operator may not act any more, or lets go. */
  async work<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const working = work(AbortSignal.any([signal, this.#turn.signal]));
    this.#working.add(working);
    try {
      return await working;
    } finally {
      this.#working.delete(working);
    }
  }

  /**
   * Claims the namespace and follows its Secrets until the signal aborts. The Lease stays. Never rejects.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    this.cache.follow(signal);
    while (!signal.aborted) {
      this.#wake = new AbortController();
      let pauseMs: number;
      try {
        pauseMs = await this.#look(signal);
      } catch (error) {
        if (signal.aborted) break;
        this.#failures += 1;
        pauseMs = backOffMs(this.#failures, BACK_OFF, random, error);
        this.#failed(error);
      }
      this.standingChanged();
      const waking = AbortSignal.any([signal, this.#wake.signal]);
      if (!waking.aborted) await clock.sleep(Math.max(1, Math.min(pauseMs, SLEEP_MS_MAX)), waking);
    }
    this.#setState('starting');
    await this.cache.ended();
  }

  /** After `run`: waits for work that is under way, and gives the Lease up. Never rejects. */
  async release(): Promise<void> {
    await Promise.allSettled(this.#working);
    const lease = this.#options.leases.get(LEASE_NAME, this.cache.namespace);
    try {
      await releaseLease(this.#claim, lease, AbortSignal.timeout(RELEASE_MS_MAX));
    } catch (error) {
      this.#log.warn({ err: error, namespace: this.cache.namespace }, 'the Lease of a namespace could not be released');
    }
  }

  /** @returns the milliseconds after which to look again; it is looked at sooner when something changes */
  async #look(signal: AbortSignal): Promise<number> {
    const { clock, release } = this.#deps;
    const { leases, terminating } = this.#options;
    if (!leases.synced) return SLEEP_MS_MAX;
    const lease = leases.get(LEASE_NAME, this.cache.namespace);
    const holder = lease && holderOf(lease);
    if (holder !== undefined) return this.#heldBy(holder);
    // In a namespace that is being deleted the Lease may go before the resources, and none can be created.
    if (terminating() === true) return this.#heldBy(this.#holder ?? release);
    const yieldsForMs = this.#yieldsUntil - clock.monotonic();
    if (yieldsForMs > 0) {
      this.#setState('starting');
      return yieldsForMs;
    }
    const take = (): Promise<KubeObject> => takeLease(this.#claim, lease, clock.now(), signal);
    leases.written(await this.#deps.claims.run(take), lease);
    return this.#heldBy(release);
  }

  #heldBy(holder: string): number {
    this.#holder = holder;
    this.#failures = 0;
    this.#setState(holder === this.#deps.release ? 'held' : 'held_by_another');
    return SLEEP_MS_MAX;
  }

  #failed(error: unknown): void {
    const fields = { err: error, namespace: this.cache.namespace, failures: this.#failures };
    if (isKubeError(error, 'refused', 'gone')) {
      this.#refusal = LACKS_RIGHT.test(error.message) ? undefined : error.message;
      this.#setState('not_granted');
    } else if (!isKubeError(error, 'exists', 'conflict')) this.#setState('starting');
    this.#log.debug(fields, 'a namespace could not be claimed, will retry');
  }

  #setState(state: State): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#turn.abort(new Error('the operator may not act in the namespace any more'));
    this.#turn = new AbortController();
  }
}
