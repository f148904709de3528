import type { Clock } from '../../clock.ts';
import type { RateMetrics } from '../../rate-metrics.ts';
import { ABSENT, type Entry, type Store, StoreUnavailable } from '../../store/port.ts';
import type { MaybePromise } from '../../maybe-promise.ts';
import { LIMITS } from '../limits.ts';
import type { RateDecision } from '../rate-window.ts';
import { BadRecord, KEYS, type Versioned } from '../records.ts';
import { decide, type Decision, type Outlook, outlookOf } from './decide.ts';
import { NO_PART, type OwnHold, reconciled, refused, sent, spendUnit, usableUnits } from './own-hold.ts';
import { fullWindow, NO_WINDOW, putWindow, readWindow, sliceName, type WindowRecord } from './record.ts';
import { RATE_WAITING_MAX, type WindowRules } from './rules.ts';
import type { Span } from './wall.ts';

export interface AccountWindowDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly metrics: RateMetrics;
  readonly replicaId: string;
  readonly wall: () => Span;
  readonly rules: WindowRules;
  /** One number for each commit of this process. */
  readonly nextNonce: () => number;
}

interface Waiting {
  readonly resolve: (decision: RateDecision) => void;
  readonly reject: (error: unknown) => void;
  readonly since: number;
}

type Known = Versioned<WindowRecord>;
type Committing = Extract<Decision, { act: 'commit' }>;

const FAILURES_IN_A_ROW_MAX = 2;
const FAILED_PAUSE_MS = 1000;

/**
 * One account's shared window on this replica. Requests are admitted from the own hold at once; the others wait in a
 * queue while one run at a time reads, decides and commits for all of them.
 */
export class AccountWindow {
  readonly #accountId: string;
  readonly #deps: AccountWindowDeps;
  #known: Known | undefined;
  /** The revision that `known` has or had: what is older than this is no news. */
  #reached = ABSENT;
  /** What the watch brought last; read when it is needed. */
  #newer: Entry | undefined;
  #part = NO_PART;
  #outlook: Outlook | undefined;
  /** Until then a refusal needs no second look, unless the record changes. */
  #fullUntil = Number.NEGATIVE_INFINITY;
  readonly #asked = new Map<string, number>();
  #queue: Waiting[] = [];
  #running: Promise<void> | undefined;
  #returns = false;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #wake = Promise.withResolvers<void>();
  #roundTripMs = 0;
  #usedAt: number;

  constructor(accountId: string, deps: AccountWindowDeps) {
    this.#accountId = accountId;
    this.#deps = deps;
    this.#usedAt = deps.clock.monotonic();
  }

