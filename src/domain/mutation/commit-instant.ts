import type { Fleet } from '../fleet/fleet.ts';
import type { MutationDeps } from './step.ts';

/*
 * The instant of an entry of the audit is taken when its commit is sent, anew for each attempt, and is later than those of
 * all entries that its plan can have read: replicas' clocks differ, so each commit tells `head` its instant, and memory
 * keeps the newest (store/head-value.ts). It is a hybrid logical clock (Kulkarni et al., 2014).
 */

/**
 * Instants run ahead of this clock by so much at most, one millisecond a commit; beyond it, an instant may be equal to that
 * of an entry before. The lists follow the store's order all the same.
 */
const AHEAD_MS_MAX = 1000;

/** The clock of this replica, and what it knows of the instants of others. */
export interface InstantDeps extends Pick<MutationDeps, 'clock'> {
  readonly fleet: Pick<Fleet, 'newestInstant'>;
}

/** The instant of a commit that is about to be sent, in milliseconds since 1970. */
export function commitInstant({ clock, fleet }: InstantDeps): number {
  const now = clock.now();
  const before = fleet.newestInstant();
  return before < now ? now : Math.max(before, Math.min(before + 1, now + AHEAD_MS_MAX));
}
