import { expectUnchanged, type Write } from '../../store/port.ts';
import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { MemberRole, MembersRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { whoCanSignIn } from './user-state.ts';
import type { UserDeps } from './users.ts';

/** A member of an account, by invitation or by the provider's groups. */
export interface Member {
  readonly userId: string;
  readonly name: string;
  readonly login: string;
  readonly disabled: boolean;
  /** The greater one of both. */
  readonly role: MemberRole;
  /** The role that somebody gave; undefined where the groups alone give one. */
  readonly given: MemberRole | undefined;
  /** The role that the provider's groups give. */
  readonly mapped: MemberRole | undefined;
  /** When the given role was given, in milliseconds since 1970. */
  readonly since: number | undefined;
}

/** The operations on the members of an account. */
export interface Members {
  /** Lists the members, owners first. @throws Refusal `not_found`; StoreUnavailable */
  list(accountId: string): Promise<readonly Member[]>;
  /**
   * Gives a member another role.
   * @throws Refusal `not_found` for who is no member by invitation, `conflict` for the last owner;
   * StoreUnavailable; Busy
   */
  setRole(origin: Origin, accountId: string, userId: string, role: MemberRole): Promise<void>;
  /** Ends a membership by invitation. @throws as `setRole` */
  remove(origin: Origin, accountId: string, userId: string): Promise<void>;
}

/** Creates the operations on members; see `Members`. */
export function createMembers(deps: UserDeps): Members {
  return {
    list: (accountId) => list(deps, accountId),
    setRole: (origin, accountId, userId, role) => change(deps, origin, accountId, userId, role),
    remove: (origin, accountId, userId) => change(deps, origin, accountId, userId, undefined),
  };
}

/** Ends a membership by invitation; where it has ended already, all stays as it is. @throws as `Members.setRole` */
export const endMembership = (deps: UserDeps, origin: Origin, accountId: string, userId: string): Promise<void> =>
  change(deps, origin, accountId, userId, undefined, 'unchanged');

async function list({ fleet }: MutationDeps, accountId: string): Promise<readonly Member[]> {
  const memory = await fleet.whole();
  const account = memory.account(accountId);
  if (!account) throw new Refusal('not_found');
  const given = new Map(account.members().record.members.map((member) => [member.userId, member]));
  const members: Member[] = [];
  for (const { id, record } of memory.users()) {
    const own = given.get(id);
    const mapped = record.mapped?.accounts.find((one) => one.accountId === accountId)?.role;
    const role = own?.role === 'owner' || mapped === 'owner' ? 'owner' : (own?.role ?? mapped);
    if (!role) continue;
    const { name, login, disabled } = record;
    members.push({ userId: id, name, login, disabled, role, given: own?.role, mapped, since: own?.since });
  }
  return members.sort((a, b) => (a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'owner' ? -1 : 1));
}

async function change(
  deps: UserDeps,
  origin: Origin,
  accountId: string,
  userId: string,
  role: MemberRole | undefined,
  whereNone: 'refused' | 'unchanged' = 'refused',
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    const account = await reader.account(accountId);
    const user = await reader.user(userId);
    if (!account || !user) throw new Refusal('not_found');
    const before = await account.members();
    const member = before.record.members.find((one) => one.userId === userId);
    if (!member && whereNone === 'unchanged') return { unchanged: undefined };
    if (!member) throw new Refusal('not_found', 'This user is no member of the account by invitation.');
    if (member.role === role) return { unchanged: undefined };
    const others = before.record.members.filter((one) => one.userId !== userId);
    const owner = member.role === 'owner' ? await ownerAmong(deps, reader, accountId, others) : undefined;
    const members = role === undefined ? others : [...others, { ...member, role, since: origin.at }];
    const { expect, write } = membersChange(account, before, { ...before.record, members }, user, origin.at);
    return {
      accountId,
      action: role === undefined ? 'member.removed' : 'member.changed',
      detail: { userId, from: member.role, ...(role !== undefined && { role }) },
      withdraws: role === 'viewer',
      // The change is good only while this owner can sign in.
      expect: [...expect, ...(owner ? [expectUnchanged(owner)] : [])],
      write,
      result: undefined,
    };
  });
}

/** @returns an owner who can sign in. @throws Refusal `conflict` where nobody of `left` is one; StoreUnavailable */
export async function ownerAmong(
  { ways }: Pick<UserDeps, 'ways'>,
  reader: FleetReader,
  accountId: string,
  left: MembersRecord['members'],
): Promise<UserEntry> {
  const owners = left.filter(({ role }) => role === 'owner').map(({ userId }) => userId);
  const owner = await whoCanSignIn(reader, owners, ways);
  if (owner) return owner;
  throw new Refusal(
    'conflict',
    `No other owner of the account ${accountId} can sign in: make somebody else an owner first.`,
  );
}

/** The expectations and writes of a change of an account's members; the user's sessions get other tokens. */
export function membersChange(
  account: AccountReader,
  before: Versioned<MembersRecord>,
  after: MembersRecord,
  user: UserEntry,
  at: number,
): Pick<Step<void>, 'expect' | 'write'> {
  const write: Write[] = [
    put(KEYS.members(account.id), after),
    put(KEYS.user(user.id), { ...user.record, rolesAt: at }),
  ];
  return {
    expect: [expectUnchanged(account), expectUnchanged(before), expectUnchanged(user)],
    write,
  };
}

/** The members of an account with one more, or with a greater role for one of them. */
async function joined(
  reader: FleetReader,
  accountId: string,
  userId: string,
  role: MemberRole,
  at: number,
): Promise<{ account: AccountReader; before: Versioned<MembersRecord>; after: MembersRecord; role: MemberRole }> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  const before = await account.members();
  const others = before.record.members.filter((one) => one.userId !== userId);
  if (others.length >= LIMITS.membersPerAccountMax) {
    throw new Refusal('conflict', `The account has ${LIMITS.membersPerAccountMax} members; end one first.`);
  }
  const own = before.record.members.find((one) => one.userId === userId);
  const greater = own?.role === 'owner' ? 'owner' : role;
  const after = { ...before.record, members: [...others, { ...own, userId, role: greater, since: at }] };
  return { account, before, after, role: greater };
}

/**
 * The step by which a user becomes a member, or gets a greater role.
 * @throws Refusal `conflict` where the account has `LIMITS.membersPerAccountMax` members; StoreUnavailable
 */
export async function joiningStep(
  reader: FleetReader,
  accountId: string,
  user: UserEntry,
  wanted: MemberRole,
  at: number,
): Promise<Step<void>> {
  const { account, before, after, role } = await joined(reader, accountId, user.id, wanted, at);
  return {
    accountId,
    action: 'member.added',
    detail: { userId: user.id, role },
    ...membersChange(account, before, after, user, at),
    result: undefined,
  };
}

/** The same for a user who is made in the same commit. @throws as `joiningStep` */
export async function newMemberStep(
  reader: FleetReader,
  accountId: string,
  userId: string,
  wanted: MemberRole,
  at: number,
): Promise<Step<void>> {
  const { account, before, after, role } = await joined(reader, accountId, userId, wanted, at);
  return {
    accountId,
    action: 'member.added',
    detail: { userId, role, newUser: true },
    expect: [expectUnchanged(account), expectUnchanged(before)],
    write: [put(KEYS.members(account.id), after)],
    result: undefined,
  };
}
