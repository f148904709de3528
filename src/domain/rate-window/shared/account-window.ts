import { justCommitted } from '../../records/codec.ts';
import { setImmediate } from 'node:timers/promises';
import type { MaybePromise } from '../../../concurrency/maybe-promise.ts';
import type { Log } from '../../../log.ts';
import { expectUnchanged, type Entry, type Store } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { KEYS } from '../../records/keys.ts';
import type { RateDecision } from '../local-window.ts';
import { TimestampRing } from '../timestamp-ring.ts';
import { chargedRecently } from './count.ts';
import { decide, type Decision } from './decide.ts';
import { KnownWindow, type KnownWindowDeps } from './known-window.ts';
import type { RateWindowMetrics } from './metrics.ts';
import type { OwnLease } from './own-lease.ts';
import { putWindow } from './record-codec.ts';
import { committedAt, stamped, type Known } from './record.ts';
import { RequestQueue, type RequestQueueDeps } from './request-queue.ts';
import type { Situation } from './situation.ts';

interface AccountWindowDeps extends KnownWindowDeps, RequestQueueDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: RateWindowMetrics;
  /** The monotonic clock; leases end first where it stood still. */
  readonly now: () => number;
  /** While this replica may have missed how old revisions are, resolves when that is over. */
  readonly doubted: () => Promise<void> | undefined;
  /** Returns another number for each commit of this process. */
  readonly nextNonce: () => number;
}

type Committing = Extract<Decision, { act: 'commit' }>;

const FAILURES_IN_A_ROW_MAX = 2;
const FAILED_PAUSE_MS = 1000;
const YIELD_MS_MAX = 500;

const isRefusing = (decision: Decision): boolean =>
  decision.act === 'refuse' || (decision.act === 'commit' && decision.refuses > 0);

/**
 * One account's shared window on this replica. Requests are admitted from the own lease at once; the others wait in a
 * queue while one run at a time reads, decides and commits for all of them.
 */
export class AccountWindow {
  readonly #accountId: string;
  readonly #deps: AccountWindowDeps;
  readonly #queue: RequestQueue;
  readonly #window: KnownWindow;
  /** The instants (monotonic) of this replica's commits of the last minute, since much has been left. */
  #writes = new TimestampRing();
  #running: Promise<void> | undefined;
  /** The replica stops, and returns its lease. */
  #isStopping = false;
  #failures = 0;
  #failedAt = Number.NEGATIVE_INFINITY;
  #wake = Promise.withResolvers<void>();
  #roundTripMs = 0;
  #yieldsUntil = Number.NEGATIVE_INFINITY;
  #usedAt: number;

  constructor(accountId: string, deps: AccountWindowDeps) {
    this.#accountId = accountId;
    this.#deps = deps;
    this.#queue = new RequestQueue(deps);
    this.#window = new KnownWindow(KEYS.rateWindow(accountId), deps);
    this.#usedAt = deps.clock.monotonic();
  }

  /** Charges one request (H13). @throws StoreUnavailable; Busy when the decision is late, or too many requests wait */
  charge(): MaybePromise<RateDecision> {
    const now = this.#deps.now();
    this.#usedAt = now;
    if (!this.#running) {
      const decided = this.#window.admit(now) ?? this.#window.refuse(now);
      if (decided) return decided;
    }
    const decision = this.#queue.add();
    this.#deps.metrics.rateWaited();
    this.#start();
    return decision;
  }

