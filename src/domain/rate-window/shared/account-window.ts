import { setImmediate } from 'node:timers/promises';
import type { MaybePromise } from '../../../concurrency/maybe-promise.ts';
import type { Entry, Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { KEYS } from '../../records/keys.ts';
import type { RateDecision } from '../local-window.ts';
import { Instants } from '../timestamp-ring.ts';
import type { Span } from './clock-interval.ts';
import { chargingLately } from './count.ts';
import { decide, type Decision } from './decide.ts';
import { KnownWindow, type Known, type KnownWindowDeps } from './known-window.ts';
import type { RateWindowMetrics } from './metrics.ts';
import type { OwnHold } from './own-hold.ts';
import { putWindow } from './record.ts';
import { WaitingRequests, type WaitingDeps } from './request-queue.ts';

export interface AccountWindowDeps extends KnownWindowDeps, WaitingDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly metrics: RateWindowMetrics;
  /** One number for each commit of this process. */
  readonly nextNonce: () => number;
}

type Committing = Extract<Decision, { act: 'commit' }>;

const FAILURES_IN_A_ROW_MAX = 2;
const FAILED_PAUSE_MS = 1000;
const REST_MS_MAX = 500;

/**
 * One account's shared window on this replica. Requests are admitted from the own hold at once; the others wait in a
 * queue while one run at a time reads, decides and commits for all of them.
 */
export class AccountWindow {
  readonly #accountId: string;
  readonly #deps: AccountWindowDeps;
  readonly #waiting: WaitingRequests;
  readonly #window: KnownWindow;
  /** When this replica committed, within the last minute and while much was left; by the monotonic clock. */
  #writes = new Instants();
  #running: Promise<void> | undefined;
  #returns = false;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #wake = Promise.withResolvers<void>();
  #roundTripMs = 0;
  #restsUntil = Number.NEGATIVE_INFINITY;
  #usedAt: number;

  constructor(accountId: string, deps: AccountWindowDeps) {
    this.#accountId = accountId;
    this.#deps = deps;
    this.#waiting = new WaitingRequests(deps);
    this.#window = new KnownWindow(deps);
    this.#usedAt = deps.clock.monotonic();
  }

  charge(): MaybePromise<RateDecision> {
    const now = this.#deps.wall();
    this.#usedAt = this.#deps.clock.monotonic();
    if (!this.#running) {
      const decided = this.#window.admit(now) ?? this.#window.refuse(now);
      if (decided) return decided;
    }
    const decision = this.#waiting.add();
    this.#deps.metrics.rateWaited();
    this.#start();
    return decision;
  }

