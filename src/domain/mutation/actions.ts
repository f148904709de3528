import type { WriteClass } from '../../store/port.ts';

/** `by content`: vital where the step says that it withdraws something, growth elsewhere. */
type ActionClass = WriteClass | 'by content';

/**
 * The names of the changes, in the audit and in the metrics, each with its class (A12). On a nearly full store only
 * those are taken that take access away or free space, and each of these can be repeated only after one that is
 * refused: so they cannot fill what is left themselves.
 */
const ACTIONS = {
  'account.created': 'growth',
  'account.changed': 'by content',
  'account.adopted': 'growth',
  // Each follows a creation or an adoption, and frees the binding.
  'account.released': 'vital',
  'resource.forgotten': 'upkeep',
  // It moves a binding, once for each consent.
  'resource.recovered': 'upkeep',
  'resource.recovery-allowed': 'growth',
  'key.created': 'growth',
  'key.rotated': 'growth',
  'key.changed': 'by content',
  'key.revoked': 'vital',
  'app.created': 'growth',
  'app.enrolled': 'growth',
  'enrollment.refused': 'growth',
  'app.reported': 'growth',
  'app.changed': 'growth',
  'app.adopted': 'growth',
  // Each follows a create or an adoption, and frees the binding.
  'app.released': 'vital',
  'app.revoked': 'vital',
  'app.deleted': 'vital',
  'credential.yielded': 'growth',
  'credential.shared': 'growth',
  'code.issued': 'growth',
  'code.voided': 'vital',
  'otel.stored': 'by content',
  'otel.purged': 'vital',
  'otel.tested': 'growth',
  'review.decided': 'growth',
  'detection.critical': 'growth',
  // Each is a read by the operator, and a full store is a reason for one.
  'backup.begun': 'upkeep',
  'usage.exported': 'upkeep',
  'audit.exported': 'upkeep',
  // Each tells of failed secrets: whoever tries them must not fill the store.
  'key.refused': 'growth',
  'token.refused': 'growth',
  'sign-in.refused': 'growth',
  'role.refused': 'growth',
  // So does each of what an account meets at a limit.
  'limit.reached': 'growth',
  'rate.limited': 'growth',
  // The leader tells what became so by itself (domain/transitions).
  'app.silent': 'growth',
  'app.back': 'growth',
  'code.expiring': 'growth',
  'key.expiring': 'growth',
  'key.expired': 'growth',
  'rollout.completed': 'growth',
  'rollout.failed': 'growth',
  'rollout.stuck': 'growth',
  'quota.near': 'growth',
  // It is in the commit of the ledger, once for an account and night, and goes on as long as nights are metered.
  'night.metered': 'upkeep',
  'user.created': 'growth',
  // Disabling a user takes access away.
  'user.changed': 'by content',
  'user.reset': 'vital',
  'user.deleted': 'vital',
  // Every other session ends with it.
  'password.changed': 'vital',
  'passkey.added': 'growth',
  'passkey.removed': 'vital',
  'identity.linked': 'growth',
  'identity.unlinked': 'vital',
  'operator.added': 'growth',
  'operator.removed': 'vital',
  // Support and auditor, which one of them takes the place of the other, too.
  'role.given': 'growth',
  'role.taken': 'vital',
  'member.added': 'growth',
  'member.changed': 'by content',
  'member.removed': 'vital',
  // A user must be able to sign in where the store is nearly full, to revoke and delete by the panel.
  'session.created': 'upkeep',
  'session.ended': 'vital',
  'access-token.created': 'growth',
  'access-token.revoked': 'vital',
  'link.created': 'growth',
  'link.used': 'growth',
  'link.withdrawn': 'vital',
} as const satisfies Readonly<Record<string, ActionClass>>;

export type MutationAction = keyof typeof ACTIONS;

export const ACTION_CLASSES: Readonly<Record<MutationAction, ActionClass>> = ACTIONS;

/** The names alone, for the labels of the metrics. */
export const MUTATION_ACTIONS = Object.keys(ACTIONS) as readonly MutationAction[];

/** The class of a mutation's step. */
export function writeClassOf(step: { readonly action: MutationAction; readonly withdraws?: boolean }): WriteClass {
  const writeClass = ACTION_CLASSES[step.action];
  if (writeClass !== 'by content') return writeClass;
  return step.withdraws === true ? 'vital' : 'growth';
}
