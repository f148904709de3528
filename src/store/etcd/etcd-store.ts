import type { IRangeRequest } from 'etcd3';
import { Fullness } from '../fullness.ts';
import type { StoreMark } from '../mark.ts';
import {
  type Change,
  type CommitResult,
  type Entry,
  type Head,
  HEAD_KEY,
  type Held,
  type Key,
  type Page,
  type PageRequest,
  type Retained,
  type Store,
  StoreUnavailable,
  type Watch,
  type WatchListener,
} from '../port.ts';
import { RetainedRevisions } from '../retained-revisions.ts';
import { checkChange, checkHold, checkPageRequest } from '../validate.ts';
import { BoundedPages } from './bounded-pages.ts';
import { EtcdCommits } from './group-commit.ts';
import { EtcdHolds } from './lease/holds.ts';
import type { UserAndPassword } from './wire/auth-token.ts';
import type { Tls } from './wire/channel.ts';
import type { Deadline } from './wire/deadline.ts';
import { openEndpoints, type AccessRenewal, type Endpoint, type Endpoints } from './wire/endpoints.ts';
import { isCompacted, isFuture } from './wire/errors.ts';
import { assertRevision, KeySpace, pageOf } from './wire/key-space.ts';
import { Marked } from './wire/marked.ts';
import { quotaLook } from './wire/quota.ts';
import type { FoundRange } from './wire/range-codec.ts';
import { checkVersions, versionReader, type ReadVersion } from './wire/server-version.ts';
import { EtcdWatch } from './wire/watch.ts';

/** The settings of a store on etcd. */
export interface EtcdOptions {
  /** All of the form `http://host:port`, or all `https://host:port`. */
  readonly endpoints: readonly string[];
  /** The prefix of every key; empty, or ending in "/". */
  readonly prefix: string;
  readonly tls?: Tls;
  readonly auth?: UserAndPassword;
  /** The deadline of each call of the port, in milliseconds from its beginning, repetitions included. */
  readonly deadlineMs?: number;
  /** The value of etcd's `--quota-backend-bytes`, where etcd does not tell it. */
  readonly quotaBytes?: number;
  /** Lets the store open, with a warning, on a version of etcd whose reads may be stale. */
  readonly allowOldVersion?: boolean;
  readonly readVersion?: ReadVersion;
  /** Tells this store from an empty and from another one; without it they are not told apart. */
  readonly mark?: StoreMark | undefined;
  readonly warn?: (message: string) => void;
  /** Is handed, once the store is open, what renews the certificates and the user of its connections. */
  readonly renewable?: (renewal: AccessRenewal) => void;
}

const DEADLINE_MS = 2000;
const QUOTA_BYTES = 2 * 1024 ** 3;

/**
 * Opens the store after one read, so that wrong addresses, certificates, passwords and permissions are reported at
 * once.
 * @throws StoreUnavailable when etcd does not answer or refuses
 * @throws RangeError on options that cannot work
 * @throws Error on an etcd that is too old
 */
export async function openEtcdStore(options: EtcdOptions): Promise<Store> {
  const { deadlineMs = DEADLINE_MS, tls, warn = () => undefined } = options;
  const keys = new KeySpace(options.prefix);
  const endpoints = openEndpoints({ urls: options.endpoints, tls, user: options.auth, deadlineMs });
  const configuredBytes = options.quotaBytes ?? QUOTA_BYTES;
  const fullness = new Fullness(quotaLook({ endpoints, deadlineMs, configuredBytes }));
  const store = new EtcdStore({ keys, endpoints, fill: fullness, deadlineMs, marked: new Marked(keys, options.mark) });
  try {
    await store.head();
    const read = options.readVersion ?? versionReader(tls, deadlineMs);
    await checkVersions(endpoints.all, { read, allowOld: options.allowOldVersion === true, warn });
    await fullness.check();
    options.renewable?.(endpoints);
    return store;
  } catch (error) {
    await store[Symbol.asyncDispose]();
    throw error;
  }
}

interface EtcdParts {
  readonly keys: KeySpace;
  readonly endpoints: Endpoints;
  readonly fill: Fullness;
  readonly deadlineMs: number;
  readonly marked: Marked;
}

class EtcdStore implements Store {
  readonly backend = 'etcd';
  readonly #keys: KeySpace;
  readonly #endpoints: Endpoints;
  readonly #fill: Fullness;
  readonly #deadlineMs: number;
  readonly #headRequest: IRangeRequest;
  readonly #marked: Marked;
  readonly #pages: BoundedPages;
  readonly #watches = new Set<Watch>();
  readonly #commits: EtcdCommits;
  readonly #holds: EtcdHolds;
  readonly #retained = new RetainedRevisions();
  #inFlight = 0;
  #idle: (() => void) | undefined;
  #closing: Promise<void> | undefined;

  constructor({ keys, endpoints, fill, deadlineMs, marked }: EtcdParts) {
    this.#keys = keys;
    this.#endpoints = endpoints;
    this.#fill = fill;
    this.#deadlineMs = deadlineMs;
    this.#marked = marked;
    this.#pages = new BoundedPages(keys);
    this.#commits = new EtcdCommits({ keys, endpoints, marked, deadlineMs, fullness: fill });
    this.#holds = new EtcdHolds(keys, endpoints, marked);
    this.#headRequest = { key: keys.bytes(HEAD_KEY) };
  }