  /** What the watch saw. */
  saw(entry: Entry): void {
    if (!this.#window.saw(entry)) return;
    this.#wake.resolve();
    if (this.#window.asksBack(entry)) this.#start();
  }

  /** The watch was deaf for a while: nobody is refused for what was known before. */
  missed(): void {
    this.#window.forget();
    this.#wake.resolve();
  }

  /** Looked at a few times a second: a used slice is settled before it ends, and as soon as possible after trouble. */
  round(now: Span): void {
    if (!this.#running) this.#window.takeNewer();
    const { hold } = this.#window.part;
    const isDue =
      hold?.slice === true &&
      hold.spent > 0 &&
      now.latest >= hold.usedUntil - this.#deps.rules.settledBeforeMs &&
      this.#writesLately() <= 1;
    if ((isDue || this.#isReturning) && !this.#isPaused) this.#start();
  }

  get #isReturning(): boolean {
    return this.#returns || this.#window.isAskedBack;
  }

  /** After trouble, with what nobody waits for. */
  get #isPaused(): boolean {
    return this.#deps.clock.monotonic() - this.#failedAt < FAILED_PAUSE_MS;
  }

  /** Gives back what is held. Never throws. */
  async finish(): Promise<void> {
    await this.#running;
    if (this.#window.part.hold?.slice !== true) return;
    this.#returns = true;
    this.#start();
    await this.#running;
  }

  /** How much of the window is used, 0 to 1, as far as it is known here. */
  fill(now: Span): number {
    const { requestsMax } = this.#deps.rules;
    return Math.min(1, (requestsMax - this.#window.left(now)) / requestsMax);
  }

  /** Nothing is under way, held or counted any more. */
  isOver(now: Span, forMs: number): boolean {
    const { hold } = this.#window.part;
    const isHeld = hold?.slice === true && now.earliest < hold.until + this.#deps.rules.endedCountsMs;
    return !this.#running && !isHeld && this.#deps.clock.monotonic() - this.#usedAt >= forMs;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // What came while this one was ending.
      if (this.#window.part.hold?.slice === true) this.#window.takeNewer();
      if (this.#waiting.count > 0 || (this.#isReturning && !this.#isPaused)) this.#start();
    });
  }

  async #run(): Promise<void> {
    try {
      // Those that come in the same turn of the event loop are decided together.
      await setImmediate();
      // What has begun goes on until nobody waits; what is due and nobody waits for takes one commit.
      do await this.#step();
      while (this.#waiting.count > 0 || this.#isReturning);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#failedAt = this.#deps.clock.monotonic();
      this.#window.forget();
      if (this.#failures < FAILURES_IN_A_ROW_MAX && this.#waiting.count > 0) return await this.#run();
      this.#failures = 0;
      this.#waiting.fail(error);
    }
  }

  async #step(): Promise<void> {
    const { store, wall, clock, rules } = this.#deps;
    const window = this.#window;
    this.#waiting.turnAwayLate(window.charged(wall()), () => window.decided(wall()));
    window.takeNewer();
    const known = window.record ?? window.read(await store.get(KEYS.rateWindow(this.#accountId)));
    const now = wall();
    const decision = decide(this.#situation(known, now), rules);
    if (decision.act === 'commit') return await this.#commit(known, decision, now);
    if (decision.act === 'wait') {
      await this.#woken(decision.until - clock.monotonic());
      // Nobody is taken for dead who may have answered where the watch is late.
      if (decision.for === 'answers' && clock.monotonic() >= decision.until) window.forget();
      return;
    }
    const units = decision.act === 'serve' ? decision.units : this.#waiting.count;
    this.#waiting.decide(() => window.decided(now), units);
  }

  #situation({ record }: Known, now: Span): Parameters<typeof decide>[0] {
    const { replicaId, clock, rules } = this.#deps;
    const { part, own, asked } = this.#window;
    return {
      record,
      replicaId,
      part,
      own: own.count(now),
      now,
      monotonic: clock.monotonic(),
      demand: this.#waiting.count,
      asked,
      giveBack: this.#isReturning,
      ends: this.#returns,
      writes: this.#writesLately(),
      chargeMs: Math.min(rules.chargeMsMax, Math.max(rules.chargeMs, 2 * this.#roundTripMs)),
      restsUntil: this.#restsUntil,
    };
  }

  #writesLately(): number {
    const since = this.#deps.clock.monotonic() - this.#deps.rules.ownCountsMs;
    while (this.#writes.size > 0 && this.#writes.oldest() < since) this.#writes.shift();
    return this.#writes.size;
  }

  /** Until the watch brings something, or the time is up. */
  async #woken(ms: number): Promise<void> {
    const over = new AbortController();
    this.#wake = Promise.withResolvers();
    await Promise.race([this.#wake.promise, this.#deps.clock.sleep(Math.ceil(ms), over.signal)]);
    over.abort(null);
  }

  async #commit({ revision }: Known, { record, take, refuses, isAmple }: Committing, now: Span): Promise<void> {
    const { store, clock, replicaId } = this.#deps;
    const before = this.#window.part.hold;
    const { usedUntil, ...told } = take;
    const hold = { ...told, nonce: this.#deps.nextNonce() };
    const next = { ...record, holds: { ...record.holds, [replicaId]: hold } };
    this.#window.sent({ ...hold, usedUntil, takenAt: now.latest, spends: new Map(), spent: 0 }, revision);
    const startedAt = clock.monotonic();
    const result = await store.commit({
      expect: [{ key: KEYS.rateWindow(this.#accountId), revision }],
      write: [putWindow(this.#accountId, next)],
      quiet: true,
    });
    this.#roundTripMs = clock.monotonic() - startedAt;
    if (result.outcome === 'conflict') return this.#window.refused(hold.nonce);
    if (isAmple) this.#writes.push(startedAt);
    else this.#writes = new Instants();
    this.#note(before, take, now);
    this.#returns = false;
    if (!take.slice) this.#rest(1 + chargingLately(record, replicaId, now));
    this.#window.committed({ record: next, revision: result.revision });
    if (refuses > 0) this.#refuseAfter(take.units, refuses);
  }

  /** Who has committed knows the record first: others would meet one conflict after the other. */
  #rest(turns: number): void {
    this.#restsUntil = this.#deps.clock.monotonic() + Math.min(REST_MS_MAX, this.#roundTripMs * turns);
  }

  /** So many after so many, but for those for whom something became free in the meantime. */
  #refuseAfter(units: number, refuses: number): void {
    const now = this.#deps.wall();
    const stay = Math.max(units, this.#window.left(now));
    if (stay < units + refuses) this.#waiting.decide(() => this.#window.full(now), units + refuses - stay, stay);
  }

  #note(before: OwnHold | undefined, { slice, units }: Committing['take'], now: Span): void {
    const { metrics } = this.#deps;
    const isSettled = before?.slice === true && before.units > 0;
    if (isSettled) metrics.rateSlice(now.latest < before.usedUntil ? 'returned' : 'expired');
    if (slice && units > 0) metrics.rateSlice('taken');
  }
}
