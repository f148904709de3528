import type { MutationAction } from './actions.ts';

/* The metrics of a mutation: the verbs that it calls, and the closed sets of their labels. */

/** Why a commit is sent again: another commit came first, or the answer was lost. */
export const COMMIT_REPEATS = ['conflict', 'unknown'] as const;
type CommitRepeat = (typeof COMMIT_REPEATS)[number];

/** The verbs by which mutations are counted. */
export interface MutationMetrics {
  mutationCommitted(action: MutationAction): void;
  commitRepeated(why: CommitRepeat): void;
}
