import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import {
  ABSENT,
  PAGE_ENTRIES_MAX,
  StoreUnavailable,
  type Entry,
  type Expectation,
  type Store,
  type Write,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Envelope } from '../keys/envelope.ts';
import { answerContext } from '../mutation/idempotency.ts';
import { headerContext } from '../otel-config/otel-config.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { idempotencyRecordSchema } from '../records/records.ts';
import { rewrappedSchema, type ActiveKeyRecord } from '../records/replica-records.ts';
import type { Sealed } from '../records/sealed.ts';

/*
 * After a rotation everything that older keys seal gets its data key wrapped by the one that writes now. The boxes stay
 * as they are, and so do revision and tag of a configuration: no daemon is told anything. Nothing can be sealed under
 * an older key any more (domain/keys/active-key.ts), so that one clean look over all is enough for good.
 */

export interface RewrappingDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly envelope: Envelope;
  readonly clock: Clock;
  readonly log: Log;
  readonly rewrapped: (count: number) => void;
}

/** Of one commit: each is an expectation and a write. */
const PER_COMMIT_MAX = 50;
/** Of one round; the rest is the next round's. */
const HEADERS_PER_ROUND_MAX = 5000;
const PAGES_PER_ROUND_MAX = 20;
/** Accounts in one line of the log. */
const NAMED_MAX = 10;
/** What could not be opened is looked at again so often: its key may come back. */
const LOOK_AGAIN_MS = 600_000;

/** Sealed under another key than the one that writes. `record` is what to put once its `sealed` is rewrapped. */
interface Candidate {
  readonly key: string;
  readonly revision: number;
  readonly sealed: Sealed;
  readonly context: string;
  readonly record: (rewrapped: Sealed) => object;
}

/** One look over everything, in as many rounds as it takes. */
interface Look {
  readonly number: number;
  readonly keyNumbers: readonly number[];
  after: string | undefined;
  /** Nothing was in the way so far: every other key found is in `left`. */
  clean: boolean;
  readonly left: Set<number>;
  doneAt: number | undefined;
}

/**
 * @param fence of the leader's term: every commit expects it
 * @returns a round, to be repeated, which may be stopped anywhere. It throws StoreUnavailable; and Error where a
 * configuration cannot be read, once all others are rewrapped
 */
export function createRewrapping(deps: RewrappingDeps, fence: readonly Expectation[]): () => Promise<void> {
  let look: Look | undefined;
  return async () => {
    // What memory does not know yet may be sealed under any key.
    const writing = (await deps.fleet.whole()).activeKey();
    if (!writing) return;
    if (!look || isStale(look, writing.record.number, deps)) look = begin(writing.record.number, deps.envelope);
    if (look.doneAt !== undefined) return;
    const round = new Round(deps, [...fence, { key: KEYS.activeKey, revision: writing.revision }], look);
    if (!(await round.headers()) || !(await round.answers())) return;
    if (await round.finish(writing)) look.doneAt = deps.clock.monotonic();
    else look = undefined;
  };
}

const begin = (number: number, { keyNumbers }: Envelope): Look => ({
  number,
  keyNumbers,
  after: undefined,
  clean: true,
  left: new Set(),
  doneAt: undefined,
});

function isStale(look: Look, number: number, { envelope, clock }: RewrappingDeps): boolean {
  if (look.number !== number || look.keyNumbers !== envelope.keyNumbers) return true;
  return look.doneAt !== undefined && clock.monotonic() - look.doneAt >= LOOK_AGAIN_MS;
}

class Round {
  readonly #deps: RewrappingDeps;
  readonly #expect: readonly Expectation[];
  readonly #look: Look;

  constructor(deps: RewrappingDeps, expect: readonly Expectation[], look: Look) {
    this.#deps = deps;
    this.#expect = expect;
    this.#look = look;
  }

