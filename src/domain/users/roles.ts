import { expectUnchanged, type Expectation } from '../../store/port.ts';
import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { MemberRole, UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';

/*
 * The roles of a user: those that people gave (the records of members and operators) and those that the groups of the
 * provider give (the user's own record). They are kept apart and unite here. An operator has an owner's rights on every
 * account, since he can create API keys for it.
 *
 * A right by the groups ends by itself, an hour after the provider was last heard of them: for every session of the
 * user, and also where the loop that renews them is late.
 */

/** A right, with the expectations that a commit adds to rely on it beside the user's record. */
export interface Right {
  readonly expect: readonly Expectation[];
  /** The right is an operator's. */
  readonly isOperator?: boolean;
  /** The role on the account that the request needs one on. */
  readonly role?: MemberRole;
}

/** The mapped roles, where they are of the last hour. */
export function mappedNow(reader: Pick<FleetReader, 'now'>, { record }: UserEntry): UserRecord['mapped'] {
  const { mapped } = record;
  return mapped && reader.now() - mapped.at <= LIMITS.mappedRolesMs ? mapped : undefined;
}

/** Tells whether the user is an operator; undefined where he is not. @throws StoreUnavailable */
export async function operatorRight(reader: FleetReader, user: UserEntry): Promise<Right | undefined> {
  if (mappedNow(reader, user)?.operator === true) return { isOperator: true, expect: [] };
  const operators = await reader.operators();
  return operators.record.members.includes(user.id)
    ? { isOperator: true, expect: [expectUnchanged(operators)] }
    : undefined;
}

/** The user's role on an account. */
interface AccountRight extends Right {
  readonly role: MemberRole;
  /** The right is an operator's, who has it on a disabled account as well. */
  readonly isOperator: boolean;
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
  if (operator) return { role: 'owner', isOperator: true, expect: operator.expect };
  const mapped = mappedNow(reader, user)?.accounts.find((one) => one.accountId === account.id)?.role;
  if (mapped === 'owner') return { role: 'owner', isOperator: false, expect: [] };
  const members = await account.members();
  const given = members.record.members.find(({ userId }) => userId === user.id)?.role;
  const byMembers: AccountRight | undefined = given && {
    role: given,
    isOperator: false,
    expect: [expectUnchanged(members)],
  };
  if (mapped === undefined) return byMembers;
  return byMembers?.role === 'owner' ? byMembers : { role: mapped, isOperator: false, expect: [] };
}

/** The right that a request needs. */
export type Need = 'signed-in' | 'operator' | { readonly accountId: string; readonly role: MemberRole };

/** The right that a request needs, by the access of its operation. */
export function needOf(access: 'signed-in' | 'viewer' | 'owner' | 'operator', accountId: string): Need {
  return access === 'viewer' || access === 'owner' ? { accountId, role: access } : access;
}

/**
 * The right that a request needs. A user without any role on an account is told what a stranger to it is told; the
 * members of a disabled account are told that it is. An operator goes on, since he enables it again.
 * @throws Refusal `forbidden`, `not_found`; StoreUnavailable
 */
export async function neededRight(reader: FleetReader, user: UserEntry, need: Need): Promise<Right> {
  if (need === 'signed-in') return { expect: [] };
  if (need === 'operator') {
    const right = await operatorRight(reader, user);
    if (!right) throw new Refusal('forbidden');
    return right;
  }
  const account = await reader.account(need.accountId);
  const right = account && (await accountRight(reader, user, account));
  if (!right) throw new Refusal('not_found');
  if (!includesRole(right.role, need.role)) throw new Refusal('forbidden', 'An owner of the account may do this.');
  if (right.isOperator) return right;
  if (account.record.disabled)
    throw new Refusal('forbidden', 'The account is disabled; ask the operator of this service.');
  return { role: right.role, expect: [...right.expect, expectUnchanged(account)] };
}
