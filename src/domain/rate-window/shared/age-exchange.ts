import type { Log } from '../../../log.ts';
import {
  PAGE_ENTRIES_MAX,
  committedSnapshot,
  expectAbsent,
  expectUnchanged,
  type Entry,
  type Snapshot,
  type Store,
  type StoreUnavailable,
} from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { parseRecord, put } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import type { RevisionClock } from './revision-clock.ts';
import type { WindowRules } from './rules.ts';

/** Another replica, as the registry knows it. */
export interface LiveReplica {
  readonly replicaId: string;
}

/** The registry of replicas, as far as the shared window needs it. */
export interface KnownReplicas {
  /** Says why this replica is not on it; undefined while it is. */
  unregistered(): StoreUnavailable | undefined;
  /** Every live replica, this one among them. @throws StoreUnavailable; BadRecord */
  live(): Promise<readonly LiveReplica[]>;
  /** Another replica's wall clock is ahead by so many milliseconds at least, behind where they are negative. */
  clockHeard(replicaId: string, skewMs: number): void;
}

interface AgeExchangeDeps {
  readonly store: Pick<Store, 'commit' | 'list'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly replicaId: string;
  readonly revisions: RevisionClock;
  readonly rules: Pick<WindowRules, 'allotmentRecordedMs' | 'endedCountsMs'>;
  readonly replicas: KnownReplicas;
  /** Ages were learnt: what was known before may be older than it seemed. */
  readonly learnt: () => void;
  readonly nextNonce: () => number;
}

/** The wall clocks are compared as often as this. */
const CLOCKS_EVERY_MS = 30_000;
/** Nobody is refused for this long after a gap by what may only seem to be young. */
const DOUBTED_MS = 1000;

/**
 * A replica that has just started, or did not hear of the store for a while, does not know how old the revisions are
 * that it missed, and would count what was spent then from now on. It asks the others. A question and its answers are
 * keys in the store, seen by the watch on the rate windows; whoever asked removes them. It asks now and then in any
 * case: an answer was written between the question and its arrival, and so tells how far the wall clocks are apart.
 */
export class AgeExchange {
  readonly #deps: AgeExchangeDeps;
  /** Since this replica missed something it has not had an answer. */
  #isMissing = true;
  #isAsking = false;
  /** When it last began to ask, on the monotonic clock. */
  #askedAt = Number.NEGATIVE_INFINITY;
  #doubt: PromiseWithResolvers<void> | undefined;
  /** The last question, and when it was sent, on the monotonic clock. */
  #question = { key: '', sentAt: 0 };
  /** The replicas that have not answered yet. */
  #awaited = new Set<string>();
  #answered = Promise.withResolvers<void>();

  constructor(deps: AgeExchangeDeps) {
    this.#deps = deps;
  }

  /** While ages are doubted, resolves when they are known, or must do as they are; undefined while they are not. */
  get doubted(): Promise<void> | undefined {
    return this.#doubt?.promise;
  }

