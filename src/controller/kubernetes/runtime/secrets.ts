import type { SecretTemplate } from '../../../config/kubernetes-names.ts';
import { Secret } from '../../../domain/credentials/secret.ts';
import { tokenHash } from '../../../domain/credentials/tokens.ts';
import { otherManagers, ownKeys } from '../client/field-managers.ts';
import { HEADER_LABEL, unboundTo, type NoHeader } from '../client/header-secret.ts';
import { isKubeError, type KubeApi, type KubeObject, type ResourceType } from '../client/kube-api.ts';
import { SecretError, type SecretVerb } from '../client/secret-error.ts';
import { API_VERSION, type KindName } from '../schema/common.ts';
import type { Informer } from './informer.ts';

/*
 * The Secrets that Muster writes. It writes only those that it created: their owner reference has the UID of the custom
 * resource. Memory holds the metadata of a Secret and a digest of each value, never a value.
 */

export const SECRETS: ResourceType = { group: '', version: 'v1', plural: 'secrets' };
/** The label of every Secret that Muster creates. */
const OWNED_LABEL = 'app.kubernetes.io/managed-by';
export const OWNED_SELECTOR: string = `${OWNED_LABEL}=muster`;
/** The annotation that warns whoever copies a Secret of Muster with all its metadata. */
const COPIES = 'muster.dev/about-copies';
const ABOUT_COPIES =
  'A copy of this Secret with its ownerReferences is deleted by the garbage collector. Make another FleetApiKey or ' +
  'FleetApp instead, or copy without them: https://muster.dev/docs/kubernetes#copies-of-a-secret';

/** The custom resource that owns a Secret. */
interface SecretOwner {
  readonly kind: KindName;
  readonly name: string;
  readonly uid: string;
}

/** A Secret as memory has it: `digests` has the `tokenHash` of each value. */
interface KnownSecret {
  readonly own: boolean;
  /** Whether `takeOver` may make it own. */
  readonly orphan: boolean;
  readonly digests: Readonly<Record<string, string>>;
  /** Whether its labels and annotations are those that Muster and the resource give it. */
  readonly isDressed: boolean;
  readonly object: KubeObject;
}

export interface Secrets {
  /** A Secret that Muster may have created, from memory; undefined where memory knows none of that name. */
  known(name: string): KnownSecret | undefined;
  /**
   * Asks the API server for a Secret that memory does not know: one that lacks the label is not watched.
   * @throws SecretError
   */
  look(name: string): Promise<void>;
  /** The other programs that wrote a Secret which memory knows, the last one first. */
  writersOf(name: string): readonly string[];
  /**
   * Creates the Secret, or sets the values of an own one; `undefined` removes a value. An immutable one is replaced.
   * @throws SecretError, `conflict` where it has changed since it was read; Error where it is not Muster's to write
   */
  write(name: string, values: Readonly<Record<string, Secret | string | undefined>>): Promise<void>;
  /**
   * Reads a value of an own Secret from the API server; undefined where there is none.
   * @throws SecretError
   */
  value(name: string, key: string): Promise<Secret | undefined>;
  /**
   * Makes an orphan an own Secret; its values stay. The caller has compared them by their digests.
   * @throws SecretError, `conflict` where it has changed since it was read
   */
  takeOver(name: string): Promise<void>;
  /** Sets the labels and annotations of an own Secret, and leaves its values. @throws SecretError */
  dress(name: string): Promise<void>;
  /** Removes an own Secret. Another's is left alone. @throws SecretError */
  remove(name: string): Promise<void>;
  /**
   * Reads a value of a Secret from the API server, where the Secret has the label for headers and its annotations name
   * the custom resource and the origin of the endpoint (ADR 0039).
   * @param endpoint the URL that the value is to be sent to
   * @returns the reason where there is no such value
   * @throws SecretError
   */
  header(name: string, key: string, endpoint: string): Promise<Uint8Array | NoHeader>;
}

