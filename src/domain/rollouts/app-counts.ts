import { isSilent, type RolloutFacts } from './rollout.ts';

/** The apps of an account by status, and how many of the active ones are silent. */
export interface AppCounts {
  readonly total: number;
  readonly pending: number;
  readonly active: number;
  readonly revoked: number;
  readonly silent: number;
}

/** Counts the apps of an account. */
export function countApps(facts: Pick<RolloutFacts, 'apps' | 'seen' | 'now' | 'staleAfterMs'>): AppCounts {
  const counts = { total: facts.apps.length, pending: 0, active: 0, revoked: 0, silent: 0 };
  for (const app of facts.apps) {
    counts[app.status] += 1;
    if (app.status === 'active' && isSilent(app, facts)) counts.silent += 1;
  }
  return counts;
}
