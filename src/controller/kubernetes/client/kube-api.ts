import type * as z from 'zod';
import type { metadata } from '../schema/common.ts';

/*
 * The operator's port to a Kubernetes API server. A write is a create, or carries the resourceVersion that it relies
 * on: the store's fence does not reach the API server, so this is what keeps a former leader from undoing what the
 * current one has written. A forced write cannot be expressed.
 */

/** Names a type of objects in paths, as in `{ group: '', version: 'v1', plural: 'secrets' }`. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
}

/** An object as the server sent it. */
export interface KubeObject {
  readonly metadata: z.infer<typeof metadata>;
  readonly [field: string]: unknown;
}

interface KubeList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  /** The token of the next page; undefined on the last one. */
  readonly next: string | undefined;
}

export interface ListRequest {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly limit: number;
  readonly next?: string | undefined;
}

export interface WatchRequest {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion: string;
  /** The server ends the watch after so many seconds. */
  readonly timeoutSeconds: number;
}

export type WatchEvent =
  /** The first event: the server has begun to answer, though nothing has changed yet. */
  | { readonly type: 'OPENED' }
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: KubeObject }
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string };

/** Every call ends with the signal, and each but `watch` after 15 s at the latest. */
export interface KubeApi {
  /**
   * Reads one page of the objects of a type.
   * @param namespace undefined: those of the whole cluster
   * @throws KubeError; ZodError where the answer is no list
   */
  list(type: ResourceType, namespace: string | undefined, request: ListRequest, signal: AbortSignal): Promise<KubeList>;
  /**
   * Gives the events after a revision until the server ends the watch. A silence of more than `WATCH_SILENT_MS` is an
   * error.
   * @param namespace undefined: those of the whole cluster
   * @throws KubeError, also for an ERROR event (410: the revision is gone)
   */
  watch(
    type: ResourceType,
    namespace: string | undefined,
    request: WatchRequest,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent>;
  /** Reads an object; undefined where it does not exist. @throws KubeError */
  get(type: ResourceType, namespace: string, name: string, signal: AbortSignal): Promise<KubeObject | undefined>;
  /** Creates an object. @throws KubeError `exists` (409) where there is one of that name */
  create(type: ResourceType, namespace: string, body: object, signal: AbortSignal): Promise<KubeObject>;
  /**
   * Applies a merge patch to the object as it was read.
   * @throws KubeError `conflict` (409) where it has changed since, `gone` (404)
   */
  patch(type: ResourceType, read: KubeObject, change: Patch, signal: AbortSignal): Promise<KubeObject>;
  /** Whether the namespace is being deleted, or is gone: the rights in it go with it. @throws KubeError */
  isLeaving(namespace: string, signal: AbortSignal): Promise<boolean>;
  /**
   * The UID of the namespace, by which it differs from a later one of its name; undefined where there is none.
   * @throws KubeError `refused` (403) where it may not be read
   */
  namespaceUid(namespace: string, signal: AbortSignal): Promise<string | undefined>;
  /** Deletes the object as it was read; one that is gone already is a success. @throws KubeError */
  remove(type: ResourceType, read: KubeObject, signal: AbortSignal): Promise<void>;
}

/** Fields to set; `null` removes one, an array is replaced as a whole. */
interface Patch {
  readonly subresource?: 'status';
  readonly merge: Readonly<Record<string, unknown>>;
}

export type KubeErrorReason = 'conflict' | 'exists' | 'gone' | 'expired' | 'throttled' | 'refused' | 'unavailable';

/** A refusal by the server, or no answer. Its message names objects and fields, never a Secret's content. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  readonly reason: KubeErrorReason;
  /** The HTTP status; 0 where there was no answer. */
  readonly status: number;
  /** The pause that the server asks for, with 429 and 503. */
  readonly retryAfterMs: number | undefined;

  constructor(reason: KubeErrorReason, status: number, says: string, retryAfterMs?: number) {
    super(says);
    this.reason = reason;
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

const MESSAGE_CHARACTERS_MAX = 500;
const RETRY_AFTER_SECONDS_MAX = 120;

/** @param status an HTTP status of 400 or more, or the code of an ERROR event */
export function kubeErrorOf(status: number, statusReason: string, message: string, retryAfter?: string): KubeError {
  const seconds = /^\d{1,6}$/.test(retryAfter ?? '')
    ? Math.min(Number(retryAfter), RETRY_AFTER_SECONDS_MAX)
    : undefined;
  return new KubeError(
    reasonOf(status, statusReason),
    status,
    `the API server answered ${status}: ${message.slice(0, MESSAGE_CHARACTERS_MAX)}`,
    seconds === undefined ? undefined : seconds * 1000,
  );
}

function reasonOf(status: number, statusReason: string): KubeErrorReason {
  if (status === 409) return statusReason === 'AlreadyExists' ? 'exists' : 'conflict';
  if (status === 404) return 'gone';
  if (status === 410) return 'expired';
  if (status === 429) return 'throttled';
  return status >= 500 ? 'unavailable' : 'refused';
}

/** Whether an error is a KubeError, with one of the reasons where any are given. */
export const isKubeError = (error: unknown, ...reasons: readonly KubeErrorReason[]): error is KubeError =>
  error instanceof KubeError && (reasons.length === 0 || reasons.includes(error.reason));
