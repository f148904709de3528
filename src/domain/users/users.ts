import { SerialByKey } from '../../concurrency/serial-by-key.ts';
import { expectUnchanged, type Write } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { refuseLate } from '../mutation/commit.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { RESTRICTED_ROLES, type OperatorsRecord, type UserRecord } from '../records/user-records.ts';
import { Busy, Refusal } from '../refusal.ts';
import { tokensWithoutRole } from './made-tokens.ts';
import { othersWhoStay, type Ways } from './last-one.ts';
import { refuseTaken, userOfLogin } from './logins.ts';
import { isOwner, mutateEndingKeys } from './made-keys.ts';
import { sessionEnd } from './replaced-session.ts';
import { isRefused, rolesOf } from './mapped-roles.ts';
import { mappedNow, withoutLapsed } from './roles.ts';
import {
  crowdOf,
  givenRole,
  operatorsAfter,
  userCreation,
  withGivenRole,
  withoutRefusal,
  withRolesAt,
  type GivenRole,
} from './user-state.ts';

/** A user as he is listed. Times are milliseconds since 1970. */
export interface User {
  readonly userId: string;
  readonly name: string;
  readonly login: string;
  readonly createdAt: number;
  readonly disabled: boolean;
  /** The role on the installation that somebody gave, and that which the provider's groups give. */
  readonly role: GivenRole;
  readonly mappedRole: GivenRole;
  readonly hasPassword: boolean;
  readonly passkeys: number;
  readonly identities: number;
}

/** The fields of a user that a change names; an absent field stays as it is. */
interface UserPatch {
  readonly name?: string | undefined;
  readonly disabled?: boolean | undefined;
  readonly role?: GivenRole | undefined;
  /** The same of an operator's role alone: `false` leaves another role as it is. */
  readonly operator?: boolean | undefined;
  /**
   * Ids of API keys that the user made, and that go on where the change takes the right away by which they were made.
   */
  readonly keepKeys?: readonly string[] | undefined;
}

/**
 * Runs the creations of users one after the other in this process: each would conflict with every other one, since it
 * counts the users. A request that was answered while it waited is not carried out.
 * @throws Busy where too many wait, or the deadline has passed
 */
type Newcomers = <T>(origin: Origin, create: () => Promise<T>) => Promise<T>;

/** Creations of users that wait for their turn in this process. */
const NEWCOMERS_MAX = 500;

/** Makes the queue of a process; see `Newcomers`. */
export function createNewcomers(deps: Pick<MutationDeps, 'clock'>): Newcomers {
  const inTurn = new SerialByKey(NEWCOMERS_MAX);
  return async (origin, create) => {
    const created = inTurn.tryRun('', async () => {
      refuseLate(deps, origin);
      return await create();
    });
    if (!created) throw new Busy('queue_full', 'Too many users wait to be created.');
    return await created;
  };
}

/** The services of the operations on users, and the ways in which users sign in. */
export interface UserDeps extends MutationDeps, Ways {
  readonly newcomers: Newcomers;
}

/** The operations on users. */
export interface Users {
  /**
   * Creates a user, who cannot sign in before he has used a link or the provider.
   * @throws Refusal `conflict` where the login is taken, or there are `LIMITS.usersMax` users; StoreUnavailable;
   * Busy
   */
  create(origin: Origin, user: Omit<CreatedUser, 'createdAt'>): Promise<User>;
  /** @throws Refusal `not_found`; StoreUnavailable */
  read(userId: string): Promise<User>;
  /** Lists all users by name. @throws StoreUnavailable */
  list(): Promise<readonly User[]>;
  /** The user with this login; undefined where there is none. @throws StoreUnavailable; BadRecord */
  byLogin(login: string): Promise<UserEntry | undefined>;
  /**
   * Changes the fields that the patch names. Disabling ends every session of the user, in the same commit; API keys end
   * as with a membership (A17).
   * @throws Refusal `not_found`, `conflict` for the last operator, for the last owner of an account who is disabled,
   * and where a key is named that the user did not make; StoreUnavailable; Busy
   */
  change(origin: Origin, userId: string, patch: UserPatch): Promise<User>;
}

/** Creates the operations on users; see `Users`. */
export function createUsers(deps: UserDeps): Users {
  const { fleet } = deps;
  return {
    create: (origin, user) => create(deps, origin, user),
    async read(userId) {
      const reader = await fleet.current();
      return view(await existingUser(reader, userId), (await reader.operators()).record);
    },
    async list() {
      const memory = await fleet.whole();
      const operators = memory.operators().record;
      const users = Array.from(memory.users(), (user) => view(user, operators));
      return users.sort((a, b) => (a.name === b.name ? (a.userId < b.userId ? -1 : 1) : a.name < b.name ? -1 : 1));
    },
    async byLogin(login) {
      // Both are read for a name that nobody has, too: the time of the answer would tell it.
      const [userId, reader] = await Promise.all([userOfLogin(deps, login), fleet.current()]);
      return userId === undefined ? undefined : await reader.user(userId);
    },
    change: (origin, userId, patch) => change(deps, origin, userId, patch),
  };
}

/** @throws Refusal `not_found`; StoreUnavailable */
export async function existingUser(reader: FleetReader, userId: string): Promise<UserEntry> {
  const user = await reader.user(userId);
  if (!user) throw new Refusal('not_found');
  return user;
}

