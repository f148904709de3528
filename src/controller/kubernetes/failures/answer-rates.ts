import { RecentMap } from '../../../packed/recent-map.ts';
import type { Clock } from '../../../time/clock.ts';

/*
 * The rates at which Muster writes in answer to others, for each resource (ADR 0067). Two programs that undo
 * each other's changes would otherwise write as fast as both can.
 */

/**
 * The cause of a write. `outside`: somebody changed what the resource describes, though its spec is the same. `header`:
 * the same of the header of a configuration, whose changes are gathered. `spec`: the spec is another one.
 */
export type Cause = 'outside' | 'header' | 'spec';

/** So many answers at once, then so many a minute apart, and every further one ten minutes apart. */
const OUTSIDE = { atOnce: 3, thenMinutely: 10, minuteMs: 60_000, lastMs: 600_000, forgottenMs: 1_800_000 };
/** People and pipelines change a spec a few times in a row. */
const SPEC = { atOnce: 10, everyMs: 5000, forgottenMs: 60_000 };
/** A rotation may write several keys of a Secret one after the other: one revision wakes every held poll. */
export const GATHER_MS = 5000;

/** The names of resources that are gone for which a rate is kept; a later one takes the place of the oldest. */
export const NAMES_KEPT_MAX = 10_000;

/** The answers in a row, and the instant of the last one on the monotonic clock. */
interface Tally {
  count: number;
  at: number;
}

interface Tallies {
  outside: Tally;
  spec: Tally;
  /** Since when a header is another one; undefined while none is. */
  gathersSince: number | undefined;
}

/** The rates of one resource, as its reconciliation uses them. */
export interface ResourceRates {
  /** Milliseconds until such a write may be made; 0 where it may be made now. @param wasHeld as of `AnswerRates` */
  waitMs(cause: Cause, wasHeld: boolean): number;
  /** Notes a write that succeeded: a failure has a back-off of its own. */
  answered(cause: Cause): void;
  /** Notes that nothing is to be written any more. */
  settled(): void;
}

/**
 * Counts the answers of one term of the leader; one entry for each name that was answered for. The next leader
 * knows from a resource's own condition that it was held back, and goes on a minute apart.
 */
export class AnswerRates {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #tallies = new Map<string, Tallies>();
  /** Those of names whose resource is gone: one that is made anew under its name goes on with them. */
  readonly #kept = new RecentMap<string, Tallies>(NAMES_KEPT_MAX);

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The rates of the resource of a key of the work queue. */
  of(key: string): ResourceRates {
    return {
      waitMs: (cause, wasHeld) => this.#waitMs(this.#talliesOf(key, wasHeld), cause),
      answered: (cause) => this.#answered(this.#talliesOf(key, false), cause),
      settled: () => {
        const tallies = this.#tallies.get(key);
        if (tallies) tallies.gathersSince = undefined;
      },
    };
  }

  /** The number of names that have a rate. */
  get size(): number {
    return this.#tallies.size + this.#kept.size;
  }

  /** Notes that a resource is gone. What it was answered counts for its name until the rate would have begun anew. */
  forget(key: string): void {
    const tallies = this.#tallies.get(key);
    this.#tallies.delete(key);
    if (!tallies || isOver(tallies, this.#clock.monotonic())) return;
    this.#kept.set(key, { ...tallies, gathersSince: undefined });
  }

  #talliesOf(key: string, wasHeld: boolean): Tallies {
    const known = this.#tallies.get(key);
    if (known) return known;
    const now = this.#clock.monotonic();
    const kept = this.#kept.get(key);
    this.#kept.delete(key);
    const made: Tallies = kept ?? {
      outside: { count: wasHeld ? OUTSIDE.atOnce : 0, at: now },
      spec: { count: 0, at: now },
      gathersSince: undefined,
    };
    this.#tallies.set(key, made);
    return made;
  }

  #waitMs(tallies: Tallies, cause: Cause): number {
    const now = this.#clock.monotonic();
    if (cause === 'spec') {
      const { count, at } = current(tallies.spec, SPEC.forgottenMs, now);
      return count < SPEC.atOnce ? 0 : Math.max(0, at + SPEC.everyMs - now);
    }
    const { count, at } = current(tallies.outside, OUTSIDE.forgottenMs, now);
    const wait = Math.max(0, at + pauseAfter(count) - now);
    if (cause === 'outside') return wait;
    tallies.gathersSince ??= now;
    return Math.max(wait, tallies.gathersSince + GATHER_MS - now);
  }

  #answered(tallies: Tallies, cause: Cause): void {
    const now = this.#clock.monotonic();
    tallies.gathersSince = undefined;
    const [tally, { forgottenMs }] = cause === 'spec' ? [tallies.spec, SPEC] : [tallies.outside, OUTSIDE];
    tally.count = current(tally, forgottenMs, now).count + 1;
    tally.at = now;
  }
}

/** Whether both tallies are none any more. */
const isOver = ({ outside, spec }: Tallies, now: number): boolean =>
  current(outside, OUTSIDE.forgottenMs, now).count + current(spec, SPEC.forgottenMs, now).count === 0;

/** The tally, which is none after a pause of that length. */
const current = (tally: Tally, forgottenMs: number, now: number): Tally =>
  now - tally.at >= forgottenMs ? { count: 0, at: now } : tally;

function pauseAfter(count: number): number {
  if (count < OUTSIDE.atOnce) return 0;
  return count < OUTSIDE.atOnce + OUTSIDE.thenMinutely ? OUTSIDE.minuteMs : OUTSIDE.lastMs;
}
