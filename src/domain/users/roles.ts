import { expectUnchanged, type Expectation } from '../../store/port.ts';
import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { BeyondRole } from '../access-audit/role-refusals.ts';
import { rolesOf } from './mapped-roles.ts';
import {
  RESTRICTED_ROLES,
  type InstallationRole,
  type MemberRole,
  type RestrictedRole,
  type UserRecord,
} from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';

/*
 * The roles of a user: those that people gave (the records of members and operators) and those that the groups of the
 * provider give (the user's own record). They are kept apart and unite here. An operator has an owner's rights on every
 * account, since he can create API keys for it. `support` and `auditor` have rights on every account, too, where an
 * operation is open to them.
 *
 * A right by the groups ends by itself, an hour after the provider was last heard of them: for every session of the
 * user, and also where the loop that renews them is late. It ends at once where the provider refuses the user.
 */

/** A right, with the expectations that a commit adds to rely on it beside the user's record. */
export interface Right {
  readonly expect: readonly Expectation[];
  /** The role on the installation that gives the right; absent where a role on the account does. */
  readonly installationRole?: InstallationRole;
  /** The role on the account that the request needs one on. */
  readonly role?: MemberRole;
}

/** The mapped roles, where they are of the last hour, and the provider has not refused the user since. */
export function mappedNow(reader: Pick<FleetReader, 'now'>, { record }: UserEntry): UserRecord['mapped'] {
  const mapped = rolesOf(record);
  return mapped && reader.now() - mapped.at <= LIMITS.mappedRolesMs ? mapped : undefined;
}

/**
 * The record of a user of whom somebody has kept API keys by name. Roles of groups that were no right at that time are
 * dropped: a later answer of the provider would take them, and end what was kept (A17).
 * @param concerned `isShut`: the user is disabled, and whatever the groups gave is no right; `accountId`: nobody has
 * decided on the keys of other accounts, whose roles stay
 */
export function withoutLapsed(
  reader: Pick<FleetReader, 'now'>,
  user: UserEntry,
  { isShut = false, accountId }: { readonly isShut?: boolean; readonly accountId?: string } = {},
): UserRecord {
  const { record } = user;
  if (!record.mapped || (mappedNow(reader, user) && !isShut)) return record;
  const { at, asked, accounts: lapsed } = record.mapped;
  const accounts = accountId === undefined ? [] : lapsed.filter((one) => one.accountId !== accountId);
  return { ...record, mapped: { operator: false, accounts, at, ...(asked !== undefined && { asked }) } };
}

/** A right by a role on the installation. */
interface InstallationRight extends Right {
  readonly installationRole: InstallationRole;
}

/** Tells whether the user is an operator; undefined where he is not. @throws StoreUnavailable */
export async function operatorRight(reader: FleetReader, user: UserEntry): Promise<InstallationRight | undefined> {
  const installationRole = 'operator';
  if (mappedNow(reader, user)?.operator === true) return { installationRole, expect: [] };
  const operators = await reader.operators();
  return operators.record.members.includes(user.id)
    ? { installationRole, expect: [expectUnchanged(operators)] }
    : undefined;
}

/**
 * The greatest role that the user has on the installation, by people or by groups; undefined where there is none. The
 * restricted ones stand in the user's own record, which every change by the user expects.
 * @throws StoreUnavailable
 */
export async function installationRight(reader: FleetReader, user: UserEntry): Promise<InstallationRight | undefined> {
  const operator = await operatorRight(reader, user);
  if (operator) return operator;
  const roles = new Set([user.record.installationRole, mappedNow(reader, user)?.installationRole]);
  const installationRole = RESTRICTED_ROLES.find((role) => roles.has(role));
  return installationRole && { installationRole, expect: [] };
}

/** The user's role on an account. */
interface AccountRight extends Right {
  readonly role: MemberRole;
}

const RANK: Readonly<Record<MemberRole, number>> = { viewer: 1, owner: 2 };

