import { setTimeout as sleep } from 'node:timers/promises';
import { KEYS } from '../../src/domain/records.ts';
import type { Store, WatchBatch, WatchEnd } from '../../src/store/port.ts';
import { auditOf, placeOf, type StoredAudit } from './state.ts';

/** What one revision of the store changed. */
export interface Written {
  readonly revision: number;
  readonly audits: readonly StoredAudit[];
  /** Keys of the directory that tell of an account: last contacts are left out, they are nobody's mutation. */
  readonly touched: readonly string[];
}

const AGAIN_MS = 50;

/** Follows every commit, past the wires that the suite cuts, so that each revision can be judged by itself. */
export class Follower implements AsyncDisposable {
  readonly written: Written[] = [];
  /** Revisions that went by unseen, because they were compacted before they came. */
  missed = 0;
  readonly #store: Store;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #next: number;

  private constructor(store: Store, from: number) {
    this.#store = store;
    this.#next = from;
    this.#running = this.#follow();
  }

  static async start(store: Store): Promise<Follower> {
    const { revision } = await store.list({ prefix: KEYS.format, limit: 1 });
    return new Follower(store, revision + 1);
  }

  /** Resolves when all up to the revision has been seen, or can no longer be. */
  async reach(revision: number): Promise<void> {
    while (this.#next <= revision) await sleep(AGAIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if ((await this.#watchOnce()) === 'compacted') await this.#skip();
      await sleep(AGAIN_MS);
    }
  }

  async #watchOnce(): Promise<WatchEnd> {
    const ended = Promise.withResolvers<WatchEnd>();
    const watch = this.#store.watch('', this.#next, {
      onOpen: () => undefined,
      onBatch: (batch) => this.#saw(batch),
      onEnd: (reason) => ended.resolve(reason),
    });
    const close = (): void => watch.close();
    this.#stop.signal.addEventListener('abort', close, { once: true });
    if (this.#stop.signal.aborted) close();
    const reason = await ended.promise;
    this.#stop.signal.removeEventListener('abort', close);
    return reason;
  }

  async #skip(): Promise<void> {
    const page = await this.#store.list({ prefix: KEYS.format, limit: 1 }).catch(() => undefined);
    if (!page) return;
    this.missed += page.revision + 1 - this.#next;
    this.#next = page.revision + 1;
  }

  #saw({ revision, changes }: WatchBatch): void {
    const byRevision = new Map<number, { audits: StoredAudit[]; touched: string[] }>();
    for (const change of changes) {
      const isAudit = change.key.startsWith(KEYS.auditsAll) && change.value !== undefined;
      const place = placeOf(change.key);
      if (!isAudit && (!place || place.what === 'seen')) continue;
      const written = byRevision.get(change.revision) ?? { audits: [], touched: [] };
      byRevision.set(change.revision, written);
      if (isAudit) written.audits.push(auditOf({ ...change, value: change.value ?? '' }));
      else written.touched.push(change.key);
    }
    for (const [at, written] of byRevision) this.written.push({ revision: at, ...written });
    this.#next = revision + 1;
  }
}