  /** This replica may have missed revisions. */
  missed(): void {
    this.#isMissing = true;
    if (this.#doubt) return;
    const doubt = (this.#doubt = Promise.withResolvers());
    void this.#deps.clock.sleep(DOUBTED_MS).then(() => this.#settle(doubt));
  }

  #settle(doubt: PromiseWithResolvers<void> | undefined): void {
    if (doubt === undefined || this.#doubt !== doubt) return;
    this.#doubt = undefined;
    doubt.resolve();
  }

  /**
   * Asks the others, where anything was missed or it is time for their clocks. It is called while the watch is open.
   * Never throws.
   */
  async ask(): Promise<void> {
    const now = this.#deps.clock.monotonic();
    if (this.#isAsking || (!this.#isMissing && now - this.#askedAt < CLOCKS_EVERY_MS)) return;
    this.#isAsking = true;
    this.#askedAt = now;
    const doubt = this.#doubt;
    try {
      this.#isMissing = false;
      await this.#asked();
      this.#learnt(doubt);
    } catch (error) {
      this.#isMissing = true;
      this.#deps.log.debug({ err: error }, 'the ages of revisions could not be asked for; they are asked for again');
    } finally {
      this.#isAsking = false;
    }
  }

  /** Windows are read anew only where they were doubted: each costs a read. */
  #learnt(doubt: PromiseWithResolvers<void> | undefined): void {
    if (doubt !== undefined && this.#doubt === doubt) this.#deps.learnt();
    this.#settle(doubt);
  }

  /** Resolves when all have answered, or after a second. */
  async #asked(): Promise<void> {
    const { store, clock, replicaId, replicas, nextNonce } = this.#deps;
    const live = await replicas.live();
    await this.#sweep(new Set(live.map((one) => one.replicaId)));
    const others = live.filter((one) => one.replicaId !== replicaId);
    if (others.length === 0) return;
    this.#awaited = new Set(others.map((one) => one.replicaId));
    this.#answered = Promise.withResolvers();
    const question = put(KEYS.rateQuestion(replicaId, nextNonce()), {});
    this.#question = { key: question.put, sentAt: clock.monotonic() };
    const asked = await store.commit({
      expect: [expectAbsent(question.put)],
      write: [question],
      quiet: true,
    });
    const over = new AbortController();
    await Promise.race([this.#answered.promise, clock.sleep(DOUBTED_MS, over.signal)]);
    over.abort();
    if (asked.outcome === 'committed') await this.#remove(committedSnapshot(question.put, asked), replicaId);
  }

  /** Removes a question, and all others of its replica, with their answers. */
  async #remove(question: Snapshot | Entry, replicaId: string): Promise<void> {
    await this.#deps.store.commit({
      expect: [expectUnchanged(question)],
      write: [{ removeAll: KEYS.rateQuestion.under(replicaId) }],
      quiet: true,
    });
  }

  /** Removes the questions of replicas that ended before they had removed them. */
  async #sweep(live: ReadonlySet<string>): Promise<void> {
    const request = { prefix: KEYS.rateQuestion.under(), limit: PAGE_ENTRIES_MAX, keysOnly: true };
    for (const entry of (await this.#deps.store.list(request)).entries) {
      const { asker, answerer } = partsOf(entry.key);
      if (answerer === undefined && !live.has(asker)) await this.#remove(entry, asker);
    }
  }

  /** Takes an entry that the watch brought. */
  observe(entry: Entry): void {
    const { asker, answerer } = partsOf(entry.key);
    const isOwn = asker === this.#deps.replicaId;
    if (answerer === undefined ? !isOwn : isOwn) {
      if (answerer === undefined) void this.#answer(entry);
      else this.#take(answerer, entry);
    }
  }

  async #answer(question: Entry): Promise<void> {
    const { store, clock, replicaId, revisions, log } = this.#deps;
    const { asker, nonce } = partsOf(question.key);
    const answer = put(KEYS.rateAnswer(asker, nonce, replicaId), {
      revisions: revisions.table(),
      clock: Math.round(clock.now()),
    });
    const change = { expect: [expectUnchanged(question)] as const, write: [answer], quiet: true as const };
    await store
      .commit(change)
      .catch((error: unknown) => log.debug({ err: error }, 'a question for ages was not answered'));
  }

  #take(answerer: string, entry: Entry): void {
    const { revisions, rules, clock, replicas } = this.#deps;
    try {
      const { record } = parseRecord(KEYS.rateAnswer, entry);
      revisions.learn(record.revisions, entry.revision);
      this.#awaited.delete(answerer);
      const received = clock.now();
      if (entry.key.startsWith(`${this.#question.key}/`)) {
        const sent = received - (clock.monotonic() - this.#question.sentAt);
        replicas.clockHeard(answerer, Math.min(0, record.clock - sent) + Math.max(0, record.clock - received));
      }
      // Nothing that lies behind it counts, not even a lease that its holder took along.
      const isWhole = (record.revisions[0]?.[1] ?? 0) >= rules.allotmentRecordedMs + rules.endedCountsMs;
      if (isWhole) this.#learnt(this.#doubt);
      if (this.#awaited.size === 0) this.#answered.resolve();
    } catch (error) {
      this.#deps.log.warn({ err: error, replica: answerer }, 'the answer of another replica cannot be read');
    }
  }
}

/** A question is `rate-ages/<asker>/<nonce>`, and an answer has the answerer behind that. */
interface Parts {
  readonly asker: string;
  readonly nonce: string;
  readonly answerer: string | undefined;
}

function partsOf(key: string): Parts {
  const [asker = '', nonce = '', answerer] = key.slice(KEYS.rateQuestion.under().length).split('/');
  return { asker, nonce, answerer };
}
