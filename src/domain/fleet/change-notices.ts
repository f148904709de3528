import type { RecordRef } from './record-ref.ts';
import type { UserRef } from './user-memory.ts';

/**
 * Called after a batch was applied, or memory was filled anew, for each app and account that changed. Without `appId`
 * the account changed, its configuration or a key. Last contacts and counters are left out: they change all the time,
 * and change nothing that a daemon is told.
 */
export type FleetListener = (accountId: string, appId: string | undefined) => void;

/** A record that changed; `all` when memory was filled anew. */
export type RecordChange = RecordRef | UserRef | { readonly kind: 'all' };

/**
 * Called after a batch was applied, or memory was filled anew, with each record that changed, last contacts included.
 */
export type RecordListener = (changes: readonly RecordChange[]) => void;

/** Kinds of records of which daemons are told nothing. */
const SILENT: ReadonlySet<RecordRef['kind']> = new Set(['lastSeen', 'counters', 'members', 'stored']);

/** Changes of one batch that are told one by one; a batch of more is told as `all`. */
const CHANGES_TOLD_MAX = 1000;

/** Gathers what changed in memory, and tells the listeners once memory is whole: none of them reads it half applied. */
export class ChangeNotices {
  readonly #listeners = new Set<FleetListener>();
  readonly #recordListeners = new Set<RecordListener>();
  /** The apps of each account of which the listeners are not told yet; `undefined` among them is the account itself. */
  #touched = new Map<string, Set<string | undefined>>();
  #changes: RecordChange[] = [];

  onChange(listener: FleetListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onRecordChange(listener: RecordListener): () => void {
    this.#recordListeners.add(listener);
    return () => this.#recordListeners.delete(listener);
  }

  /** Notes that a record changed. @param whole whether memory holds the whole range, and is not being filled */
  changed(ref: RecordRef | UserRef, whole: boolean): void {
    this.#note(ref, whole);
    if (!('accountId' in ref) || SILENT.has(ref.kind)) return;
    // While memory is filled, the account is noted instead of each app: its change wakes every listener as well.
    const appId = ref.kind === 'app' && whole ? ref.id : undefined;
    const touched = this.#touched.get(ref.accountId);
    if (touched) touched.add(appId);
    else this.#touched.set(ref.accountId, new Set([appId]));
  }

  #note(ref: RecordRef | UserRef, whole: boolean): void {
    if (this.#recordListeners.size === 0 || this.#changes[0]?.kind === 'all') return;
    if (whole && this.#changes.length < CHANGES_TOLD_MAX) this.#changes.push(ref);
    else this.#changes = [{ kind: 'all' }];
  }

  /** Notes that memory was dropped, with these accounts in it. */
  dropped(accountIds: Iterable<string>): void {
    for (const accountId of accountIds) this.#touched.set(accountId, new Set([undefined]));
    this.#changes = [{ kind: 'all' }];
  }

  tell(): void {
    const touched = this.#touched;
    this.#touched = new Map();
    for (const [accountId, apps] of touched) {
      for (const appId of apps) for (const listener of this.#listeners) listener(accountId, appId);
    }
    const changes = this.#changes;
    if (changes.length === 0) return;
    this.#changes = [];
    for (const listener of this.#recordListeners) listener(changes);
  }
}
