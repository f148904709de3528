import type { Clock } from '../../clock.ts';
import type { RateMetrics } from '../../rate-metrics.ts';
import { ABSENT, type Entry, type Store } from '../../store/port.ts';
import type { MaybePromise } from '../../maybe-promise.ts';
import type { RateDecision } from '../rate-window.ts';
import { KEYS, type Versioned } from '../records.ts';
import { decide, type Decision } from './decide.ts';
import { WindowOutlook } from './outlook.ts';
import { NO_PART, type OwnHold, reconciled, refused, sent, spendUnit, usableUnits } from './own-hold.ts';
import { hasHold, NO_WINDOW, putWindow, readWindowOrFull, sliceName, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import { WaitingRequests } from './waiting.ts';
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
  readonly #waiting: WaitingRequests;
  readonly #outlook: WindowOutlook;
  #known: Known | undefined;
  /** The revision that `known` has or had: what is older than this is no news. */
  #reached = ABSENT;
  /** What the watch brought last; read when it is needed. */
  #newer: Entry | undefined;
  #part = NO_PART;
  /** Until then a refusal needs no second look, unless the record changes. */
  #fullUntil = Number.NEGATIVE_INFINITY;
  readonly #asked = new Map<string, number>();
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
    this.#waiting = new WaitingRequests(deps.clock);
    this.#outlook = new WindowOutlook(deps.replicaId, deps.rules);
    this.#usedAt = deps.clock.monotonic();
  }

  charge(): MaybePromise<RateDecision> {
    const now = this.#deps.wall();
    this.#usedAt = this.#deps.clock.monotonic();
    if (!this.#running) {
      const { hold } = this.#part;
      if (hold && usableUnits(this.#part, now) > 0) return this.#admit(hold, now);
      if (now.earliest < this.#fullUntil) return this.#outlook.answer(false, hold, now);
    }
    const decision = this.#waiting.add();
    this.#deps.metrics.rateWaited();
    this.#start();
    return decision;
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

  /** The watch was deaf for a while: nobody is refused for what was known before. */
  missed(): void {
    this.#known = undefined;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#wake.resolve();
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
    return Math.min(1, (requestsMax - this.#outlook.left(this.#part.hold, now)) / requestsMax);
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
      if (this.#waiting.count > 0 || (this.#returns && !this.#isPaused())) this.#start();
    });
  }

  async #run(): Promise<void> {
    try {
      // What has begun goes on until nobody waits; what is due and nobody waits for takes one commit.
      do await this.#step();
      while (this.#waiting.count > 0 || this.#returns);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#failedAt = this.#deps.clock.monotonic();
      this.#known = undefined;
      if (this.#failures < FAILURES_IN_A_ROW_MAX && this.#waiting.count > 0) return await this.#run();
      this.#failures = 0;
      this.#waiting.fail(error);
    }
  }

  async #step(): Promise<void> {
    const { store, clock, replicaId, wall, rules } = this.#deps;
    this.#waiting.turnAwayLate();
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
        demand: this.#waiting.count,
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
    const { replicaId } = this.#deps;
    this.#known = known;
    this.#reached = known.revision;
    this.#part = reconciled(this.#part, known, replicaId);
    const { hold } = this.#part;
    this.#returns ||= hold?.slice === true && known.record.wanted.includes(sliceName(replicaId, hold.nonce));
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#outlook.learn(known.record);
    for (const name of this.#asked.keys()) if (!hasHold(known.record, name)) this.#asked.delete(name);
  }

  #read(entry: Entry): Known {
    return { record: readWindowOrFull(entry, this.#deps.rules), revision: entry.revision };
  }

  #serve(units: number, now: Span): void {
    const { hold } = this.#part;
    if (hold) this.#waiting.decide(() => this.#admit(hold, now), units);
  }

  #refuse(now: Span): void {
    const { hold } = this.#part;
    this.#fullUntil = this.#outlook.freesAt(hold, now);
    this.#waiting.decide(() => this.#outlook.answer(false, hold, now));
  }

  #admit(hold: OwnHold, now: Span): RateDecision {
    spendUnit(hold, now, this.#deps.rules);
    return this.#outlook.answer(true, hold, now);
  }
}