interface SecretsDeps {
  readonly api: KubeApi;
  readonly owned: Pick<Informer, 'get' | 'written'>;
  /** The Secrets with headers. */
  readonly headers: Pick<Informer, 'get'>;
  readonly namespace: string;
  readonly owner: SecretOwner;
  readonly template: SecretTemplate;
  readonly signal: AbortSignal;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Makes the Secrets of one reconciliation. They keep the answers that are newer than memory until it ends. */
export function createSecrets(deps: SecretsDeps): Secrets {
  const { api, owned, headers, namespace, owner, template, signal } = deps;
  const learnt = new Map<string, KubeObject | undefined>();
  const find = (name: string): KubeObject | undefined => (learnt.has(name) ? learnt.get(name) : owned.get(name));
  const isOwn = (object: KubeObject): boolean => ownersOf(object).some(({ uid }) => uid === owner.uid);
  const isOrphan = (object: KubeObject): boolean =>
    isLabelled(object, OWNED_LABEL, 'muster') && ownersAreFormer(object, owner);
  const ownReference = () => {
    const { kind, name, uid } = owner;
    return { apiVersion: API_VERSION, kind, name, uid, controller: true };
  };
  const learn = (answer: KubeObject, read: KubeObject | undefined): void => {
    learnt.set(answer.metadata.name, withoutValues(answer));
    if (isLabelled(answer, OWNED_LABEL, 'muster')) owned.written(answer, read);
  };

  async function create(name: string, data: Readonly<Record<string, string | null>>): Promise<void> {
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name,
        ...wantedOf(template),
        ownerReferences: [ownReference()],
      },
      data: Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null)),
    };
    try {
      learn(await asked('write', name, api.create(SECRETS, namespace, body, signal)), undefined);
    } catch (error) {
      if (!isKubeError(error, 'exists')) throw error;
      // The Secret is somebody else's, or Muster's own without its label. The next decision sees which.
      const there = await asked('read', name, api.get(SECRETS, namespace, name, signal));
      if (there) learn(there, owned.get(name));
    }
  }

  /** A Secret that somebody has made immutable can only be deleted; the values that are to stay are read before. */
  async function replace(read: KubeObject, data: Readonly<Record<string, string | null>>): Promise<void> {
    const { name, uid } = read.metadata;
    const there = await asked('read', name, api.get(SECRETS, namespace, name, signal));
    const kept = there?.metadata.uid === uid ? recordOf(there['data']) : {};
    await asked('delete', name, api.remove(SECRETS, read, signal));
    const values = Object.entries(kept).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
    await create(name, { ...Object.fromEntries(values), ...data });
  }

  return {
    known(name) {
      const object = find(name);
      if (!object) return undefined;
      const isDressed = undressed(object, template) === undefined;
      return { own: isOwn(object), orphan: isOrphan(object), digests: digestsOf(object), isDressed, object };
    },
    async look(name) {
      if (learnt.has(name) || find(name)) return;
      const there = await asked('read', name, api.get(SECRETS, namespace, name, signal));
      if (there) learn(there, undefined);
      else learnt.set(name, undefined);
    },
    writersOf(name) {
      const object = find(name) ?? headers.get(name);
      return object ? otherManagers(object) : [];
    },
    async write(name, values) {
      const data: Record<string, string | null> = {};
      for (const [key, value] of Object.entries(values)) {
        data[key] = value === undefined ? null : base64(typeof value === 'string' ? value : value.reveal());
      }
      const read = find(name);
      if (!read) return await create(name, data);
      if (!isOwn(read)) throw new Error(`the Secret ${name} is not Muster's to write`);
      if (read['immutable'] === true) return await replace(read, data);
      const merge = { data, metadata: undressed(read, template) ?? {} };
      learn(await asked('write', name, api.patch(SECRETS, read, { merge }, signal)), read);
    },
    async value(name, key) {
      const object = await asked('read', name, api.get(SECRETS, namespace, name, signal));
      learnt.set(name, object && withoutValues(object));
      if (!object || !isOwn(object)) return undefined;
      const value = recordOf(object['data'])[key];
      return typeof value === 'string' ? new Secret(Buffer.from(value, 'base64').toString()) : undefined;
    },
    async takeOver(name) {
      const read = find(name);
      if (!read || !isOrphan(read)) return;
      const merge = { metadata: { ownerReferences: [ownReference()] } };
      learn(await asked('write', name, api.patch(SECRETS, read, { merge }, signal)), read);
    },
    async dress(name) {
      const read = find(name);
      const metadata = read && isOwn(read) ? undressed(read, template) : undefined;
      if (!read || !metadata) return;
      learn(await asked('write', name, api.patch(SECRETS, read, { merge: { metadata } }, signal)), read);
    },
    async remove(name) {
      const read = find(name);
      if (!read || !isOwn(read)) return;
      await asked('delete', name, api.remove(SECRETS, read, signal));
      learnt.delete(name);
    },
    async header(name, key, endpoint) {
      const object = await asked('read', name, api.get(SECRETS, namespace, name, signal));
      if (!object) return 'NoSecret';
      if (!isLabelled(object, HEADER_LABEL, 'true')) return 'NotLabelled';
      const unbound = unboundTo(object, owner.name, endpoint);
      if (unbound) return unbound;
      const value = recordOf(object['data'])[key];
      return typeof value === 'string' ? Buffer.from(value, 'base64') : 'NoKey';
    },
  };
}