/** Whether a role may do what another one may. */
export const includesRole = (role: MemberRole, needed: MemberRole): boolean => RANK[role] >= RANK[needed];

/** The greatest role that the user has on an account; undefined where he has none. @throws StoreUnavailable */
export async function accountRight(
  reader: FleetReader,
  user: UserEntry,
  account: AccountReader,
): Promise<AccountRight | undefined> {
  const operator = await operatorRight(reader, user);
  if (operator) return { ...operator, role: 'owner' };
  return await memberRight(reader, user, account);
}

/** The same of a user who is no operator. */
async function memberRight(
  reader: FleetReader,
  user: UserEntry,
  account: AccountReader,
): Promise<AccountRight | undefined> {
  const mapped = mappedNow(reader, user)?.accounts.find((one) => one.accountId === account.id)?.role;
  if (mapped === 'owner') return { role: 'owner', expect: [] };
  const members = await account.members();
  const given = members.record.members.find(({ userId }) => userId === user.id)?.role;
  const byMembers: AccountRight | undefined = given && { role: given, expect: [expectUnchanged(members)] };
  if (mapped === undefined) return byMembers;
  return byMembers?.role === 'owner' ? byMembers : { role: mapped, expect: [] };
}

/** The right that a request needs. */
export type Need = 'signed-in' | RoleNeed;

interface RoleNeed {
  /** The role that is enough: that of an operator, or one on the account. */
  readonly role: 'operator' | MemberRole;
  /** `''` where the request concerns no account. */
  readonly accountId: string;
  /** The restricted roles on the installation that are enough, too. */
  readonly open: readonly RestrictedRole[];
}

/**
 * The right that a request needs, by the access of its operation.
 * @param open the restricted roles on the installation that may do what is asked
 */
export function needOf(
  access: 'signed-in' | 'viewer' | 'owner' | 'operator',
  accountId: string,
  open: readonly RestrictedRole[],
): Need {
  return access === 'signed-in' ? access : { role: access, accountId, open };
}

/**
 * The right that a request needs. A user without any role on an account is told what a stranger to it is told; the
 * members of a disabled account are told that it is. Whoever has a role on the installation goes on: an operator
 * enables it again. A role on the account comes before a restricted one on the installation, so that both add up.
 * @throws BeyondRole; Refusal `forbidden`, `not_found`; StoreUnavailable
 */
export async function neededRight(reader: FleetReader, user: UserEntry, need: Need): Promise<Right> {
  if (need === 'signed-in') return { expect: [] };
  const { role, accountId, open } = need;
  const installation = await installationRight(reader, user);
  const byInstallation = installation && isOpen(installation, open) ? installation : undefined;
  if (role === 'operator') {
    if (byInstallation) return byInstallation;
    throw new BeyondRole(installation?.installationRole);
  }
  const account = await reader.account(accountId);
  if (byInstallation?.installationRole === 'operator') {
    if (!account) throw new Refusal('not_found');
    return { ...byInstallation, role: 'owner' };
  }
  const right = account && (await memberRight(reader, user, account));
  const isEnough = right !== undefined && includesRole(right.role, role);
  if (account && isEnough && !account.record.disabled) {
    return { ...right, expect: [...right.expect, expectUnchanged(account)] };
  }
  if (byInstallation && account) return byInstallation;
  // The answer to a role that may not do it is the same, whether the account is there or not.
  if (!right && installation && !byInstallation) throw new BeyondRole(installation.installationRole);
  if (!right) throw new Refusal('not_found');
  if (!isEnough) throw new BeyondRole(right.role, 'An owner of the account may do this.');
  throw new Refusal('forbidden', 'The account is disabled; ask the operator of this service.');
}

/** Tells whether a role on the installation is enough where these restricted ones are. */
export const isOpen = (
  { installationRole }: Pick<InstallationRight, 'installationRole'>,
  open: readonly RestrictedRole[],
): boolean => installationRole === 'operator' || open.includes(installationRole);
