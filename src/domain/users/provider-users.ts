import { expectAbsent, expectUnchanged, type Expectation, type Write } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { UNAUDITED_CLASSES } from '../fullness/unaudited-classes.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import {
  withParts,
  type LeadingStep,
  type MutationDeps,
  type Origin,
  type Step,
  type Unchanged,
} from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Identity, UserRecord } from '../records/user-records.ts';
import { Busy, Refusal } from '../refusal.ts';
import { InvalidLink, validLink } from './link-validity.ts';
import { mutateEndingKeys, NONE_KEPT, type Departure } from './made-keys.ts';
import { hasRoles, isOvertaken, rolesTold, type MappedRoles } from './mapped-roles.ts';
import { ownStep, refuseLastWay } from './passkeys.ts';
import { replacingStep, type Replacement } from './replaced-session.ts';
import { isKnown, operatorsWritten, refusal, takingRoles, withAnswer, type ProviderRefusal } from './taken-roles.ts';
import {
  crowdOf,
  hasIdentity,
  identityKey,
  userCreation,
  withAddition,
  withoutIdentities,
  withRolesAt,
  type Crowd,
} from './user-state.ts';
import { existingUser, type UserDeps } from './users.ts';

/** A user as the provider tells of him. */
export interface ProviderUser {
  readonly identity: Identity;
  readonly name: string;
  readonly mapped: MappedRoles;
}

/**
 * The rule by which a first sign-in without a role makes a user: everybody, or whoever has the token of an invitation.
 */
interface Welcome {
  readonly everybody: boolean;
  readonly invitation: string | undefined;
}

/**
 * The users who sign in at the provider: (issuer, subject) is the identity, and never an address (OIDC Core 1.0, 5.7).
 */
export interface ProviderUsers {
  /**
   * The user of an identity, with the roles that his groups give now; a new one is made where nobody has it. An answer
   * of the provider that is overtaken changes no roles, here and below.
   * @throws Refusal `forbidden` for a disabled user, `conflict` where there are too many users, `changed_meanwhile` for
   * one who was deleted a moment ago; StoreUnavailable; Busy
   * @param welcome what lets somebody in whom nobody knows, and to whom the groups give no role
   * @returns `no_role` where nothing does
   */
  admit(originOf: (actor: string) => Origin, user: ProviderUser, welcome: Welcome): Promise<UserEntry | 'no_role'>;
  /** The id of the user who has the identity; undefined where nobody has. @throws StoreUnavailable; BadRecord */
  ownerOf(identity: Identity): Promise<string | undefined>;
  /**
   * Takes the roles over that the groups of an identity give now; nothing where the user has it no more.
   * @throws StoreUnavailable; Busy
   */
  renew(origin: Origin, userId: string, user: Pick<ProviderUser, 'identity' | 'mapped'>): Promise<void>;
  /**
   * Ends what acts as a user whom the provider refuses: sessions, access tokens and the roles of groups; no API key.
   * It does nothing where another answer came meanwhile, or the user has the identity no more.
   * @throws StoreUnavailable; Busy
   */
  refuse(origin: Origin, userId: string, refused: ProviderRefusal): Promise<void>;
  /**
   * Links an identity to a signed-in user, who goes on in another session with the same commit. Its roles last an hour:
   * a refresh token belongs to a session that began at the provider.
   * @returns `already_linked` where somebody else has it, `too_many` where the user has too many
   * @throws Refusal of the origin's guard; StoreUnavailable; Busy
   */
  link(origin: Origin, user: ProviderUser, replacement: Replacement): Promise<'linked' | 'already_linked' | 'too_many'>;
  /**
   * Unlinks every identity of a user, who goes on in another session with the same commit.
   * @returns false where there was none, and nothing has changed
   * @throws Refusal `conflict` for the last way to sign in; StoreUnavailable; Busy
   */
  unlink(origin: Origin, replacement: Replacement): Promise<boolean>;
}

