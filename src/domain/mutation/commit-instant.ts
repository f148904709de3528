import type { Fleet } from '../fleet/fleet.ts';
import type { MutationDeps } from './step.ts';

/*
 * The instant of an entry of the audit is taken when its commit is sent, anew for each attempt, and is never before
 * those of the entries that its plan can have read: replicas' clocks differ, so each commit tells `head` its instant,
 * and memory keeps the newest (store/head-value.ts). It is a hybrid logical clock (Kulkarni et al., 2014). Entries of
 * one millisecond may have one instant; the lists follow the store's order all the same.
 */

/**
 * Instants go on a millisecond a commit where this clock is behind that of another replica, and run ahead of it by so
 * much at most: beyond it they are equal.
 */
const AHEAD_MS_MAX = 5000;

/** The clock of this replica, and what it knows of the instants of others. */
export interface InstantDeps extends Pick<MutationDeps, 'clock'> {
  readonly fleet: Pick<Fleet, 'newestInstant'>;
}

/** The instants of the entries of one commit. */
interface CommitInstants {
  /** The newest one, in milliseconds since 1970. */
  readonly newest: number;
  /**
   * The instant of an entry. Where nothing was committed since the instant that counts for metering (M1), it is that
   * one: the audit then has one instant, and not two that are some milliseconds apart.
   */
  of(countsAt: number | undefined): number;
}

/** The instants of a commit that is about to be sent. */
export function commitInstants({ clock, fleet }: InstantDeps): CommitInstants {
  const [now, before] = [clock.now(), fleet.newestInstant()];
  const newest = before <= now ? now : Math.max(before, Math.min(before + 1, now + AHEAD_MS_MAX));
  return {
    newest,
    of: (countsAt = newest) => (countsAt >= before && countsAt <= newest ? countsAt : newest),
  };
}
