import { expectUnchanged, type Write } from '../../store/port.ts';
import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { MemberRole, MembersRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { tokensWithoutRole } from './made-tokens.ts';
import { othersWhoStay } from './last-one.ts';
import { isMappedOwner, mutateEndingKeys, type Departure } from './made-keys.ts';
import { withRolesAt } from './user-state.ts';
import { rolesOf } from './mapped-roles.ts';
import { operatorRight, withoutLapsed } from './roles.ts';
import type { UserDeps } from './users.ts';

/** A member of an account, by invitation or by the provider's groups. */
interface Member {
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

/** A user as a member of an account. */
interface MemberRef {
  readonly accountId: string;
  readonly userId: string;
}

/** The operations on the members of an account. */
export interface Members {
  /** Lists the members, owners first. @throws Refusal `not_found`; StoreUnavailable */
  list(accountId: string): Promise<readonly Member[]>;
  /**
   * Gives a member another role. The API keys that an owner made end with the role, unless the owner still has the
   * right in another way, or they are kept (A17).
   * @param keepKeys ids of keys
   * @throws Refusal `not_found` for who is no member by invitation, `conflict` for the last owner and where
   * a key is named that the member did not make; StoreUnavailable; Busy
   */
  setRole(origin: Origin, member: MemberRef, role: MemberRole, keepKeys?: readonly string[]): Promise<void>;
  /** Ends a membership by invitation. @throws as `setRole` */
  remove(origin: Origin, member: MemberRef, keepKeys?: readonly string[]): Promise<void>;
}

/** Creates the operations on members; see `Members`. */
export function createMembers(deps: UserDeps): Members {
  return {
    list: (accountId) => list(deps, accountId),
    setRole: (origin, member, role, keepKeys) => change(deps, origin, { ...member, role, keepKeys }),
    remove: (origin, member, keepKeys) => change(deps, origin, { ...member, role: undefined, keepKeys }),
  };
}

/**
 * Ends a membership by invitation; where it has ended already, all stays as it is.
 * @param keepKeys ids of keys, of other accounts as well
 * @throws as `Members.setRole`
 */
export const endMembership = (
  deps: UserDeps,
  origin: Origin,
  member: MemberRef,
  keepKeys: readonly string[],
): Promise<void> => change(deps, origin, { ...member, role: undefined, keepKeys, isDeletion: true });

async function list({ fleet }: MutationDeps, accountId: string): Promise<readonly Member[]> {
  const memory = await fleet.whole();
  const account = memory.account(accountId);
  if (!account) throw new Refusal('not_found');
  const given = new Map(account.members().record.members.map((member) => [member.userId, member]));
  const members: Member[] = [];
  for (const { id, record } of memory.users()) {
    const own = given.get(id);
    const mapped = rolesOf(record)?.accounts.find((one) => one.accountId === accountId)?.role;
    const role = own?.role === 'owner' || mapped === 'owner' ? 'owner' : (own?.role ?? mapped);
    if (!role) continue;
    const { name, login, disabled } = record;
    members.push({ userId: id, name, login, disabled, role, given: own?.role, mapped, since: own?.since });
  }
  return members.sort((a, b) => (a.role === b.role ? (a.name < b.name ? -1 : 1) : a.role === 'owner' ? -1 : 1));
}

interface Change extends MemberRef {
  /** Undefined where the membership ends. */
  readonly role: MemberRole | undefined;
  readonly keepKeys?: readonly string[] | undefined;
  /** The user is deleted: there may be no membership any more, and `keepKeys` may name keys of other accounts. */
  readonly isDeletion?: true;
}

async function change(deps: UserDeps, origin: Origin, wanted: Change): Promise<void> {
  const { keepKeys: ids = [], isDeletion: isJudged = false } = wanted;
  await mutateEndingKeys<void>(deps, origin, { ids, isJudged }, (reader) => departure(deps, reader, origin, wanted));
}

async function departure(
  deps: UserDeps,
  reader: FleetReader,
  origin: Origin,
  { accountId, userId, role, isDeletion, keepKeys = [] }: Change,
): Promise<Departure<void> | Unchanged<void>> {
  const account = await reader.account(accountId);
  const user = await reader.user(userId);
  if (!account || (!user && isDeletion)) throw new Refusal('not_found');
  const before = await account.members();
  const member = before.record.members.find((one) => one.userId === userId);
  if (!member && isDeletion) return { unchanged: undefined };
  // The answer tells nothing of users elsewhere.
  if (!user || !member) throw new Refusal('not_found', 'This user is no member of the account by invitation.');
  if (member.role === role) return { unchanged: undefined };
  const others = before.record.members.filter((one) => one.userId !== userId);
  const staying = await othersWhoStay(deps, reader, userId, { operator: false, owned: account });
  const after = keepKeys.length > 0 ? { ...user, record: withoutLapsed(reader, user, { accountId }) } : user;
  const members = role === undefined ? others : [...others, { ...member, role, since: origin.at }];
  const { expect, write } = membersChange(account, before, { ...before.record, members }, after, origin.at);
  const operator = (await operatorRight(reader, user)) !== undefined;
  const isKept = role === 'owner' || operator;
  const made = [...(await reader.keysMadeBy(userId))].filter((one) => one.account.id === accountId);
  return {
    step: {
      accountId,
      action: role === undefined ? 'member.removed' : 'member.changed',
      detail: { userId, from: member.role, ...(role !== undefined && { role }) },
      withdraws: role === 'viewer',
      expect: [...expect, ...staying.map(expectUnchanged)],
      write,
      result: undefined,
    },
    user,
    made,
    tokens: role === undefined ? await tokensWithoutRole(reader, user, { operator, leaves: account }) : [],
    stays: () => isKept || isMappedOwner(reader, user, account),
  };
}

/** The expectations and writes of a change of an account's members; the user's sessions get other tokens. */
function membersChange(
  account: AccountReader,
  before: Versioned<MembersRecord>,
  after: MembersRecord,
  user: UserEntry,
  at: number,
): Pick<Step<void>, 'expect' | 'write'> {
  const write: Write[] = [put(KEYS.members(account.id), after), put(KEYS.user(user.id), withRolesAt(user.record, at))];
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
  const own = before.record.members.find((one) => one.userId === userId);
  if (!own && others.length >= LIMITS.membersPerAccountMax) {
    throw new Refusal('conflict', `The account has ${LIMITS.membersPerAccountMax} members; end one first.`);
  }
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