/** Creates the operations on users of the provider; see `ProviderUsers`. */
export function createProviderUsers(deps: UserDeps): ProviderUsers {
  return {
    admit: (originOf, user, welcome) => admit(deps, originOf, user, welcome),
    ownerOf: (identity) => ownerOf(deps, identity),
    renew: (origin, userId, user) => renew(deps, origin, userId, user),
    refuse: (origin, userId, refused) =>
      mutateEndingKeys<void>(deps, origin, NONE_KEPT, (reader) => refusal(reader, userId, refused, origin.at)),
    link: (origin, user, replacement) => link(deps, origin, user, replacement),
    unlink: (origin, replacement) => unlink(deps, origin, replacement),
  };
}

/** The id of the user who has the identity; undefined where nobody has. */
async function ownerOf({ store }: Pick<MutationDeps, 'store'>, identity: Identity): Promise<string | undefined> {
  const entry = await store.get(identityKey(identity));
  return entry && parseRecord(KEYS.identity, entry).record.userId;
}

/** An identity that changes its user all the time is waited for no longer. */
const REBOUND_MAX = 10;

/**
 * The user who has an identity, as one moment has both; undefined where nobody has it. Memory is asked for after the
 * store, since another sign-in may have made the user a moment ago. By then the identity may be unlinked, or another's:
 * then both are read again.
 * @throws StoreUnavailable; BadRecord; Busy
 */
async function userWith(deps: MutationDeps, identity: Identity): Promise<UserEntry | undefined> {
  for (let attempt = 1; attempt <= REBOUND_MAX; attempt += 1) {
    const owner = await ownerOf(deps, identity);
    if (owner === undefined) return undefined;
    const user = await (await deps.fleet.current()).user(owner);
    if (user && hasIdentity(user.record, identity)) return user;
  }
  throw new Busy('conflicts', 'The identity changed its user under every read.');
}

async function admit(
  deps: UserDeps,
  originOf: (actor: string) => Origin,
  user: ProviderUser,
  welcome: Welcome,
): Promise<UserEntry | 'no_role'> {
  const newId = generateAccountId(deps.random);
  const known = await ownerOf(deps, user.identity);
  const origin = originOf(`user:${known ?? newId}`);
  type Found = string | undefined;
  const plan = async (reader: FleetReader): Promise<Departure<Found> | Step<Found> | Unchanged<Found>> => {
    // The users are counted first: another replica may have made this very user the last one that there may be.
    const crowd = await crowdOf(reader);
    const before = await userWith(deps, user.identity);
    if (!before) {
      const allowed = await welcomed(deps, reader, user, welcome);
      if (!allowed) return { unchanged: undefined };
      const created = creation(newId, user, crowd, origin.at);
      return { ...withParts(created, { expect: allowed }), result: newId };
    }
    if (before.record.disabled) throw new Refusal('forbidden', 'The user is disabled.');
    const { mapped } = user;
    if (isOvertaken(before, mapped)) return { unchanged: before.id };
    if (isKnown(before, mapped) && (await confirmed(deps, before, mapped))) return { unchanged: before.id };
    const taking = await takingRoles(reader, before, { mapped, at: origin.at });
    return { ...taking, step: { ...taking.step, result: before.id } };
  };
  const admitting = (): Promise<Found> => mutateEndingKeys<Found>(deps, origin, NONE_KEPT, plan);
  const userId = await (known === undefined ? deps.newcomers(origin, admitting) : admitting());
  if (userId === undefined) return 'no_role';
  const admitted = await (await deps.fleet.current()).user(userId);
  if (!admitted) throw new Refusal('changed_meanwhile', 'The user was deleted meanwhile; sign in again.');
  return admitted;
}

/**
 * Returns what the commit expects that makes a user of somebody whom nobody knows; undefined where nothing lets them
 * in. Whoever comes with an invitation accepts it once signed in.
 */
async function welcomed(
  deps: UserDeps,
  reader: FleetReader,
  { mapped }: ProviderUser,
  { everybody, invitation }: Welcome,
): Promise<readonly Expectation[] | undefined> {
  if (everybody || hasRoles(mapped)) return [];
  if (invitation === undefined) return undefined;
  try {
    const link = await validLink(deps, reader, invitation);
    return link.record.kind === 'invitation' ? [expectUnchanged(link), ...link.relied] : undefined;
  } catch (error) {
    if (error instanceof InvalidLink) return undefined;
    throw error;
  }
}

