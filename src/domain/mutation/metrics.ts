/* The metrics of a mutation: the verbs that it calls, and the closed sets of their labels. */

/** The names of the changes, in the audit and in the metrics. */
export const MUTATION_ACTIONS = [
  'account.created',
  'account.changed',
  'account.adopted',
  'account.released',
  'resource.forgotten',
  'key.created',
  'key.revoked',
  'app.created',
  'app.enrolled',
  'enrollment.refused',
  'app.reported',
  'app.changed',
  'app.adopted',
  'app.released',
  'app.revoked',
  'app.deleted',
  'credential.yielded',
  'credential.shared',
  'code.issued',
  'code.voided',
  'otel.stored',
  'otel.purged',
  'review.decided',
  'backup.begun',
  'usage.exported',
  'audit.exported',
  'key.refused',
  'token.refused',
  'sign-in.refused',
  'user.created',
  'user.changed',
  'user.reset',
  'user.deleted',
  'password.changed',
  'passkey.added',
  'passkey.removed',
  'identity.linked',
  'identity.unlinked',
  'operator.added',
  'operator.removed',
  'member.added',
  'member.changed',
  'member.removed',
  'session.created',
  'session.ended',
  'link.created',
  'link.used',
  'link.withdrawn',
] as const;
export type MutationAction = (typeof MUTATION_ACTIONS)[number];

/** Why a commit is sent again: another commit came first, or the answer was lost. */
export const COMMIT_REPEATS = ['conflict', 'unknown'] as const;
type CommitRepeat = (typeof COMMIT_REPEATS)[number];

/** The verbs by which mutations are counted. */
export interface MutationMetrics {
  mutationCommitted(action: MutationAction): void;
  commitRepeated(why: CommitRepeat): void;
}
