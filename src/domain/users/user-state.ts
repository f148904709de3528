import { hash } from 'node:crypto';
import { expectAbsent, expectAsFound, expectUnchanged, type ChangeParts, type Expectation } from '../../store/port.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import type { Origin } from '../mutation/step.ts';
import { hasRoles } from './mapped-roles.ts';
import { put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Addition, Identity, InstallationRole, OperatorsRecord, UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { comparableLogin, formerLogin } from '../../text/logins.ts';

/* The records of a user as they are made and changed. */

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** The key of a record that leads to a user. */
type UserLocatorKey = ReturnType<typeof KEYS.login>;

const locatorOf = (compared: string): UserLocatorKey => KEYS.login(digest(compared));

/** The key of the record that leads from a name to sign in with to its user. */
export const loginKey = (login: string): UserLocatorKey => locatorOf(comparableLogin(login));

/**
 * The keys under which the user of a name may be found, the exact one first: two names of earlier users may have become
 * one, and each still leads to its own user. For most names both are the same key.
 */
export const loginKeys = (login: string): readonly UserLocatorKey[] => [
  ...new Set([locatorOf(formerLogin(login)), loginKey(login)]),
];
/** The id of an identity, by which its user names it; it is no secret. */
export const identityId = ({ issuer, subject }: Identity): string => digest(JSON.stringify([issuer, subject]));
export const identityKey = (identity: Identity): UserLocatorKey => KEYS.identity(identityId(identity));
export const passkeyKey = (credentialId: string): UserLocatorKey => KEYS.passkey(digest(credentialId));

/** Tells whether the user has the identity at the provider. */
export const hasIdentity = ({ identities }: UserRecord, { issuer, subject }: Identity): boolean =>
  identities.some((one) => one.issuer === issuer && one.subject === subject);

/** The ways in which people sign in to this installation, beside passkeys. */
export interface SignInWays {
  readonly passwords: boolean;
  /** The issuer of the OpenID Connect provider, where there is one. */
  readonly issuer: string | undefined;
}

/**
 * Whether the user has a way to sign in, beside a link.
 * @param ways what was set before they were switched off lets nobody in; without them everything counts
 */
export function canSignIn({ password, passkeys, identities }: UserRecord, ways?: SignInWays): boolean {
  if (passkeys.length > 0) return true;
  if (!ways) return password !== undefined || identities.length > 0;
  const home = addressOf(ways.issuer ?? '');
  return (
    (ways.passwords && password !== undefined) ||
    (home !== undefined && identities.some(({ issuer }) => addressOf(issuer) === home))
  );
}

/** The first of these users who is not disabled and has a way to sign in. @throws StoreUnavailable */
export async function whoCanSignIn(
  reader: FleetReader,
  userIds: readonly string[],
  ways: SignInWays | undefined,
): Promise<UserEntry | undefined> {
  for (const userId of userIds) {
    const user = await reader.user(userId);
    if (user && !user.record.disabled && canSignIn(user.record, ways)) return user;
  }
  return undefined;
}

/**
 * The user's record without some identities. The roles by the provider's groups go with any of them: they may be of
 * that one, and a sign-in by another one brings its own.
 */
export function withoutIdentities(record: UserRecord, gone: readonly Identity[], at: number): UserRecord {
  if (gone.length === 0) return record;
  const { mapped: _gone, ...rest } = record;
  return { ...rest, identities: record.identities.filter((identity) => !gone.includes(identity)), rolesAt: at };
}

/** The user's record at a change of roles; whoever got one is kept. */
export function withRolesAt(record: UserRecord, at: number, isGiven = true): UserRecord {
  const { roleless, ...rest } = record;
  return { ...rest, rolesAt: at, ...(roleless !== undefined && !isGiven && { roleless }) };
}

/** The record of a user whom the provider lets in, or on whom an operator has decided. */
export function withoutRefusal({ providerRefusedAt: _over, ...record }: UserRecord): UserRecord {
  return record;
}

/** The user's record at a sign-in or a new link: a user without a role is kept for another while. */
export const withUse = (record: UserRecord, at: number): UserRecord =>
  record.roleless === undefined ? record : { ...record, roleless: Math.max(at, record.roleless) };

const addressOf = (issuer: string): string | undefined => URL.parse(issuer)?.href;

/**
 * The user's record with one more addition, which the user is shown. Beyond the bound of its kind the oldest goes, but
 * never one by which somebody can sign in now: many others must not push out what a thief has added.
 */
export function withAddition(
  record: UserRecord,
  { at, client = '' }: Pick<Origin, 'at' | 'client'>,
  { kind, name }: Pick<Addition, 'kind' | 'name'>,
): UserRecord {
  const added = { kind, at, name, client };
  const ofKind = [...(record.additions ?? []), added].filter((one) => one.kind === kind);
  const excess = Math.max(0, ofKind.length - LIMITS.additionsKeptMax);
  const gone = new Set(ofKind.filter((one) => one !== added && !isInUse(record, one)).slice(0, excess));
  return { ...record, additions: [...(record.additions ?? []).filter((one) => !gone.has(one)), added] };
}

/** Whether the user still has the passkey or the identity. */
const isInUse = ({ passkeys, identities }: UserRecord, { kind, at }: Addition): boolean =>
  (kind === 'passkey' && passkeys.some(({ createdAt }) => createdAt === at)) ||
  (kind === 'identity' && identities.some(({ linkedAt }) => linkedAt === at));

/** The role on the installation that people gave to a user. */
export type GivenRole = InstallationRole | 'none';

/** The role that people gave to a user: an operator stands among the operators, any other one has it in the record. */
export const givenRole = ({ id, record }: Pick<UserEntry, 'id' | 'record'>, { members }: OperatorsRecord): GivenRole =>
  members.includes(id) ? 'operator' : (record.installationRole ?? 'none');

/** The user's record with another role on the installation: none in it for an operator. */
export function withGivenRole({ installationRole: _former, ...rest }: UserRecord, role: GivenRole): UserRecord {
  return role === 'operator' || role === 'none' ? rest : { ...rest, installationRole: role };
}

/** The facts of a user at the creation. */
interface NewUser {
  readonly name: string;
  /** `''` for a user who has none. */
  readonly login: string;
  readonly createdAt: number;
  readonly identity?: Identity;
  readonly password?: UserRecord['password'];
  readonly mapped?: UserRecord['mapped'];
  /** The role on the installation; none without. */
  readonly role?: GivenRole;
  /** The account whose invitation it was. */
  readonly invitedBy?: string;
}

/**
 * The users as a plan has read them. The newest one is read first, since each creation of a user writes that record.
 */
export interface Crowd {
  readonly newest: Expectation;
  readonly count: number;
  readonly operators: Versioned<OperatorsRecord>;
}

/** @throws StoreUnavailable */
export async function crowdOf(reader: FleetReader): Promise<Crowd> {
  const newest = expectAsFound(KEYS.newcomer(), await reader.newcomer());
  return { newest, count: await reader.userCount(), operators: await reader.operators() };
}

/**
 * The operators with a user among them, or without. An operator stays one, also where there are too many.
 * @throws Refusal `conflict` for one more than `LIMITS.operatorsMax`
 */
export function operatorsAfter({ members }: OperatorsRecord, userId: string, wanted: boolean): readonly string[] {
  if (!wanted) return members.filter((id) => id !== userId);
  if (members.includes(userId)) return members;
  if (members.length >= LIMITS.operatorsMax) {
    throw new Refusal('conflict', `There are ${LIMITS.operatorsMax} operators; remove one first.`);
  }
  return [...members, userId];
}

/**
 * Makes the records of a new user; the commit conflicts where the id, the login or the identity is taken. Of two
 * who create the last user that there may be one conflicts, too: both write the newest one. An operator, also one by
 * the groups, writes the operators: the link for the first operator rests on there being none.
 * @throws Refusal `conflict` where there are `LIMITS.usersMax` users, or `LIMITS.operatorsMax` operators
 */
export function userCreation(
  userId: string,
  user: NewUser,
  { newest, count, operators }: Crowd,
): ChangeParts & { readonly record: UserRecord } {
  if (count >= LIMITS.usersMax) throw new Refusal('conflict', `There are ${LIMITS.usersMax} users already.`);
  const { name, login, createdAt, identity, password, mapped, role = 'none', invitedBy } = user;
  const operator = role === 'operator';
  const members = operator ? operatorsAfter(operators.record, userId, true) : operators.record.members;
  const isOperator = operator || mapped?.operator === true;
  const hasRole = role !== 'none' || invitedBy !== undefined || hasRoles(mapped);
  const fields: UserRecord = {
    name,
    login,
    createdAt,
    disabled: false,
    identities: identity ? [{ ...identity }] : [],
    passkeys: [],
    rolesAt: createdAt,
    ...(password && { password }),
    ...(mapped && { mapped }),
    ...(invitedBy !== undefined && { invitedBy }),
    ...(!hasRole && { roleless: createdAt }),
  };
  const record = withGivenRole(fields, role);
  const locators = [...(login === '' ? [] : [loginKey(login)]), ...(identity ? [identityKey(identity)] : [])];
  const taken = login === '' ? locators : [...new Set([...locators, ...loginKeys(login)])];
  return {
    record,
    expect: [
      newest,
      ...(isOperator ? [expectUnchanged(operators)] : []),
      ...[KEYS.user(userId), ...taken].map(expectAbsent),
    ],
    write: [
      put(KEYS.user(userId), record),
      put(KEYS.newcomer(), { userId }),
      ...(isOperator ? [put(KEYS.operators(), { ...operators.record, members })] : []),
      ...locators.map((key) => put(key, { userId })),
    ],
  };
}
