import type { Sections } from '../../metrics/instruments/sections.ts';
import { MUTATION_ACTIONS } from './actions.ts';

/* The metrics of a mutation: the verbs that it calls, and the closed sets of their labels. */

/** Why a commit is sent again: another commit came first, or the answer was lost. */
const COMMIT_REPEATS = ['conflict', 'unknown'] as const;

/** The verbs by which mutations are counted. */
export const mutationMetrics = ({ fleet, store }: Sections) => ({
  mutationCommitted: fleet.counterOf({
    name: 'muster_mutations_total',
    help: 'Changes committed, by action.',
    labels: { action: MUTATION_ACTIONS },
    unit: 'changes',
  }),
  commitRepeated: store.counterOf({
    name: 'muster_commits_repeated_total',
    help: 'Commits sent again after a conflict or a lost answer.',
    labels: { why: COMMIT_REPEATS },
    unit: 'commits',
  }),
});
export type MutationMetrics = ReturnType<typeof mutationMetrics>;
