import { Secret } from '../../../domain/credentials/secret.ts';
import { tokenHash } from '../../../domain/credentials/tokens.ts';
import { otherManagers } from '../client/field-managers.ts';
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
/** The label of a Secret whose values Muster may read to send them to collectors. */
export const HEADER_LABEL = 'muster.dev/auth-header';
export const HEADER_SELECTOR: string = `${HEADER_LABEL}=true`;
/** The annotation that names the FleetOtelConfigs which may use the Secret, separated by commas. */
export const HEADER_FOR = 'muster.dev/auth-header-for';
/** The annotation that names the origins to which the values may be sent, separated by commas. */
export const HEADER_ENDPOINT = 'muster.dev/auth-header-endpoint';

/** The custom resource that owns a Secret. */
interface SecretOwner {
  readonly kind: KindName;
  readonly name: string;
  readonly uid: string;
}

/** A Secret as memory has it: `digests` has the `tokenHash` of each value. */
interface KnownSecret {
  readonly own: boolean;
  readonly digests: Readonly<Record<string, string>>;
  readonly object: KubeObject;
}

export interface Secrets {
  /** A Secret that Muster may have created, from memory; undefined where memory knows none of that name. */
  known(name: string): KnownSecret | undefined;
  /** The other programs that wrote a Secret which memory knows, the last one first. */
  writersOf(name: string): readonly string[];
  /**
   * Creates the Secret, or sets the values of an own one; `undefined` removes a value.
   * @throws SecretError, `conflict` where it has changed since it was read; Error where it is not Muster's to write
   */
  write(name: string, values: Readonly<Record<string, Secret | string | undefined>>): Promise<void>;
  /**
   * Reads a value of an own Secret from the API server; undefined where there is none.
   * @throws SecretError
   */
  value(name: string, key: string): Promise<Secret | undefined>;
  /** Removes an own Secret. Another's is left alone. @throws SecretError */
  remove(name: string): Promise<void>;
  /**
   * Reads a value of a Secret from the API server, where the Secret has the label for headers and its annotations name
   * the custom resource and the origin of the endpoint (ADR 0039).
   * @param endpoint the URL that the value is to be sent to
   * @returns the reason where there is no such value; `NotForThis` where the Secret is bound otherwise, or not at all
   * @throws SecretError
   */
  header(
    name: string,
    key: string,
    endpoint: string,
  ): Promise<Uint8Array | 'NoSecret' | 'NotLabelled' | 'NotForThis' | 'NoKey'>;
}

interface SecretsDeps {
  readonly api: KubeApi;
  readonly owned: Pick<Informer, 'get' | 'written'>;
  /** The Secrets with headers. */
  readonly headers: Pick<Informer, 'get'>;
  readonly namespace: string;
  readonly owner: SecretOwner;
  readonly signal: AbortSignal;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Makes the Secrets of one reconciliation. They keep the answers that are newer than memory until it ends. */
export function createSecrets({ api, owned, headers, namespace, owner, signal }: SecretsDeps): Secrets {
  const learnt = new Map<string, KubeObject | undefined>();
  const find = (name: string): KubeObject | undefined => (learnt.has(name) ? learnt.get(name) : owned.get(name));
  const isOwn = (object: KubeObject): boolean => ownersOf(object).some(({ uid }) => uid === owner.uid);
  const learn = (answer: KubeObject, read: KubeObject | undefined): void => {
    learnt.set(answer.metadata.name, withoutValues(answer));
    if (isLabelled(answer, OWNED_LABEL, 'muster')) owned.written(answer, read);
  };

  async function create(name: string, data: Readonly<Record<string, string | null>>): Promise<void> {
    const { kind, uid } = owner;
    const body = {
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name,
        labels: { [OWNED_LABEL]: 'muster' },
        ownerReferences: [{ apiVersion: API_VERSION, kind, name: owner.name, uid, controller: true }],
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

  return {
    known(name) {
      const object = find(name);
      return object && { own: isOwn(object), digests: digestsOf(object), object };
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
      const merge = { data, metadata: { labels: { [OWNED_LABEL]: 'muster' } } };
      learn(await asked('write', name, api.patch(SECRETS, read, { merge }, signal)), read);
    },
    async value(name, key) {
      const object = await asked('read', name, api.get(SECRETS, namespace, name, signal));
      learnt.set(name, object && withoutValues(object));
      if (!object || !isOwn(object)) return undefined;
      const value = recordOf(object['data'])[key];
      return typeof value === 'string' ? new Secret(Buffer.from(value, 'base64').toString()) : undefined;
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
      if (!isBoundTo(object, owner.name, endpoint)) return 'NotForThis';
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

const isLabelled = (object: KubeObject, label: string, value: string): boolean =>
  recordOf(object.metadata['labels'])[label] === value;

/** Whether the annotations of a header's Secret name the resource, and the origin of the endpoint. */
function isBoundTo({ metadata }: KubeObject, name: string, endpoint: string): boolean {
  const annotations = recordOf(metadata['annotations']);
  const listed = (annotation: string): readonly string[] => {
    const text = annotations[annotation];
    if (typeof text !== 'string') return [];
    return text
      .slice(0, ANNOTATION_CHARACTERS_MAX)
      .split(',')
      .map((part) => part.trim());
  };
  const origin = originOf(endpoint);
  return (
    origin !== undefined &&
    listed(HEADER_FOR).includes(name) &&
    listed(HEADER_ENDPOINT).some((allowed) => BARE_ORIGIN.test(allowed) && originOf(allowed) === origin)
  );
}

const ANNOTATION_CHARACTERS_MAX = 8192;
/** A path would promise what is not kept: only scheme, host and port are compared. */
const BARE_ORIGIN = /^https?:\/\/[^/?#@\\\s]+\/?$/i;

/** Scheme, host and port, in the one spelling that WHATWG has for them; undefined for what is no http URL. */
function originOf(url: string): string | undefined {
  const parsed = URL.parse(url);
  return parsed && /^https?:$/.test(parsed.protocol) ? parsed.origin : undefined;
}

/** Replaces the values of a Secret by their digests, for memory: 256 random bits cannot be found from a digest. */
export function withoutValues(object: KubeObject): KubeObject {
  const digests = Object.entries(recordOf(object['data'])).map(([key, value]) => [
    key,
    tokenHash(Buffer.from(String(value), 'base64').toString()),
  ]);
  return { metadata: object.metadata, digests: Object.fromEntries(digests) as Record<string, string> };
}

const digestsOf = (object: KubeObject): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(recordOf(object['digests'])).map(([key, value]) => [key, String(value)]));

/** The custom resources of Muster that own the object. */
export function ownersOf({ metadata }: KubeObject): { kind: string; name: string; uid: string }[] {
  const references: unknown = metadata['ownerReferences'];
  if (!Array.isArray(references)) return [];
  return references
    .map((reference: unknown) => recordOf(reference))
    .filter(({ apiVersion }) => apiVersion === API_VERSION)
    .map(({ kind, name, uid }) => ({ kind: String(kind), name: String(name), uid: String(uid) }));
}
