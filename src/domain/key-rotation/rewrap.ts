import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import {
  PAGE_ENTRIES_MAX,
  expectAsFound,
  expectUnchanged,
  StoreUnavailable,
  type Entry,
  type Expectation,
  type Snapshot,
  type Store,
  type Write,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import type { Envelope } from '../keys/envelope.ts';
import { answerContext } from '../mutation/idempotency.ts';
import { headerContext } from '../otel-config/otel-config.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import type { Sealed } from '../records/shapes.ts';

/*
 * After a rotation the data keys that older keys wrap are rewrapped by the active key. The boxes stay as they are, and
 * so do revision and tag of a configuration: daemons see no change. Nothing can be sealed under an older key any more
 * (domain/keys/active-key.ts), so one clean pass over everything is enough.
 */

interface RewrapDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly log: Log;
  /** Is called with the number of records that a commit rewrapped. */
  readonly rewrapped: (count: number) => void;
}

/** Records of one commit: each is an expectation and a write. */
const PER_COMMIT_MAX = 50;
/** Headers of one round; the next round takes the rest. */
const HEADERS_PER_ROUND_MAX = 5000;
const PAGES_PER_ROUND_MAX = 20;
/** Accounts that one line of the log names. */
const NAMED_MAX = 10;
/** A new pass begins this often after the last one: the key of something that could not be opened may come back. */
const PASS_EVERY_MS = 600_000;

/** A text that is sealed under another key than the active one. */
interface Candidate {
  readonly read: Entry | Snapshot;
  readonly sealed: Sealed;
  readonly context: string;
  /** Puts the record with the rewrapped text in it. */
  readonly putting: (rewrapped: Sealed) => Write;
}

/** One pass over everything, in as many rounds as it takes. */
interface Pass {
  /** The active key when the pass began. */
  readonly number: number;
  readonly keyNumbers: readonly number[];
  after: string | undefined;
  /** No conflict so far: `left` has every other key that was met. */
  clean: boolean;
  /** Keys that still seal something. */
  readonly left: Set<number>;
  doneAt: number | undefined;
}

/**
 * O10: creates the rewrap of a leader's term.
 * @param fence the fence of the term: every commit expects it
 * @returns a round, to be repeated, which may be stopped anywhere. It throws StoreUnavailable; BadRecord; and Error
 *   where a configuration cannot be read, once all others are rewrapped
 */
export function createRewrap(deps: RewrapDeps, fence: readonly Expectation[]): () => Promise<void> {
  let pass: Pass | undefined;
  return async () => {
    // A large fleet fills memory for longer than `whole` waits, which is no failure: the next round looks again.
    if (!deps.fleet.memory.whole) return;
    // A configuration that memory does not have yet may be sealed under any key.
    const active = (await deps.fleet.whole()).activeKey();
    if (!active) return;
    if (!pass || isStale(pass, active.record.number, deps)) pass = begin(active.record.number, deps.envelope);
    if (pass.doneAt !== undefined) return;
    const round = new Round(deps, [...fence, expectUnchanged(active)], pass);
    if (!(await round.headers()) || !(await round.idempotencyRecords())) return;
    if (await round.finish(active)) pass.doneAt = deps.clock.monotonic();
    else pass = undefined;
  };
}

const begin = (number: number, { keyNumbers }: Envelope): Pass => ({
  number,
  keyNumbers,
  after: undefined,
  clean: true,
  left: new Set(),
  doneAt: undefined,
});

function isStale(pass: Pass, number: number, { envelope, clock }: RewrapDeps): boolean {
  if (pass.number !== number || pass.keyNumbers !== envelope.keyNumbers) return true;
  return pass.doneAt !== undefined && clock.monotonic() - pass.doneAt >= PASS_EVERY_MS;
}

class Round {
  readonly #deps: RewrapDeps;
  readonly #expect: readonly Expectation[];
  readonly #pass: Pass;

  constructor(deps: RewrapDeps, expect: readonly Expectation[], pass: Pass) {
    this.#deps = deps;
    this.#expect = expect;
    this.#pass = pass;
  }