  /** Takes an entry that the watch brought. */
  observe(entry: Entry): void {
    if (!this.#window.observe(entry)) return;
    this.#wake.resolve();
    if (this.#window.recallsOwn(entry)) this.#start();
  }

  /** After a gap of the watch: nobody is refused by what was known before. */
  forget(): void {
    this.#window.forget();
    this.#wake.resolve();
  }

  /** The store was put back to an earlier state. */
  wasPutBack(): void {
    this.#window.wasPutBack();
    this.forget();
  }

  /** After the machine stood still. */
  voidLeases(): void {
    this.#window.voidLeases();
  }

  /**
   * Is called a few times a second: a used allotment is settled before it ends, and a recalled one as soon as possible
   * after a failure.
   */
  round(now: number): void {
    if (!this.#running) this.#window.takeNewer();
    const { lease } = this.#window.leases;
    const isDue =
      lease?.isAllotment === true &&
      lease.spent > 0 &&
      now >= lease.usedUntil - this.#deps.rules.settledBeforeMs &&
      this.#recentWrites() <= 1;
    if ((isDue || this.#mustReturn) && !this.#isPaused) this.#start();
  }

  get #mustReturn(): boolean {
    return this.#isStopping || this.#window.isRecalled;
  }

  /** Whether a failure was so recent that work without a waiting request is put off. */
  get #isPaused(): boolean {
    return this.#deps.clock.monotonic() - this.#failedAt < FAILED_PAUSE_MS;
  }

  /** Returns the own allotment. Never throws. */
  async finish(): Promise<void> {
    await this.#running;
    if (this.#window.leases.lease?.isAllotment !== true) return;
    this.#isStopping = true;
    this.#start();
    await this.#running;
  }

  /** The window as this replica knows it. */
  get known(): Pick<KnownWindow, 'fill' | 'remaining'> {
    return this.#window;
  }

  /** Whether nothing is under way, leased or counted any more. */
  isIdle(now: number, forMs: number): boolean {
    const { lease } = this.#window.leases;
    const isHeld = lease?.isAllotment === true && now < lease.until + this.#deps.rules.endedCountsMs;
    return !this.#running && !isHeld && now - this.#usedAt >= forMs;
  }

  #start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      // The watch may have brought something while this run was ending.
      if (this.#window.leases.lease?.isAllotment === true) this.#window.takeNewer();
      if (this.#queue.count > 0 || (this.#mustReturn && !this.#isPaused)) this.#start();
    });
  }

  async #run(): Promise<void> {
    try {
      // Requests of the same turn of the event loop are decided together.
      await setImmediate();
      // A run goes on until nobody waits; a settlement that nobody waits for takes one commit.
      do await this.#step();
      while (this.#queue.count > 0 || this.#mustReturn);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      this.#failedAt = this.#deps.clock.monotonic();
      this.#window.forget();
      if (this.#failures < FAILURES_IN_A_ROW_MAX && this.#queue.count > 0) return await this.#run();
      this.#failures = 0;
      this.#queue.fail(error);
    }
  }

  async #step(): Promise<void> {
    const { store, now: time, clock, rules } = this.#deps;
    const window = this.#window;
    this.#queue.rejectLate(window.charged(time()), () => window.decided(time()));
    window.takeNewer();
    const known = window.record ?? window.read(await store.get(KEYS.rateWindow(this.#accountId)));
    const now = time();
    const decision = decide(this.#situation(known, now), rules);
    if (isRefusing(decision) && (await this.#afterDoubt())) return;
    if (decision.act === 'commit') return await this.#commit(known, decision, now);
    if (decision.act === 'wait') {
      await this.#woken(decision.until - clock.monotonic());
      // The watch may be late: before a holder counts as dead, the store is read for its answer.
      if (decision.for === 'answers' && clock.monotonic() >= decision.until) window.forget();
      return;
    }
    const units = decision.act === 'serve' ? decision.units : this.#queue.count;
    this.#queue.decide(() => window.decided(now), units);
  }

  #situation({ record, isUnreadable = false }: Known, now: number): Situation {
    const { replicaId, rules } = this.#deps;
    const { leases, own, recallDeadlines } = this.#window;
    return {
      record,
      mustWrite: isUnreadable,
      replicaId,
      leases,
      own: own.count(now),
      now,
      waiting: this.#queue.count,
      recallDeadlines,
      mustReturn: this.#mustReturn,
      isStopping: this.#isStopping,
      writes: this.#recentWrites(),
      chargeMs: Math.min(rules.chargeMsMax, Math.max(rules.chargeMs, 2 * this.#roundTripMs)),
      yieldsUntil: this.#yieldsUntil,
    };
  }

  #recentWrites(): number {
    const since = this.#deps.clock.monotonic() - this.#deps.rules.ownCountsMs;
    while (this.#writes.size > 0 && this.#writes.oldest() < since) this.#writes.shift();
    return this.#writes.size;
  }

  /** Waits until the watch brings something, or the time is up. */
  async #woken(ms: number): Promise<void> {
    const over = new AbortController();
    this.#wake = Promise.withResolvers();
    await Promise.race([this.#wake.promise, this.#deps.clock.sleep(Math.ceil(ms), over.signal)]);
    over.abort(null);
  }

  /** Before a refusal: waits while units may only seem to be young. @returns whether that was so */
  async #afterDoubt(): Promise<boolean> {
    const doubt = this.#deps.doubted();
    await doubt;
    if (doubt) this.#window.forget();
    return doubt !== undefined;
  }

  async #commit(known: Known, { record, take, refuses, isAmple }: Committing, now: number): Promise<void> {
    const { store, clock, replicaId, revisions, rules, putBack } = this.#deps;
    const before = this.#window.leases.lease;
    const { usedUntil, ...recorded } = take;
    const lease = { ...recorded, nonce: this.#deps.nextNonce() };
    const next = stamped({ ...record, leases: { ...record.leases, [replicaId]: lease } }, now);
    this.#window.sent({ ...lease, usedUntil, spends: [], spent: 0 }, known.revision);
    const [startedAt, latest] = [clock.monotonic(), revisions.latest];
    const write = putWindow(this.#accountId, next, rules);
    const result = await store.commit({ expect: [expectUnchanged(known)], write: [write], quiet: true });
    this.#roundTripMs = clock.monotonic() - startedAt;
    if (result.outcome === 'conflict') return this.#window.conflicted(lease.nonce);
    if (revisions.found(result.revision, latest)) putBack();
    if (known.isUnreadable) this.#repaired();
    if (isAmple) this.#writes.push(startedAt);
    else this.#writes = new TimestampRing();
    this.#countAllotments(before, take, now);
    this.#isStopping = false;
    if (!take.isAllotment) this.#yieldTurn(1 + chargedRecently(record, replicaId, now));
    this.#window.committed(justCommitted(write.put, committedAt(next, result.revision), result));
    if (refuses > 0) this.#refuseAfter(take.units, refuses);
  }

  /**
   * Lets others charge: the replica that committed knows the record first, and others would meet one conflict after
   * another.
   */
  #yieldTurn(turns: number): void {
    this.#yieldsUntil = this.#deps.clock.monotonic() + Math.min(YIELD_MS_MAX, this.#roundTripMs * turns);
  }

  /**
   * Refuses `refuses` requests behind the first `units` ones, but for those for whom something became free meanwhile.
   */
  #refuseAfter(units: number, refuses: number): void {
    const now = this.#deps.now();
    const stay = Math.max(units, this.#window.left(now));
    if (stay < units + refuses) this.#queue.decide(() => this.#window.full(now), units + refuses - stay, stay);
  }

  #repaired(): void {
    const { log, metrics } = this.#deps;
    metrics.rateRecordRepaired();
    log.error(
      { accountId: this.#accountId },
      'the rate window of an account could not be read; it counts as spent whole for a minute, and was written anew',
    );
  }

  #countAllotments(before: OwnLease | undefined, { isAllotment, units }: Committing['take'], now: number): void {
    const { metrics } = this.#deps;
    if (before?.isAllotment === true && before.units > 0) {
      metrics.rateAllotment(now < before.usedUntil ? 'returned' : 'expired');
    }
    if (isAllotment && units > 0) metrics.rateAllotment('taken');
  }
}
