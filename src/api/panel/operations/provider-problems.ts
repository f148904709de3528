import type { AttemptReason } from '../../../domain/access-audit/failed-attempts.ts';

/** Why a sign-in failed, as the sign-in page explains it. */
export type Problem =
  | 'provider_unavailable'
  | 'provider_refused'
  | 'expired'
  | 'groups_missing'
  | 'groups_too_many'
  | 'disabled'
  | 'already_linked'
  | 'too_many'
  | 'no_role'
  | 'other_identity'
  | 'proof_missing'
  | 'proof_required'
  | 'second_factor_required';

/** What a problem says of the sign-in, as the audit and the metrics tell of it; undefined where nobody was refused. */
export const REASONS: Readonly<Record<Problem, AttemptReason | undefined>> = {
  provider_unavailable: undefined,
  provider_refused: 'refused',
  expired: 'expired',
  groups_missing: 'refused',
  groups_too_many: 'refused',
  disabled: 'disabled',
  already_linked: 'refused',
  too_many: 'refused',
  no_role: 'refused',
  other_identity: 'refused',
  proof_missing: undefined,
  proof_required: undefined,
  second_factor_required: undefined,
};