  /** @returns whether all of them were looked at */
  async headers(): Promise<boolean> {
    const { memory } = this.#deps.fleet;
    if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled.');
    const found: Candidate[] = [];
    for (const account of memory.accounts()) {
      const otel = account.otel();
      const sealed = otel?.record.config?.header;
      if (!otel || !sealed || this.#isDone(sealed)) continue;
      if (found.length === HEADERS_PER_ROUND_MAX) break;
      const { record, revision } = otel;
      found.push({
        key: KEYS.otel(account.id),
        revision,
        sealed,
        context: headerContext(account.id),
        record: (header) => ({ ...record, config: { ...record.config, header } }),
      });
    }
    await this.#rewrap(found, false);
    return found.length < HEADERS_PER_ROUND_MAX;
  }

  #isDone({ keyNumber }: Sealed): boolean {
    if (keyNumber === this.#look.number) return true;
    if (this.#look.keyNumbers.includes(keyNumber)) return false;
    this.#look.left.add(keyNumber);
    return true;
  }

  /** @returns whether the last page was reached */
  async answers(): Promise<boolean> {
    const { after } = this.#look;
    const request = { prefix: KEYS.idempotencyRecordsAll, limit: PAGE_ENTRIES_MAX };
    let pages = 0;
    for await (const { entries, next } of pagesOf(this.#deps.store, {
      ...request,
      ...(after !== undefined && { after }),
    })) {
      const candidates = entries.flatMap((entry) => this.#candidateOf(entry) ?? []);
      await this.#rewrap(candidates, true);
      this.#look.after = next;
      pages += 1;
      if (pages === PAGES_PER_ROUND_MAX) return next === undefined;
    }
    return true;
  }

  #candidateOf(entry: Entry): Candidate | undefined {
    const [, accountId = '', kind, name = ''] = entry.key.split('/');
    if (kind !== 'answer') return undefined;
    const { record, revision } = parseRecord(idempotencyRecordSchema, entry);
    if (this.#isDone(record.answer)) return undefined;
    return {
      key: entry.key,
      revision,
      sealed: record.answer,
      context: answerContext(accountId, name),
      record: (answer) => ({ ...record, answer }),
    };
  }

  async #rewrap(candidates: readonly Candidate[], quiet: boolean): Promise<void> {
    const { envelope, store, rewrapped } = this.#deps;
    for (let at = 0; at < candidates.length; at += PER_COMMIT_MAX) {
      const expect: Expectation[] = [];
      const write: Write[] = [];
      for (const { key, revision, sealed, context, record } of candidates.slice(at, at + PER_COMMIT_MAX)) {
        const next = envelope.rewrap(sealed, context, this.#look.number);
        if (next) {
          expect.push({ key, revision });
          write.push(put(key, record(next)));
        } else {
          this.#look.left.add(sealed.keyNumber);
        }
      }
      const [first, ...others] = [...expect, ...this.#expect];
      if (!first || write.length === 0) continue;
      const change = { expect: [first, ...others] as const, write, ...(quiet && { quiet: true as const }) };
      const { outcome } = await store.commit(change);
      // One of them was changed at this moment, or this controller leads no longer: the next look tells.
      if (outcome === 'conflict') this.#look.clean = false;
      else rewrapped(write.length);
    }
  }

  /** Any key may seal them: were they passed over, it would be offered for removal, and they would be lost. */
  #refuseUnread(): void {
    const unread = [...this.#deps.fleet.memory.unreadableAccounts(['account', 'otel'])];
    if (unread.length === 0) return;
    throw new Error(
      `No key is free while configurations cannot be read: ${unread.slice(0, NAMED_MAX).join(', ')}` +
        (unread.length > NAMED_MAX ? ` and ${unread.length - NAMED_MAX} more.` : '.'),
    );
  }

  /** Notes what was found, for whoever asks which keys may go. False where something was in the way. */
  async finish(writing: Versioned<ActiveKeyRecord>): Promise<boolean> {
    const { store, clock, log } = this.#deps;
    if (!this.#look.clean) return false;
    this.#refuseUnread();
    const { number } = writing.record;
    const left = [...this.#look.left].sort((a, b) => a - b);
    const entry = await store.get(KEYS.rewrapped);
    const before = entry && parseRecord(rewrappedSchema, entry);
    if (before?.record.number === number && String(before.record.left) === String(left)) return true;
    const [first, ...others] = [{ key: KEYS.rewrapped, revision: before?.revision ?? ABSENT }, ...this.#expect];
    const { outcome } = await store.commit({
      expect: [first ?? { key: KEYS.rewrapped, revision: ABSENT }, ...others],
      write: [put(KEYS.rewrapped, { ...before?.record, number, left, at: clock.now() })],
      quiet: true,
    });
    if (outcome === 'committed') log.info({ writing: number, left }, 'everything is sealed under the key that writes');
    return outcome === 'committed';
  }
}
