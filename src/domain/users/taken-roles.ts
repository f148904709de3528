import { expectUnchanged, type Write } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OperatorsRecord, UserRecord } from '../records/user-records.ts';
import { isOwner, type Departure } from './made-keys.ts';
import { hasRoles, rolesTold, sameRoles, type MappedRoles } from './mapped-roles.ts';
import { endings, settled } from './person-endings.ts';
import { tokensWithoutRole } from './made-tokens.ts';
import { operatorRight } from './roles.ts';
import { withRolesAt } from './user-state.ts';

/* The change by which a user has the roles that the provider's groups give, and loses what earlier ones gave (A17). */

/** Whoever becomes an operator by the groups writes the operators as they are; see `userCreation`. */
export const operatorsWritten = (
  { record }: UserEntry,
  mapped: MappedRoles,
  operators: Versioned<OperatorsRecord>,
): readonly Write[] =>
  mapped.operator && record.mapped?.operator !== true ? [put(KEYS.operators(), operators.record)] : [];

/** An answer of the provider, as a user's record takes it over. */
interface Taking {
  readonly mapped: MappedRoles;
  readonly at: number;
  /** The provider has refused the person: every session ends. */
  readonly isRefused?: boolean;
  /** The user has linked an identity, and goes on in a session that begins with it. */
  readonly isOwnDeed?: boolean;
}

/**
 * The change that takes mapped roles over; sessions get other tokens only where the roles differ, and end where no role
 * is left.
 * @throws StoreUnavailable
 */
export async function takingRoles(
  reader: FleetReader,
  user: UserEntry,
  { mapped, at, isRefused = false, isOwnDeed = false }: Taking,
): Promise<Departure<void>> {
  const { id, record } = user;
  const operators = await reader.operators();
  const isSame = sameRoles(record.mapped, mapped);
  const written = operatorsWritten(user, mapped, operators);
  const question = settled(isSame ? record : withRolesAt(record, at, hasRoles(mapped)));
  const after: UserRecord = { ...question.record, mapped };
  const isLeft = !isOwnDeed && hasRoles(record.mapped) && !(await hasRole(reader, { ...user, record: after }));
  return {
    step: {
      accountId: OPERATOR_AUDIT,
      action: 'user.changed',
      detail: {
        userId: id,
        mapped: isRefused ? 'refused' : isSame ? 'renewed' : 'changed',
        ...rolesTold(mapped),
      },
      // Roles that the provider has taken away must go, however full the store is; there is one record a user.
      withdraws: true,
      expect: [user, ...(written.length > 0 ? [operators] : [])].map(expectUnchanged),
      write: [
        put(KEYS.user(id), after),
        ...written,
        ...question.write,
        ...(isRefused || isLeft ? await endings(reader, id) : []),
      ],
      result: undefined,
    },
    ...(await roleLoss(reader, user, after)),
    ...(isRefused && { tokens: [...(await reader.accessTokensOf(id))] }),
  };
}

/** Whether anything gives the user a role, by people or by groups. @throws StoreUnavailable */
async function hasRole(reader: FleetReader, user: UserEntry): Promise<boolean> {
  const { mapped, installationRole } = user.record;
  if (hasRoles(mapped) || installationRole !== undefined || (await operatorRight(reader, user))) return true;
  return Array.from(await reader.accountsOfMember(user.id)).length > 0;
}

/**
 * The keys that a user made by a role of the groups that the record does not have any more: the others are those that a
 * person has kept, or that no answer of the provider concerns. An installation whose settings have lost the rules keeps
 * the keys of all people. @throws StoreUnavailable
 */
export async function roleLoss(
  reader: FleetReader,
  user: UserEntry,
  record: UserRecord,
): Promise<Omit<Departure<unknown>, 'step'>> {
  const after: UserEntry = { ...user, record };
  const [had, has] = [ownedBy(user.record.mapped), ownedBy(record.mapped)];
  const isLost = (accountId: string): boolean => had(accountId) && !has(accountId);
  const mayLose = hasRoles(user.record.mapped) && record.mapped?.unruled !== true;
  const made = mayLose ? [...(await reader.keysMadeBy(user.id))].filter(({ account }) => isLost(account.id)) : [];
  const isOperator = mayLose && (await operatorRight(reader, after)) !== undefined;
  const tokens = mayLose ? await tokensWithoutRole(reader, after, { operator: isOperator }) : [];
  return { user, made, tokens, stays: (account) => isOperator || isOwner(reader, after, account) };
}

/** Tells of an account whether roles give an owner's right on it. */
const ownedBy =
  (mapped: MappedRoles | undefined) =>
  (accountId: string): boolean =>
    mapped?.operator === true ||
    mapped?.accounts.some((one) => one.accountId === accountId && one.role === 'owner') === true;
