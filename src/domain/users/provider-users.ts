import { ABSENT, type Write } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { userLocatorSchema, type Identity, type UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { sameRoles, type MappedRoles } from './mapped-roles.ts';
import { refuseLastWay } from './passkeys.ts';
import { identityKey, userCreation } from './user-state.ts';
import { existingUser, refuseManyUsers } from './users.ts';

/** A user as the provider tells of him. */
export interface ProviderUser {
  readonly identity: Identity;
  readonly name: string;
  readonly mapped: MappedRoles;
}

/** The users who sign in at the provider: (issuer, subject) is the identity, and never an address (OIDC Core 1.0, 5.7). */
export interface ProviderUsers {
  /**
   * The user of an identity, with the roles that his groups give now; a new one is made where nobody has it.
   * @throws Refusal `forbidden` for a disabled user, `invalid_request` where there are too many users; StoreUnavailable;
   * Busy
   */
  admit(originOf: (actor: string) => Origin, user: ProviderUser): Promise<UserEntry>;
  /** Takes the roles over that the groups give now. @throws StoreUnavailable; Busy */
  renew(origin: Origin, userId: string, mapped: MappedRoles): Promise<void>;
  /** Takes the mapped roles away, since they could not be renewed. @throws StoreUnavailable; Busy */
  expire(origin: Origin, userId: string): Promise<void>;
  /**
   * Links an identity to a signed-in user.
   * @throws Refusal `invalid_request` where somebody else has it, or there are too many; StoreUnavailable; Busy
   */
  link(origin: Origin, userId: string, user: ProviderUser): Promise<void>;
  /** Unlinks every identity. @throws Refusal `invalid_request` for the last way to sign in; StoreUnavailable; Busy */
  unlink(origin: Origin, userId: string): Promise<void>;
}

/** Creates the operations on users of the provider; see `ProviderUsers`. */
export function createProviderUsers(deps: MutationDeps): ProviderUsers {
  return {
    admit: (originOf, user) => admit(deps, originOf, user),
    renew: (origin, userId, mapped) => renew(deps, origin, userId, mapped),
    expire: (origin, userId) => expire(deps, origin, userId),
    link: (origin, userId, user) => link(deps, origin, userId, user),
    unlink: (origin, userId) => unlink(deps, origin, userId),
  };
}

/** The id of the user who has the identity; undefined where nobody has. */
async function ownerOf({ store }: Pick<MutationDeps, 'store'>, identity: Identity): Promise<string | undefined> {
  const entry = await store.get(identityKey(identity));
  return entry && parseRecord(userLocatorSchema, entry).record.userId;
}

async function admit(deps: MutationDeps, originOf: (actor: string) => Origin, user: ProviderUser): Promise<UserEntry> {
  const newId = generateAccountId(deps.random);
  const known = await ownerOf(deps, user.identity);
  if (known === undefined) await refuseManyUsers(deps);
  const origin = originOf(`user:${known ?? newId}`);
  const userId = await mutate<string>(deps, origin, async (reader): Promise<Step<string> | Unchanged<string>> => {
    const owner = await ownerOf(deps, user.identity);
    if (owner === undefined) return { ...creation(newId, user, origin.at), result: newId };
    const before = await existingUser(reader, owner);
    if (before.record.disabled) throw new Refusal('forbidden', 'The user is disabled.');
    return { ...mapping(before, user.mapped, origin.at), result: owner };
  });
  return await existingUser(await deps.fleet.current(), userId);
}

function creation(userId: string, { identity, name, mapped }: ProviderUser, at: number): Step<void> {
  const { expect, write } = userCreation(userId, { name, login: '', createdAt: at, identity, mapped });
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.created',
    detail: { userId, provider: true, operator: mapped.operator, accounts: mapped.accounts.length },
    expect,
    write,
    result: undefined,
  };
}