/** @throws SecretError, which may be repeated, for the API server's words, which may not */
async function asked<T>(verb: SecretVerb, name: string, request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    throw isKubeError(error) ? new SecretError(verb, name, error) : error;
  }
}

const recordOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {};

type Dress = Readonly<Record<'labels' | 'annotations', Readonly<Record<string, string | null>>>>;

const wantedOf = ({ labels, annotations }: SecretTemplate): Dress => ({
  labels: { ...labels, [OWNED_LABEL]: 'muster' },
  annotations: { ...annotations, [COPIES]: ABOUT_COPIES },
});

/**
 * The labels and annotations to set, and of those that Muster wrote before the ones to remove, as the API server's
 * record of writers has them; undefined where all are right. Those of other writers stay.
 */
function undressed(object: KubeObject, template: SecretTemplate): Partial<Dress> | undefined {
  const wanted = wantedOf(template);
  const patch: Record<string, Record<string, string | null>> = {};
  for (const map of ['labels', 'annotations'] as const) {
    const found = recordOf(object.metadata[map]);
    const strays = ownKeys(object, map).filter((key) => !(key in wanted[map]) && key in found);
    const changed = Object.entries(wanted[map]).filter(([key, value]) => found[key] !== value);
    if (strays.length + changed.length === 0) continue;
    patch[map] = { ...Object.fromEntries(strays.map((key) => [key, null])), ...Object.fromEntries(changed) };
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const isLabelled = (object: KubeObject, label: string, value: string): boolean =>
  recordOf(object.metadata['labels'])[label] === value;

/** Replaces the values of a Secret by their digests, for memory: 256 random bits cannot be found from a digest. */
export function withoutValues(object: KubeObject): KubeObject {
  const digests = Object.entries(recordOf(object['data'])).map(([key, value]) => [
    key,
    tokenHash(Buffer.from(String(value), 'base64').toString()),
  ]);
  return {
    metadata: object.metadata,
    immutable: object['immutable'] === true,
    digests: Object.fromEntries(digests) as Record<string, string>,
  };
}

const digestsOf = (object: KubeObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(recordOf(object['digests'])).map(([key, value]) => [key, String(value)]));

/** The custom resources of Muster that own the object. */
export function ownersOf(object: KubeObject): { kind: string; name: string; uid: string }[] {
  return referencesOf(object)
    .filter(({ apiVersion }) => apiVersion === API_VERSION)
    .map(({ kind, name, uid }) => ({ kind: String(kind), name: String(name), uid: String(uid) }));
}

function referencesOf({ metadata }: KubeObject): readonly Readonly<Record<string, unknown>>[] {
  const references: unknown = metadata['ownerReferences'];
  return Array.isArray(references) ? references.map((reference: unknown) => recordOf(reference)) : [];
}

/**
 * Whether nobody else owns the object: it has no owner, as what Velero restores, or the resource under a former UID
 * alone.
 */
const ownersAreFormer = (object: KubeObject, owner: SecretOwner): boolean =>
  referencesOf(object).every(
    ({ apiVersion, kind, name, uid }) =>
      apiVersion === API_VERSION && kind === owner.kind && name === owner.name && uid !== owner.uid,
  );
