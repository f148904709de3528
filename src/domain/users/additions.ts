import { LIMITS } from '../limits.ts';
import type { Origin } from '../mutation/step.ts';
import type { Addition, UserRecord } from '../records/user-records.ts';

/** The user's record with one more addition, which the user is shown. The oldest go beyond the bound. */
export function withAddition(
  record: UserRecord,
  { at, client = '' }: Pick<Origin, 'at' | 'client'>,
  { kind, name }: Pick<Addition, 'kind' | 'name'>,
): UserRecord {
  const additions = [...(record.additions ?? []), { kind, at, name, client }].slice(-LIMITS.additionsKeptMax);
  return { ...record, additions };
}