  /** Rewraps collector headers. @returns whether all of them were checked */
  async headers(): Promise<boolean> {
    const { memory } = this.#deps.fleet;
    if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled.');
    const found: Candidate[] = [];
    for (const account of memory.accounts()) {
      const otel = account.otel();
      const config = otel?.record.config;
      const sealed = config?.header;
      if (!otel || !sealed || this.#isDone(sealed)) continue;
      if (found.length === HEADERS_PER_ROUND_MAX) break;
      const { record } = otel;
      found.push({
        read: otel,
        sealed,
        context: headerContext(account.id),
        putting: (header) => put(KEYS.otel(account.id), { ...record, config: { ...config, header } }),
      });
    }
    await this.#rewrap(found, false);
    return found.length < HEADERS_PER_ROUND_MAX;
  }

  #isDone({ keyNumber }: Sealed): boolean {
    if (keyNumber === this.#pass.number) return true;
    if (this.#pass.keyNumbers.includes(keyNumber)) return false;
    this.#pass.left.add(keyNumber);
    return true;
  }

  /** Rewraps idempotency records. @returns whether the last page was reached */
  async idempotencyRecords(): Promise<boolean> {
    const { after } = this.#pass;
    const request = { prefix: KEYS.idempotencySlot.under(), limit: PAGE_ENTRIES_MAX };
    let pages = 0;
    for await (const { entries, next } of pagesOf(this.#deps.store, {
      ...request,
      after,
    })) {
      const candidates = entries.flatMap((entry) => this.#candidateOf(entry) ?? []);
      await this.#rewrap(candidates, true);
      this.#pass.after = next;
      pages += 1;
      if (pages === PAGES_PER_ROUND_MAX) return next === undefined;
    }
    return true;
  }

  #candidateOf(entry: Entry): Candidate | undefined {
    const [, scope = '', kind, name = ''] = entry.key.split('/');
    if (kind !== 'answer') return undefined;
    const { record } = parseRecord(KEYS.idempotencyRecord, entry);
    if (this.#isDone(record.answer)) return undefined;
    return {
      read: entry,
      sealed: record.answer,
      context: answerContext(scope, name),
      putting: (answer) => put(KEYS.idempotencyRecord(scope, name), { ...record, answer }),
    };
  }

  async #rewrap(candidates: readonly Candidate[], quiet: boolean): Promise<void> {
    const { envelope, store, rewrapped } = this.#deps;
    for (let at = 0; at < candidates.length; at += PER_COMMIT_MAX) {
      const expect: Expectation[] = [];
      const write: Write[] = [];
      for (const { read, sealed, context, putting } of candidates.slice(at, at + PER_COMMIT_MAX)) {
        const next = envelope.rewrap(sealed, context, this.#pass.number);
        if (next) {
          expect.push(expectUnchanged(read));
          write.push(putting(next));
        } else {
          this.#pass.left.add(sealed.keyNumber);
        }
      }
      const [first, ...others] = [...expect, ...this.#expect];
      if (!first || write.length === 0) continue;
      const writeClass = UNAUDITED_CLASSES.textsRewrapped;
      const change = { expect: [first, ...others] as const, write, writeClass, ...(quiet && { quiet: true as const }) };
      const { outcome } = await store.commit(change);
      // After a conflict (a record changed, or this controller no longer leads) the next pass checks everything again.
      if (outcome === 'conflict') this.#pass.clean = false;
      else rewrapped(write.length);
    }
  }

  /** Any key may seal an unreadable configuration: if it were ignored, its key would be offered for removal. */
  #refuseUnread(): void {
    const unread = [...this.#deps.fleet.memory.unreadableAccounts(['account', 'otel'])];
    if (unread.length === 0) return;
    throw new Error(
      `No key can be removed while configurations cannot be read: ${unread.slice(0, NAMED_MAX).join(', ')}` +
        (unread.length > NAMED_MAX ? ` and ${unread.length - NAMED_MAX} more.` : '.'),
    );
  }

  /** Records which keys are still needed. @returns false after a conflict */
  async finish(active: Versioned<ActiveKeyRecord>): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    if (!this.#pass.clean) return false;
    this.#refuseUnread();
    const { number } = active.record;
    const left = [...this.#pass.left].sort((a, b) => a - b);
    const entry = await store.get(KEYS.rewrapped());
    const before = entry && parseRecord(KEYS.rewrapped, entry);
    if (before?.record.number === number && String(before.record.left) === String(left)) return true;
    const { outcome } = await store.commit({
      expect: [expectAsFound(KEYS.rewrapped(), before), ...this.#expect],
      write: [put(KEYS.rewrapped(), { ...before?.record, number, left, at: clock.now() })],
      quiet: true,
    });
    if (outcome === 'committed') log.info({ activeKey: number, left }, 'everything is sealed under the active key');
    return outcome === 'committed';
  }
}
