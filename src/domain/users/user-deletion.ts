import { expectUnchanged } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { signInsOf } from '../records/attempt-records.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { endMembership, ownerAmong } from './members.ts';
import { loginRemoval } from './logins.ts';
import { identityKey, operatorsAfter, passkeyKey } from './user-state.ts';
import { endings, existingUser, operatorAmong, type UserDeps } from './users.ts';

/** Deletes users. */
export interface UserDeletion {
  /**
   * Deletes a user: ends his memberships by invitation, one commit for each so that the audit of the account tells it, and
   * then removes all that is known of him. What he did stays in the audits, by his id. Repeated after a failure it goes on.
   * @throws Refusal `not_found`; `conflict` for the last operator, the last owner of an account and for oneself;
   * `changed_meanwhile` where he became a member meanwhile; StoreUnavailable; Busy
   */
  delete(origin: Origin, userId: string): Promise<void>;
}

/** Creates the operation; see `UserDeletion`. */
export function createUserDeletion(deps: UserDeps): UserDeletion {
  return {
    async delete(origin, userId) {
      if (origin.actor === `user:${userId}`) {
        throw new Refusal('conflict', 'Nobody deletes himself: ask another operator to do it.');
      }
      const accountIds = await leavable(deps, userId);
      for (const accountId of accountIds) await endMembership(deps, origin, accountId, userId);
      await mutate<void>(deps, origin, (reader) => removal(deps, reader, userId));
    },
  };
}

/**
 * The accounts that have the user among their members, once it is known that he may leave each and all that he is.
 * @throws Refusal `not_found`, `conflict`; StoreUnavailable
 */
async function leavable(deps: UserDeps, userId: string): Promise<readonly string[]> {
  const memory = await deps.fleet.whole();
  await existingUser(memory, userId);
  const operators = memory.operators().record;
  if (operators.members.includes(userId)) await operatorAmong(deps, memory, operators, userId);
  const accounts = [...memory.accountsOfMember(userId)];
  for (const account of accounts) {
    const { members } = account.members().record;
    if (members.some((one) => one.userId === userId && one.role === 'owner')) {
      const others = members.filter((one) => one.userId !== userId);
      await ownerAmong(deps, memory, account.id, others);
    }
  }
  return accounts.map(({ id }) => id);
}

async function removal(deps: UserDeps, reader: FleetReader, userId: string): Promise<Step<void>> {
  const user = await existingUser(reader, userId);
  // Whoever joins an account writes the user's record, with which this commit conflicts.
  for (const { id } of await reader.accountsOfMember(userId)) {
    throw new Refusal('changed_meanwhile', `The user became a member of the account ${id} meanwhile; delete again.`);
  }
  const operators = await reader.operators();
  const isOperator = operators.record.members.includes(userId);
  const other = isOperator ? await operatorAmong(deps, reader, operators.record, userId) : undefined;
  const login = await loginRemoval(deps, user);
  const members = operatorsAfter(operators.record, userId, false);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.deleted',
    detail: { userId },
    // The deletion is good only while the other operator can sign in.
    expect: [...[user, ...(other ? [operators, other] : [])].map(expectUnchanged), ...login.expect],
    write: [
      ...keysOf(user).map((key) => ({ remove: key })),
      ...login.write,
      ...(isOperator ? [put(KEYS.operators, { ...operators.record, members })] : []),
      ...(await endings(reader, userId)),
    ],
    result: undefined,
  };
}

/** The keys of all that is known of a user but his sessions and the record of his name to sign in with. */
const keysOf = ({ id, record: { identities, passkeys } }: UserEntry): readonly string[] => [
  KEYS.user(id),
  ...identities.map(identityKey),
  ...passkeys.map((passkey) => passkeyKey(passkey.id)),
  KEYS.signIns(id),
  KEYS.sessionUses(id),
  KEYS.attempted(signInsOf(id)),
];
