import type { Room } from '../../store/port.ts';
import type { MutationAction } from './metrics.ts';
import type { Step } from './step.ts';

/** `by content`: vital where the step says that it withdraws something, growth elsewhere. */
type ActionRoom = Room | 'by content';

/**
 * A12: the class of every mutation. On a nearly full store only those are taken that take access away or free space,
 * and each of these can be repeated only after one that is refused: so they cannot fill what is left themselves.
 */
export const ACTION_ROOMS: Readonly<Record<MutationAction, ActionRoom>> = {
  'account.created': 'growth',
  'account.changed': 'by content',
  'account.adopted': 'growth',
  // Each follows a creation or an adoption, and frees the binding.
  'account.released': 'vital',
  'key.created': 'growth',
  'key.revoked': 'vital',
  'app.created': 'growth',
  'app.enrolled': 'growth',
  'credential.yielded': 'growth',
  'credential.shared': 'growth',
  'enrollment.refused': 'growth',
  'app.reported': 'growth',
  'app.changed': 'growth',
  'app.adopted': 'growth',
  // Each follows a create or an adoption, and frees the binding.
  'app.released': 'vital',
  'resource.forgotten': 'upkeep',
  'app.revoked': 'vital',
  'app.deleted': 'vital',
  'code.issued': 'growth',
  'code.voided': 'vital',
  'otel.stored': 'by content',
  'otel.purged': 'vital',
  'review.decided': 'growth',
  // A read of the operator's, and a reason for one.
  'backup.begun': 'upkeep',
  'usage.exported': 'upkeep',
  'audit.exported': 'upkeep',
  // Of failed secrets: whoever tries them must not fill the store.
  'key.refused': 'growth',
  'token.refused': 'growth',
  'sign-in.refused': 'growth',
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
  'member.added': 'growth',
  'member.changed': 'by content',
  'member.removed': 'vital',
  // Somebody must be able to sign in where the store is nearly full: by the panel he revokes and deletes.
  'session.created': 'upkeep',
  'session.ended': 'vital',
  'link.created': 'growth',
  'link.used': 'growth',
  'link.withdrawn': 'vital',
};

/** The class of a mutation's step. */
export function roomOfStep({ action, withdraws }: Pick<Step<unknown>, 'action' | 'withdraws'>): Room {
  const room = ACTION_ROOMS[action];
  if (room !== 'by content') return room;
  return withdraws === true ? 'vital' : 'growth';
}
