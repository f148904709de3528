import { expectUnchanged, type ChangeParts, type Key } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import type { Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT, userOfActor } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { signInsOf } from '../records/attempt-records.ts';
import { KEYS, userRemoval } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { othersWhoStay } from './last-one.ts';
import { loginRemoval } from './logins.ts';
import { livingOf, mutateEndingKeys, refuseForeign } from './made-keys.ts';
import { endMembership } from './members.ts';
import { identityKey, operatorsAfter, passkeyKey } from './user-state.ts';
import { endings, existingUser, type UserDeps } from './users.ts';

/** Deletes users. */
export interface UserDeletion {
  /**
   * Deletes a user: ends his memberships by invitation, one commit for each so that the audit of the account tells it,
   * and then removes all that is known of him. What he did stays in the audits, by his id and his name. The API keys
   * that he made end, but for those that are kept (A17). Repeated after a failure it goes on.
   * @param keepKeys ids of keys
   * @throws Refusal `not_found`; `conflict` for the last operator, the last owner of an account and for oneself, and
   * where a key is named that the user did not make; `changed_meanwhile` where he became a member meanwhile;
   * StoreUnavailable; Busy
   */
  delete(origin: Origin, userId: string, keepKeys?: readonly string[]): Promise<void>;
}

/** Creates the operation; see `UserDeletion`. */
export function createUserDeletion(deps: UserDeps): UserDeletion {
  return {
    async delete(origin, userId, keepKeys = []) {
      if (userOfActor(origin.actor) === userId) {
        throw new Refusal('conflict', 'Nobody deletes himself: ask another operator to do it.');
      }
      const accountIds = await leavable(deps, userId, keepKeys);
      for (const accountId of accountIds) await endMembership(deps, origin, { accountId, userId }, keepKeys);
      // Which keys are kept has been judged: one that is revoked meanwhile is no reason to stop here.
      await mutateEndingKeys<void>(deps, origin, { ids: keepKeys, isJudged: true }, async (reader) => {
        const step = await removal(deps, reader, userId);
        const user = await existingUser(reader, userId);
        const made = [...(await reader.keysMadeBy(userId))];
        const tokens = [...(await reader.accessTokensOf(userId))];
        return { step, user, made, tokens, stays: () => false };
      });
    },
  };
}

/**
 * The accounts that have the user among their members, once it is known that he may leave each and all that he is.
 * @throws Refusal `not_found`, `conflict`; StoreUnavailable
 */
async function leavable(deps: UserDeps, userId: string, keepKeys: readonly string[]): Promise<readonly string[]> {
  const memory = await deps.fleet.whole();
  await existingUser(memory, userId);
  await othersWhoStay(deps, memory, userId, { operator: true, owned: 'all' });
  refuseForeign(livingOf(memory, [...memory.keysMadeBy(userId)]), keepKeys);
  return Array.from(memory.accountsOfMember(userId), ({ id }) => id);
}

async function removal(deps: UserDeps, reader: FleetReader, userId: string): Promise<Step<void>> {
  const user = await existingUser(reader, userId);
  // Whoever joins an account writes the user's record, with which this commit conflicts.
  for (const { id } of await reader.accountsOfMember(userId)) {
    throw new Refusal('changed_meanwhile', `The user became a member of the account ${id} meanwhile; delete again.`);
  }
  const operators = await reader.operators();
  const isOperator = operators.record.members.includes(userId);
  const staying = await othersWhoStay(deps, reader, userId, { operator: true });
  const all = await recordsOf(deps, user);
  const members = operatorsAfter(operators.record, userId, false);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.deleted',
    detail: { userId },
    expect: [...[user, ...(isOperator ? [operators] : []), ...staying].map(expectUnchanged), ...all.expect],
    write: [
      ...all.write,
      ...(isOperator ? [put(KEYS.operators(), { ...operators.record, members })] : []),
      ...(await endings(reader, userId)),
    ],
    result: undefined,
  };
}

/** Removes all that is known of a user but the sessions. @throws StoreUnavailable; BadRecord */
export async function recordsOf(deps: Pick<UserDeps, 'store'>, user: UserEntry): Promise<ChangeParts> {
  const login = await loginRemoval(deps, user);
  return {
    expect: login.expect,
    write: [...userRemoval(user.id), ...keysOf(user).map((key) => ({ remove: key })), ...login.write],
  };
}

/** The keys that lead to a user, but for that of the name to sign in with, and the failed sign-ins. */
const keysOf = ({ id, record: { identities, passkeys } }: UserEntry): readonly Key[] => [
  ...identities.map(identityKey),
  ...passkeys.map((passkey) => passkeyKey(passkey.id)),
  KEYS.attempted(signInsOf(id)),
];