/** The step that takes mapped roles over; sessions get other tokens only where the roles differ. */
function mapping({ id, record, revision }: UserEntry, mapped: MappedRoles | undefined, at: number): Step<void> {
  const isSame = sameRoles(record.mapped, mapped);
  const { mapped: _before, ...rest } = record;
  const after: UserRecord = { ...rest, ...(mapped && { mapped }), ...(!isSame && { rolesAt: at }) };
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.changed',
    detail: {
      userId: id,
      mapped: isSame ? 'renewed' : 'changed',
      operator: mapped?.operator ?? false,
      accounts: mapped?.accounts.length ?? 0,
    },
    withdraws: !mapped,
    expect: [{ key: KEYS.user(id), revision }],
    write: [put(KEYS.user(id), after)],
    result: undefined,
  };
}

async function renew(deps: MutationDeps, origin: Origin, userId: string, mapped: MappedRoles): Promise<void> {
  const user = await existingUser(await deps.fleet.current(), userId);
  if (!sameRoles(user.record.mapped, mapped)) {
    return await mutate<void>(deps, origin, async (reader) =>
      mapping(await existingUser(reader, userId), mapped, origin.at),
    );
  }
  // Nothing changes but that it still holds: no entry of the audit, and whoever has not seen it yet is merely stricter.
  await deps.store.commit({
    expect: [{ key: KEYS.user(userId), revision: user.revision }],
    write: [put(KEYS.user(userId), { ...user.record, mapped })],
    quiet: true,
  });
}

async function expire(deps: MutationDeps, origin: Origin, userId: string): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    const user = await reader.user(userId);
    const mapped = user?.record.mapped;
    if (!user || !mapped || origin.at - mapped.at < LIMITS.mappedRolesMs) return { unchanged: undefined };
    const isEmpty = !mapped.operator && mapped.accounts.length === 0;
    return isEmpty
      ? { unchanged: undefined }
      : mapping(user, { operator: false, accounts: [], at: mapped.at }, origin.at);
  });
}

async function link(deps: MutationDeps, origin: Origin, userId: string, user: ProviderUser): Promise<void> {
  await mutate<void>(deps, origin, async (reader: FleetReader) => {
    const before = await existingUser(reader, userId);
    const owner = await ownerOf(deps, user.identity);
    if (owner !== undefined && owner !== userId) {
      throw new Refusal('invalid_request', 'This identity belongs to another user.');
    }
    const step = mapping(before, user.mapped, origin.at);
    if (owner === userId) return step;
    if (before.record.identities.length >= LIMITS.identitiesPerUserMax) {
      throw new Refusal('invalid_request', `You have ${LIMITS.identitiesPerUserMax} identities; unlink them first.`);
    }
    const identities = [...before.record.identities, user.identity];
    const record = { ...before.record, identities, mapped: user.mapped, rolesAt: origin.at };
    const key = identityKey(user.identity);
    return {
      ...step,
      detail: { ...step.detail, identity: 'linked' },
      expect: [...step.expect, { key, revision: ABSENT }],
      write: [put(KEYS.user(userId), record), put(key, { userId })],
    };
  });
}

async function unlink(deps: MutationDeps, origin: Origin, userId: string): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    const user = await existingUser(reader, userId);
    if (user.record.identities.length === 0) return { unchanged: undefined };
    const { mapped: _gone, ...rest } = user.record;
    const record: UserRecord = { ...rest, identities: [], rolesAt: origin.at };
    refuseLastWay(record);
    const locators: Write[] = user.record.identities.map((identity) => ({ remove: identityKey(identity) }));
    return {
      accountId: OPERATOR_AUDIT,
      action: 'user.changed',
      detail: { userId, identity: 'unlinked' },
      withdraws: true,
      expect: [{ key: KEYS.user(userId), revision: user.revision }],
      write: [put(KEYS.user(userId), record), ...locators],
      result: undefined,
    };
  });
}
