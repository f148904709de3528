import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store, WatchBatch, WatchEnd } from '../../../src/store/port.ts';
import { accountOf, auditOf, placeOf, type StoredAccount, type StoredAudit } from '../judgement/state.ts';

/** The changes of one revision of the store. */
export interface Written {
  readonly revision: number;
  readonly audits: readonly StoredAudit[];
  /**
   * Keys of the directory that tell of an account. Last contacts are left out, and that a daemon's first request makes
   * its binding final: they are nobody's mutation.
   */
  readonly touched: readonly string[];
  /** The accounts whose own record was written. */
  readonly accounts: readonly StoredAccount[];
}

const AGAIN_MS = 50;

/**
 * Follows every commit, past the wires that the suite cuts, so that each revision can be judged by itself. It follows
 * through each of the stores given, one for each member of etcd: while one is stopped, the others tell.
 */
export class Follower implements AsyncDisposable {
  readonly written: Written[] = [];
  /** Revisions that went by unseen, because they were compacted before they came. */
  missed = 0;
  /** The apps as they were written last, by key. */
  readonly #apps = new Map<string, string | undefined>();
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;
  /** Watches that are open: what is compacted for one of them may be on its way to another one. */
  #open = 0;
  #next: number;

  private constructor(stores: readonly Store[], from: number) {
    this.#next = from;
    this.#running = Promise.all(stores.map((store) => this.#follow(store)));
  }

  /** All of them are ways to the same store. */
  static async start(stores: readonly [Store, ...Store[]]): Promise<Follower> {
    const { revision } = await stores[0].list({ prefix: KEYS.format(), limit: 1 });
    return new Follower(stores, revision + 1);
  }

  /** Resolves when all up to the revision has been seen, or can no longer be. */
  async reach(revision: number): Promise<void> {
    while (this.#next <= revision) await sleep(AGAIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #follow(store: Store): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const from = this.#next;
      const reason = await this.#watchOnce(store, from);
      if (reason === 'compacted' && this.#open === 0 && this.#next === from) await this.#skip(store);
      await sleep(AGAIN_MS);
    }
  }

  async #watchOnce(store: Store, from: number): Promise<WatchEnd> {
    const ended = Promise.withResolvers<WatchEnd>();
    let isOpen = false;
    const watch = store.watch('', from, {
      onOpen: () => {
        isOpen = true;
        this.#open += 1;
      },
      onBatch: (batch) => this.#saw(batch),
      onEnd: (reason) => ended.resolve(reason),
    });
    const close = (): void => watch.close();
    this.#stop.signal.addEventListener('abort', close, { once: true });
    if (this.#stop.signal.aborted) close();
    const reason = await ended.promise;
    this.#stop.signal.removeEventListener('abort', close);
    if (isOpen) this.#open -= 1;
    return reason;
  }

  async #skip(store: Store): Promise<void> {
    const page = await store.list({ prefix: KEYS.format(), limit: 1 }).catch(() => undefined);
    if (!page) return;
    this.missed += Math.max(0, page.revision + 1 - this.#next);
    this.#next = Math.max(this.#next, page.revision + 1);
  }

  #saw({ revision, changes }: WatchBatch): void {
    const byRevision = new Map<number, { audits: StoredAudit[]; touched: string[]; accounts: StoredAccount[] }>();
    for (const change of changes) {
      const isAudit = change.key.startsWith(KEYS.audit.under()) && change.value !== undefined;
      const place = placeOf(change.key);
      // Another watch has brought it.
      if (change.revision < this.#next) continue;
      if (!isAudit && (!place || place.what === 'seen')) continue;
      const before = this.#apps.get(change.key);
      if (place?.what === 'app') this.#apps.set(change.key, change.value);
      if (place?.what === 'app' && isConfirmation(before, change.value)) continue;
      const written = byRevision.get(change.revision) ?? { audits: [], touched: [], accounts: [] };
      byRevision.set(change.revision, written);
      if (isAudit) written.audits.push(auditOf({ ...change, value: change.value ?? '' }));
      else written.touched.push(change.key);
      if (place?.what === 'account' && change.value !== undefined) {
        written.accounts.push(accountOf(place.account, change.value));
      }
    }
    for (const [at, written] of byRevision) this.written.push({ revision: at, ...written });
    this.#next = Math.max(this.#next, revision + 1);
  }
}

/** Whether the app is as before, but for a binding that is not provisional any more. */
function isConfirmation(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  const app = JSON.parse(before) as { enrolled?: { provisional?: true } };
  if (app.enrolled?.provisional !== true) return false;
  delete app.enrolled.provisional;
  return isDeepStrictEqual(app, JSON.parse(after));
}