  async get(key: string): Promise<Entry | undefined> {
    return (await this.#range('get', { key: this.#keys.bytes(key) })).entries[0];
  }

  async list(request: PageRequest): Promise<Page> {
    checkPageRequest(request);
    // However many questions a page takes: they are one call, with one deadline.
    const found = await this.#tracked(async () => {
      const deadline = this.#endpoints.deadline();
      return this.#pages.find(request, async (range) => this.#found('list', range, deadline));
    });
    return pageOf(found, found.revision);
  }

  async listAt(request: PageRequest, revision: number): Promise<Page | 'compacted'> {
    checkPageRequest(request);
    assertRevision(revision);
    const found = await this.#tracked(async () => {
      const deadline = this.#endpoints.deadline();
      return this.#pages.find(request, async (range) => this.#foundAt('listAt', { ...range, revision }, deadline));
    });
    if (found === 'future') throw new StoreUnavailable('failed', `listAt: etcd has not reached revision ${revision}`);
    // The revision in the header is the store's newest one, not the one that was read.
    return found === 'compacted' ? found : pageOf(found, revision);
  }

  async head(): Promise<Head> {
    return headFrom(await this.#range('head', this.#headRequest));
  }

  async headAt(revision: number): Promise<Head | 'compacted' | 'future'> {
    assertRevision(revision);
    const pinned = { ...this.#headRequest, revision };
    const found = await this.#tracked(async () => this.#foundAt('headAt', pinned));
    return typeof found === 'string' ? found : headFrom(found);
  }

  async commit(change: Change): Promise<CommitResult> {
    checkChange(change);
    return this.#tracked(async () => this.#commits.commit(change));
  }

  watch(prefix: string, from: number, listener: WatchListener): Watch {
    let endpoint: Endpoint | undefined;
    const watch: Watch = new EtcdWatch({
      keys: this.#keys,
      prefix,
      // For etcd, 0 means "from now on".
      from: Math.max(1, from),
      listener,
      deadlineMs: this.#deadlineMs,
      connect: async () => {
        endpoint = await this.#endpoints.standing('watch', this.#endpoints.deadline());
        return endpoint.watch.watch();
      },
      over: (outcome) => {
        this.#watches.delete(watch);
        if (endpoint) this.#endpoints.watchEnded(endpoint, outcome);
      },
    });
    this.#watches.add(watch);
    if (this.#closing) watch.close();
    return watch;
  }

  async compact(asked: number): Promise<number> {
    assertRevision(asked);
    const revision = this.#retained.bound(asked);
    // etcd compacts without a condition: whether this is the store is read before.
    await this.#range('compact', this.#headRequest);
    await this.#tracked(async () =>
      this.#endpoints.repeatedly('compact', async ({ kv }, options) =>
        kv.compact({ revision }, options).catch((error: unknown) => {
          if (!isCompacted(error)) throw error;
        }),
      ),
    );
    return revision;
  }

  retain(revision: number): Retained {
    assertRevision(revision);
    return this.#retained.retain(revision);
  }

  async hold(key: Key, value: string, ttlMs: number): Promise<Held | 'taken'> {
    checkHold(key, value, ttlMs);
    return this.#tracked(async () => this.#holds.hold(key, value, ttlMs));
  }

  fullness(): number {
    return this.#fill.value;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#fill[Symbol.dispose]();
    for (const watch of this.#watches) watch.close();
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    await this.#holds.close();
    this.#endpoints.close();
  }

  async #range(operation: string, request: IRangeRequest): Promise<FoundRange> {
    return this.#tracked(async () => this.#found(operation, request));
  }

  async #found(operation: string, request: IRangeRequest, deadline?: Deadline): Promise<FoundRange> {
    return this.#endpoints.repeatedly(
      operation,
      async (endpoint, options) => this.#marked.range(endpoint, request, options),
      deadline,
    );
  }

  /** Reads at a revision, which may be compacted or still to come. */
  async #foundAt(
    operation: string,
    request: IRangeRequest,
    deadline?: Deadline,
  ): Promise<FoundRange | 'compacted' | 'future'> {
    return this.#endpoints.repeatedly(
      operation,
      async (endpoint, options) =>
        this.#marked.range(endpoint, request, options).catch((error: unknown) => {
          if (isCompacted(error)) return 'compacted';
          if (isFuture(error)) return 'future';
          throw error;
        }),
      deadline,
    );
  }

  /** A call that began before the store was closed ends before the store does. */
  async #tracked<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closing) throw new StoreUnavailable('closed', 'The store is closed.');
    this.#inFlight += 1;
    try {
      return await call();
    } finally {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#idle?.();
    }
  }
}

function headFrom({ entries: [entry] }: FoundRange): Head {
  return entry ? { revision: entry.revision, epochId: entry.value } : { revision: 0, epochId: '' };
}
