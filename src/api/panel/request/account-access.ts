import type { FleetReader, UserEntry } from '../../../domain/fleet/reader.ts';
import { Refusal } from '../../../domain/refusal.ts';
import { neededRight, operatorRight, type Need } from '../../../domain/users/roles.ts';

/**
 * Refuses a user who has not the right that is needed. The members of a disabled account are told that it is; an
 * operator goes on, since he enables it again.
 * @throws Refusal `forbidden`, `not_found`; StoreUnavailable
 */
export async function refuseWithoutRight(reader: FleetReader, user: UserEntry, need: Need): Promise<void> {
  await neededRight(reader, user, need);
  if (typeof need === 'string') return;
  const account = await reader.account(need.accountId);
  if (account?.record.disabled !== true || (await operatorRight(reader, user))) return;
  throw new Refusal('forbidden', 'The account is disabled; ask the operator of this service.');
}