function creation(userId: string, { identity, name, mapped }: ProviderUser, crowd: Crowd, at: number): Step<void> {
  const { expect, write } = userCreation(userId, { name, login: '', createdAt: at, identity, mapped }, crowd);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.created',
    detail: { userId, provider: true, ...rolesTold(mapped) },
    expect,
    write,
    result: undefined,
  };
}

/**
 * Notes that the roles still are what they were: no entry of the audit, and a replica that has not seen it yet is
 * merely stricter. The commit is not quiet, since changes of the user expect his record.
 * @returns false where the user was changed meanwhile
 */
async function confirmed({ store }: MutationDeps, user: UserEntry, mapped: MappedRoles): Promise<boolean> {
  const { outcome } = await store.commit({
    expect: [expectUnchanged(user)],
    write: [put(KEYS.user(user.id), { ...user.record, mapped })],
    writeClass: UNAUDITED_CLASSES.rolesConfirmed,
  });
  return outcome === 'committed';
}

async function renew(
  deps: MutationDeps,
  origin: Origin,
  userId: string,
  { identity, mapped }: Pick<ProviderUser, 'identity' | 'mapped'>,
): Promise<void> {
  await mutateEndingKeys<void>(deps, origin, NONE_KEPT, async (reader) => {
    const user = await reader.user(userId);
    // Whoever unlinked it meanwhile, or is disabled, gets no role by it.
    if (!user || user.record.disabled || !hasIdentity(user.record, identity)) return { unchanged: undefined };
    if (isOvertaken(user, mapped)) return { unchanged: undefined };
    if (isKnown(user, mapped) && (await confirmed(deps, user, mapped))) return { unchanged: undefined };
    return await takingRoles(reader, user, { mapped, at: origin.at });
  });
}

async function link(
  deps: MutationDeps,
  origin: Origin,
  { identity, name, mapped: answered }: ProviderUser,
  replacement: Replacement,
): Promise<'linked' | 'already_linked' | 'too_many'> {
  type Outcome = 'linked' | 'already_linked' | 'too_many';
  const { userId } = replacement.session.record;
  type Linking = Departure<Outcome> | Unchanged<Outcome>;
  return await mutateEndingKeys<Outcome>(deps, origin, NONE_KEPT, async (reader): Promise<Linking> => {
    const before = await existingUser(reader, userId);
    const owner = await ownerOf(deps, identity);
    if (owner !== undefined && owner !== userId) return { unchanged: 'already_linked' };
    const mapped = isOvertaken(before, answered) ? (before.record.mapped ?? answered) : answered;
    const taking = await takingRoles(reader, before, { mapped, at: origin.at, isOwnDeed: true });
    const step = { ...taking.step, result: 'linked' as const };
    if (owner === userId) return { ...taking, step: { ...step, first: [replacingStep(replacement, origin)] } };
    const record = withAnswer(before.record, mapped);
    if (record.identities.length >= LIMITS.identitiesPerUserMax) return { unchanged: 'too_many' };
    const after: UserRecord = {
      ...withRolesAt(withAddition(record, origin, { kind: 'identity', name }), origin.at, hasRoles(mapped)),
      identities: [...record.identities, { ...identity, name, linkedAt: origin.at }],
    };
    const key = identityKey(identity);
    const written = operatorsWritten(before, mapped, await reader.operators());
    const linking = {
      ...step,
      ...ownStep('identity.linked', before, origin, replacement, step.detail),
      result: step.result,
      expect: [...step.expect, expectAbsent(key)],
      write: [put(KEYS.user(userId), after), put(key, { userId }), ...written],
    };
    return { ...taking, step: linking };
  });
}

async function unlink(deps: UserDeps, origin: Origin, replacement: Replacement): Promise<boolean> {
  return await mutate<boolean>(deps, origin, async (reader): Promise<LeadingStep<boolean> | Unchanged<boolean>> => {
    const user = await existingUser(reader, replacement.session.record.userId);
    if (user.record.identities.length === 0) return { unchanged: false };
    const record = withoutIdentities(user.record, user.record.identities, origin.at);
    refuseLastWay(deps, record);
    const locators: Write[] = user.record.identities.map((identity) => ({ remove: identityKey(identity) }));
    return {
      ...ownStep('identity.unlinked', user, origin, replacement),
      expect: [expectUnchanged(user)],
      write: [put(KEYS.user(user.id), record), ...locators],
      result: true,
    };
  });
}