  charge(): MaybePromise<RateDecision> {
    const now = this.#deps.wall();
    this.#usedAt = this.#deps.clock.monotonic();
    if (!this.#running) {
      const { hold } = this.#part;
      if (hold && usableUnits(this.#part, now) > 0) return this.#admit(hold, now);
      if (now.earliest < this.#fullUntil) return this.#answer(false, now);
    }
    if (this.#queue.length >= RATE_WAITING_MAX) {
      throw new StoreUnavailable('failed', 'Too many requests of one account wait for its rate window.');
    }
    this.#deps.metrics.rateWaited();
    const { promise, resolve, reject } = Promise.withResolvers<RateDecision>();
    this.#queue.push({ resolve, reject, since: this.#usedAt });
    this.#start();
    return promise;
  }

  /** What the watch saw. */
  saw(entry: Entry): void {
    if (entry.revision <= Math.max(this.#newer?.revision ?? ABSENT, this.#reached)) return;
    this.#newer = entry;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#wake.resolve();
    const { hold } = this.#part;
    // Many records pass by here; all but those that ask something of this replica can wait.
    if (hold?.slice === true && entry.value.includes(`"${sliceName(this.#deps.replicaId, hold.nonce)}"`)) this.#start();
  }

  /** Looked at a few times a second: a slice is settled before it ends, and as soon as possible after trouble. */
  round(now: Span): void {
    if (!this.#running) this.#takeNewer();
    const { hold } = this.#part;
    const isDue = hold?.slice === true && now.latest >= hold.usedUntil - this.#deps.rules.settledBeforeMs;
    if ((isDue || this.#returns) && !this.#isPaused()) this.#start();
  }

  /** After trouble, with what nobody waits for. */
  #isPaused(): boolean {
    return this.#deps.clock.monotonic() - this.#failedAt < FAILED_PAUSE_MS;
  }

  /** Gives back what is held. Never throws. */
  async finish(): Promise<void> {
    await this.#running;
    if (this.#part.hold?.slice !== true) return;
    this.#returns = true;
    this.#start();
    await this.#running;
  }

  /** How much of the window is used, 0 to 1, as far as it is known here. */
  fill(now: Span): number {
    const { requestsMax } = this.#deps.rules;
    return Math.min(1, (requestsMax - this.#left(now)) / requestsMax);
  }

  /** Nothing is under way, held or counted any more. */
  isOver(now: Span, forMs: number): boolean {
    const { hold } = this.#part;
    const isHeld = hold?.slice === true && now.earliest < hold.until + this.#deps.rules.endedCountsMs;
    return !this.#running && !isHeld && this.#deps.clock.monotonic() - this.#usedAt >= forMs;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // What came while this one was ending.
      if (this.#part.hold?.slice === true) this.#takeNewer();
      if (this.#queue.length > 0 || (this.#returns && !this.#isPaused())) this.#start();
    });
  }

  async #run(): Promise<void> {
    try {
      // What has begun goes on until nobody waits; what is due and nobody waits for takes one commit.
      do await this.#step();
      while (this.#queue.length > 0 || this.#returns);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#failedAt = this.#deps.clock.monotonic();
      this.#known = undefined;
      if (this.#failures < FAILURES_IN_A_ROW_MAX && this.#queue.length > 0) return await this.#run();
      this.#failures = 0;
      for (const { reject } of this.#queue.splice(0)) reject(error);
    }
  }

  async #step(): Promise<void> {
    const { store, clock, replicaId, wall, rules } = this.#deps;
    this.#turnAwayLate();
    this.#takeNewer();
    if (!this.#known) {
      const entry = await store.get(KEYS.rateWindow(this.#accountId));
      this.#learn(entry ? this.#read(entry) : { record: NO_WINDOW, revision: ABSENT });
    }
    const known = this.#known ?? { record: NO_WINDOW, revision: ABSENT };
    const now = wall();
    const decision = decide(
      {
        record: known.record,
        replicaId,
        part: this.#part,
        now,
        demand: this.#queue.length,
        asked: this.#asked,
        giveBack: this.#returns,
        chargeMs: Math.min(rules.chargeMsMax, Math.max(rules.chargeMs, 3 * this.#roundTripMs)),
      },
      rules,
    );
    if (decision.act === 'commit') return await this.#commit(known, decision, now);
    if (decision.act === 'serve') return this.#serve(decision.units, now);
    if (decision.act === 'refuse') return this.#refuse(now);
    await this.#woken(clock, decision.until - now.latest);
  }

  /** Whose request was answered with 502 by now; it shall not be charged. */
  #turnAwayLate(): void {
    const late = this.#deps.clock.monotonic() - LIMITS.requestDeadlineMs;
    while (this.#queue[0] && this.#queue[0].since < late) {
      this.#queue.shift()?.reject(new StoreUnavailable('timeout', 'The rate window was not decided in time.'));
    }
  }

  /** Until the watch brings something, or the time is up. */
  async #woken(clock: Clock, ms: number): Promise<void> {
    const over = new AbortController();
    this.#wake = Promise.withResolvers();
    await Promise.race([this.#wake.promise, clock.sleep(Math.ceil(ms), over.signal)]);
    over.abort();
  }

  async #commit({ revision }: Known, { record, take, asks }: Committing, now: Span): Promise<void> {
    const { store, clock, metrics, replicaId, rules, wall } = this.#deps;
    const before = this.#part.hold;
    const nonce = this.#deps.nextNonce();
    const hold: OwnHold = { ...take, nonce, takenAt: now.latest, spends: new Map(), spent: 0 };
    const { units, until, slice } = take;
    const next = { ...record, holds: { ...record.holds, [replicaId]: { nonce, units, until, slice } } };
    this.#part = sent(this.#part, { hold, expects: revision });
    const startedAt = clock.monotonic();
    const result = await store.commit({
      expect: [{ key: KEYS.rateWindow(this.#accountId), revision }],
      write: [putWindow(this.#accountId, next)],
      quiet: true,
    });
    this.#roundTripMs = clock.monotonic() - startedAt;
    if (result.outcome === 'conflict') {
      this.#part = refused(this.#part, nonce);
      // What the watch brought may be newer; else the store is asked.
      this.#known = undefined;
      return;
    }
    if (before?.slice === true) metrics.rateSlice(now.latest < before.usedUntil ? 'returned' : 'expired');
    if (slice) metrics.rateSlice('taken');
    this.#returns = false;
    for (const name of asks) this.#asked.set(name, wall().latest + rules.recallMs);
    this.#learn({ record: next, revision: result.revision });
  }

  #takeNewer(): void {
    const newer = this.#newer;
    this.#newer = undefined;
    if (newer && newer.revision > this.#reached) this.#learn(this.#read(newer));
  }

  #learn(known: Known): void {
    const { replicaId, wall } = this.#deps;
    this.#known = known;
    this.#reached = known.revision;
    this.#part = reconciled(this.#part, known, replicaId);
    const { hold } = this.#part;
    this.#returns ||= hold?.slice === true && known.record.wanted.includes(sliceName(replicaId, hold.nonce));
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#outlook = outlookOf(known.record, replicaId, wall(), this.#deps.rules);
    for (const name of this.#asked.keys()) if (!isThere(known.record, name)) this.#asked.delete(name);
  }

  #read(entry: Entry): Known {
    const { wall, rules } = this.#deps;
    try {
      return { record: readWindow(entry), revision: entry.revision };
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      return { record: fullWindow(wall(), rules), revision: entry.revision };
    }
  }

  #serve(units: number, now: Span): void {
    const { hold } = this.#part;
    if (!hold) return;
    for (const { resolve } of this.#queue.splice(0, units)) resolve(this.#admit(hold, now));
  }

  #refuse(now: Span): void {
    this.#fullUntil = this.#freesAt(now);
    for (const { resolve } of this.#queue.splice(0)) resolve(this.#answer(false, now));
  }

  #admit(hold: OwnHold, now: Span): RateDecision {
    spendUnit(hold, now, this.#deps.rules);
    return this.#answer(true, now);
  }

  #answer(admitted: boolean, now: Span): RateDecision {
    const left = admitted ? this.#left(now) : 0;
    const freesInSeconds = Math.max(1, Math.ceil((this.#freesAt(now) - now.earliest) / 1000));
    return { admitted, left, freesInSeconds };
  }

  #left(now: Span): number {
    const outlook = this.#look(now);
    return Math.max(0, (outlook?.left ?? this.#deps.rules.requestsMax) - (this.#part.hold?.spent ?? 0));
  }

  #freesAt(now: Span): number {
    const [first] = this.#part.hold?.spends.keys() ?? [];
    const own = first === undefined ? Number.POSITIVE_INFINITY : first + this.#deps.rules.bucketCountsMs;
    const freesAt = Math.min(own, this.#look(now)?.freesAt ?? Number.POSITIVE_INFINITY);
    return Number.isFinite(freesAt) ? freesAt : now.earliest;
  }

  #look(now: Span): Outlook | undefined {
    const outlook = this.#outlook;
    if (!this.#known || !outlook || now.earliest < outlook.freesAt) return outlook;
    return (this.#outlook = outlookOf(this.#known.record, this.#deps.replicaId, now, this.#deps.rules));
  }
}

const isThere = ({ holds }: WindowRecord, name: string): boolean =>
  Object.entries(holds).some(([replicaId, { nonce }]) => sliceName(replicaId, nonce) === name);
