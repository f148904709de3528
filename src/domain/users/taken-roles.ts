import { expectUnchanged, type Write } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import type { Step, Unchanged } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Identity, OperatorsRecord, UserRecord } from '../records/user-records.ts';
import { isOwner, type Departure } from './made-keys.ts';
import { tokensWithoutRole } from './made-tokens.ts';
import { hasRoles, isRefused, rolesTold, sameRoles, type MappedRoles } from './mapped-roles.ts';
import { operatorRight } from './roles.ts';
import { hasIdentity, withoutRefusal, withRolesAt } from './user-state.ts';
import { endings } from './users.ts';

/*
 * The changes by which a user has the roles that the provider's groups give, loses what earlier ones gave (A17), or is
 * refused (docs/adr/0081-offboarding.md).
 */

/** Tells whether an answer of the provider says what the record has. */
export const isKnown = ({ record }: UserEntry, mapped: MappedRoles): boolean =>
  !isRefused(record) && sameRoles(record.mapped, mapped);

/** The record with an answer of the provider, which lets the user in again; one that is known says nothing new. */
export const withAnswer = (record: UserRecord, mapped: MappedRoles): UserRecord =>
  mapped === record.mapped ? record : { ...withoutRefusal(record), mapped };

/** The operators as they are, which a user who becomes one by the groups writes, too; see `userCreation`. */
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
  { mapped, at, isOwnDeed = false }: Taking,
): Promise<Departure<void>> {
  const { id, record } = user;
  const operators = await reader.operators();
  const isSame = isKnown(user, mapped);
  const written = operatorsWritten(user, mapped, operators);
  const changed = isSame ? record : withRolesAt(record, at, hasRoles(mapped));
  const after: UserEntry = { ...user, record: withAnswer(changed, mapped) };
  const isLeft = !isOwnDeed && hasRoles(record.mapped) && !(await hasRole(reader, after));
  return {
    step: {
      accountId: OPERATOR_AUDIT,
      action: 'user.changed',
      detail: { userId: id, mapped: isSame ? 'renewed' : 'changed', ...rolesTold(mapped) },
      // Roles that the provider has taken away must go, however full the store is; there is one record a user.
      withdraws: true,
      expect: [user, ...(written.length > 0 ? [operators] : [])].map(expectUnchanged),
      write: [put(KEYS.user(id), after.record), ...written, ...(isLeft ? await endings(reader, id) : [])],
      result: undefined,
    },
    ...(await roleLoss(reader, user, after)),
  };
}

/** Tells whether anything gives the user a role, by people or by groups. @throws StoreUnavailable */
async function hasRole(reader: FleetReader, user: UserEntry): Promise<boolean> {
  const { mapped, installationRole } = user.record;
  if (hasRoles(mapped) || installationRole !== undefined || (await operatorRight(reader, user))) return true;
  return Array.from(await reader.accountsOfMember(user.id)).length > 0;
}

/**
 * The keys that a user made by a role that the groups do not give any more: the others are those that a person has
 * kept, or that no answer of the provider concerns. Settings without a rule end no key. @throws StoreUnavailable
 */
async function roleLoss(
  reader: FleetReader,
  user: UserEntry,
  after: UserEntry,
): Promise<Omit<Departure<unknown>, 'step'>> {
  const [had, has] = [ownedBy(user.record.mapped), ownedBy(after.record.mapped)];
  const isLost = (accountId: string): boolean => had(accountId) && !has(accountId);
  const mayLose = hasRoles(user.record.mapped) && after.record.mapped?.unruled !== true;
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

/** A refusal of the provider to renew anything for a user. */
export interface ProviderRefusal {
  readonly identity: Identity;
  /** The roles that were known when the provider was asked: later ones are of an answer that the refusal ignores. */
  readonly known: UserRecord['mapped'];
  /** The store's revision before the provider was asked. */
  readonly asked: number;
}

/**
 * The change by which the provider refuses a user: what acts as the person ends. API keys stay, since a provider that
 * was restored, or a token that was given once, refuses people who have not left. The roles stay in the record, without
 * effect: the next answer is judged by them.
 * @throws StoreUnavailable
 */
export async function refusal(
  reader: FleetReader,
  userId: string,
  { identity, known, asked }: ProviderRefusal,
  at: number,
): Promise<Departure<void> | Unchanged<void>> {
  const user = await reader.user(userId);
  if (!user || user.record.disabled || !hasIdentity(user.record, identity)) return { unchanged: undefined };
  const { mapped } = user.record;
  if (mapped?.at !== known?.at || mapped?.asked !== known?.asked) return { unchanged: undefined };
  const after: UserRecord = {
    ...withRolesAt(user.record, at, false),
    ...(mapped && { mapped: { ...mapped, asked } }),
    ...(!isRefused(user.record) && { providerRefusedAt: at }),
  };
  const step: Step<void> = {
    accountId: OPERATOR_AUDIT,
    action: 'user.changed',
    detail: { userId, mapped: 'refused' },
    withdraws: true,
    expect: [expectUnchanged(user)],
    write: [put(KEYS.user(userId), after), ...(await endings(reader, userId))],
    result: undefined,
  };
  return { step, user, made: [], tokens: [...(await reader.accessTokensOf(userId))], stays: () => true };
}