function view({ id, record }: Pick<UserEntry, 'id' | 'record'>, operators: OperatorsRecord): User {
  const { name, login, createdAt, disabled, password, passkeys, identities } = record;
  const mapped = rolesOf(record);
  return {
    userId: id,
    name,
    login,
    createdAt,
    disabled,
    role: givenRole({ id, record }, operators),
    mappedRole: mapped?.operator === true ? 'operator' : (mapped?.installationRole ?? 'none'),
    hasPassword: password !== undefined,
    passkeys: passkeys.length,
    identities: identities.length,
  };
}

async function create(
  deps: UserDeps,
  origin: Origin,
  { name, login, role }: Omit<CreatedUser, 'createdAt'>,
): Promise<User> {
  const userId = generateAccountId(deps.random);
  return await deps.newcomers(origin, () =>
    mutate<User>(deps, origin, (reader) =>
      creationStep(deps, reader, userId, { name, login, role, createdAt: origin.at }),
    ),
  );
}

/** The fields of a user whom an operator makes. */
export interface CreatedUser {
  readonly name: string;
  readonly login: string;
  readonly role: GivenRole;
  readonly createdAt: number;
}

/**
 * The step that makes a user. @param userId drawn before the first attempt
 * @throws Refusal `conflict` where the login is taken; StoreUnavailable
 */
export async function creationStep(
  deps: Pick<MutationDeps, 'store'>,
  reader: FleetReader,
  userId: string,
  { name, login, role, createdAt }: CreatedUser,
): Promise<Step<User>> {
  if (login !== '') await refuseTaken(deps, reader, login, 'login: another user has this name to sign in with.');
  const { record, expect, write } = userCreation(userId, { name, login, createdAt, role }, await crowdOf(reader));
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.created',
    detail: { userId, operator: role === 'operator', ...(isRestricted(role) && { role }) },
    expect,
    write,
    result: view({ id: userId, record }, { members: role === 'operator' ? [userId] : [] }),
  };
}

async function change(deps: UserDeps, origin: Origin, userId: string, patch: UserPatch): Promise<User> {
  const { keepKeys = [] } = patch;
  return await mutateEndingKeys<User>(deps, origin, { ids: keepKeys }, async (reader) => {
    const user = await existingUser(reader, userId);
    const operators = await reader.operators();
    const former = givenRole(user, operators.record);
    const isOperator = former === 'operator';
    const role = roleAfter(former, patch);
    const wanted = role === 'operator';
    const { name = user.record.name, disabled = user.record.disabled } = patch;
    const isShut = disabled && !user.record.disabled;
    const loss = { operator: isOperator && (!wanted || isShut), owned: isShut ? ('all' as const) : undefined };
    const staying = await othersWhoStay(deps, reader, userId, loss);
    const after = { ...operators.record, members: [...operatorsAfter(operators.record, userId, wanted)] };
    const changedRole = role !== former;
    // An operator who disables a refused user has decided on the keys: the roles go with the refusal.
    const isDecided = keepKeys.length > 0 || (isShut && isRefused(user.record));
    const kept = isDecided ? withoutLapsed(reader, user, { isShut }) : user.record;
    const given = changedRole ? withGivenRole(withRolesAt(kept, origin.at), role) : kept;
    const before = isShut ? withoutRefusal(given) : given;
    const record: UserRecord = { ...before, name, disabled };
    const result = view({ ...user, record }, after);
    if (name === user.record.name && disabled === user.record.disabled && !changedRole) return { unchanged: result };
    const ended = isShut ? await endings(reader, userId) : [];
    const isKept = !disabled && (wanted || mappedNow(reader, user)?.operator === true);
    const tokens = isShut ? [...(await reader.accessTokensOf(userId))] : [];
    return {
      step: {
        accountId: OPERATOR_AUDIT,
        action: changedRole ? roleAction(former, role) : 'user.changed',
        detail: { userId, disabled, renamed: name !== user.record.name, ...(changedRole && { from: former, role }) },
        withdraws: isShut,
        expect: [user, ...(isOperator || wanted ? [operators] : []), ...staying].map(expectUnchanged),
        write: [
          put(KEYS.user(userId), record),
          ...(isOperator || wanted ? [put(KEYS.operators(), after)] : []),
          ...ended,
        ],
        result,
      },
      user,
      made: loss.operator || isShut ? [...(await reader.keysMadeBy(userId))] : [],
      tokens: isShut || !loss.operator ? tokens : await tokensWithoutRole(reader, user, { operator: isKept }),
      stays: (account) => isKept || (!disabled && isOwner(reader, user, account)),
    };
  });
}

const isRestricted = (role: GivenRole): boolean => RESTRICTED_ROLES.some((one) => one === role);

function roleAfter(former: GivenRole, { role, operator }: UserPatch): GivenRole {
  if (role !== undefined || operator === undefined) return role ?? former;
  if (operator) return 'operator';
  return former === 'operator' ? 'none' : former;
}

/** The action of the audit for a change of the role: that of an operator comes first. */
function roleAction(former: GivenRole, role: GivenRole) {
  if (role === 'operator') return 'operator.added';
  if (former === 'operator') return 'operator.removed';
  return role === 'support' || former === 'none' ? 'role.given' : 'role.taken';
}

/** The writes that end every session of a user. @param except one that goes on @throws StoreUnavailable */
export async function endings(reader: FleetReader, userId: string, except?: string): Promise<readonly Write[]> {
  const sessions = [...(await reader.sessionsOf(userId))];
  return sessions.filter(({ id }) => id !== except).flatMap(({ id }) => sessionEnd(id));
}
