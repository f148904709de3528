import { LIMITS } from '../limits.ts';

/*
 * The arithmetic by which attempts to sign in are slowed down, without a store or a clock (docs/adr/0054). An attempt
 * counts as a failure from before its password is compared until the password has proved to be right.
 */

/** Attempts that were compared and not taken back, of a name or of a network at a name. */
export interface Failures {
  /** As it was at `at`; by the half-life it decays from there. */
  readonly count: number;
  /** When the last of them was compared, in milliseconds since 1970. */
  readonly at: number;
}
export const NO_FAILURES: Failures = { count: 0, at: 0 };

/** The clocks of two replicas may be so far apart. What lies further ahead was written by a clock that was wrong. */
const CLOCKS_APART_MS = 10_000;

/** The failures that are left. */
export const failuresAt = ({ count, at }: Failures, now: number): number =>
  count * 2 ** (-Math.max(0, now - at) / LIMITS.signInFailuresHalfLifeMs);

/** Whether so few have failed that each attempt is compared at once. */
const isOpen = (failures: Failures, now: number): boolean => failuresAt(failures, now) <= LIMITS.slowFromFailures - 1;

/** These failures and one more. */
export const withFailure = (failures: Failures, now: number): Failures => ({
  count: Math.min(FAILURES_MAX, failuresAt(failures, now) + 1),
  at: isAhead(failures, now) ? now : Math.max(failures.at, now),
});

/** These failures without one that proved to be none. Its turn stays used. */
export const withoutFailure = ({ count, at }: Failures): Failures => ({ count: Math.max(0, count - 1), at });

/** The most that a record can hold (`name-records.ts`); steady guessing stays below it. */
export const FAILURES_MAX = 255;

const isAhead = ({ at }: Failures, now: number): boolean => at - now > CLOCKS_APART_MS;

/** Milliseconds until the next turn of a name that is slowed down: one attempt is compared in each. */
const turnIn = (failures: Failures, now: number, afterMs: number): number =>
  isAhead(failures, now) ? 0 : Math.max(0, failures.at + LIMITS.signInTurnMs + afterMs - now);

/** From so many failures on, each further one of a network doubles its wait. */
function networkWait(failures: Failures, now: number): number {
  const count = failuresAt(failures, now);
  if (count <= LIMITS.slowFromFailures - 1 || isAhead(failures, now)) return 0;
  const doubled = Math.min(20, Math.ceil(count) - LIMITS.slowFromFailures);
  const delayMs = Math.min(LIMITS.signInDelayMsMax, LIMITS.signInTurnMs * 2 ** doubled);
  return Math.max(0, failures.at + delayMs - now);
}

/** The half-life has made so little of one failure that it counts no more. */
const FORGOTTEN = 0.5;

/**
 * Whether an attempt was told to wait, and comes back as it was told: as its browser shows by a ticket, or, of a
 * browser that keeps no cookies, its network.
 */
export type Waited = 'by ticket' | 'by network' | 'no';

/** The facts of an attempt when it comes. */
interface Situation {
  /** The failures at its name, from wherever. */
  readonly name: Failures;
  /** The failures from its own network at this name. */
  readonly network: Failures;
  /** The failures from the widest network around it. */
  readonly site: Failures;
  readonly waited: Waited;
}

/**
 * The milliseconds that an attempt must wait; 0 where it may be compared now. At a name that is slowed down nobody is
 * compared who has not waited as told: so whoever tries without pause takes no turn from a person who does. The first
 * seconds of a turn are for those with a ticket around whose network nobody has failed at the name.
 */
export function waitOf({ name, network, site, waited }: Situation, now: number): number {
  if (isOpen(name, now)) return 0;
  const goesFirst = waited !== 'by network' && failuresAt(site, now) < FORGOTTEN;
  const waitMs = Math.max(turnIn(name, now, goesFirst ? 0 : LIMITS.signInTurnFirstMs), networkWait(network, now));
  return waitMs === 0 && waited !== 'no' ? 0 : Math.max(waitMs, LIMITS.signInWaitMsMin);
}
