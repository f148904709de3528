import { hash } from 'node:crypto';
import { ABSENT, type Expectation, type Write } from '../../store/port.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Identity, UserRecord } from '../records/user-records.ts';

/* The records of a user as they are made and changed, without the store. */

const digest = (text: string): string => hash('sha256', text, 'base64url');

/** The name to sign in with, as it is compared: case and the compatibility forms of Unicode make no difference. */
export const comparableLogin = (login: string): string => login.normalize('NFKC').toLowerCase();

/** The key of the record that leads from a name to sign in with to its user. */
export const loginKey = (login: string): string => KEYS.login(digest(comparableLogin(login)));
export const identityKey = ({ issuer, subject }: Identity): string =>
  KEYS.identity(digest(JSON.stringify([issuer, subject])));
export const passkeyKey = (credentialId: string): string => KEYS.passkey(digest(credentialId));

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

const addressOf = (issuer: string): string | undefined => URL.parse(issuer)?.href;

/** Expectations and writes of one record or more. */
export interface RecordChangeSet {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

/** What is known of a user when he is made. */
export interface NewUser {
  readonly name: string;
  /** `''` for a user who has none. */
  readonly login: string;
  readonly createdAt: number;
  readonly identity?: Identity;
  readonly password?: UserRecord['password'];
  readonly mapped?: UserRecord['mapped'];
}

/** Makes the records of a new user; the commit conflicts where the id, the login or the identity is taken. */
export function userCreation(userId: string, user: NewUser): RecordChangeSet & { readonly record: UserRecord } {
  const { name, login, createdAt, identity, password, mapped } = user;
  const record: UserRecord = {
    name,
    login,
    createdAt,
    disabled: false,
    identities: identity ? [{ ...identity }] : [],
    passkeys: [],
    rolesAt: createdAt,
    ...(password && { password }),
    ...(mapped && { mapped }),
  };
  const locators = [...(login === '' ? [] : [loginKey(login)]), ...(identity ? [identityKey(identity)] : [])];
  return {
    record,
    expect: [KEYS.user(userId), ...locators].map((key) => ({ key, revision: ABSENT })),
    write: [put(KEYS.user(userId), record), ...locators.map((key) => put(key, { userId }))],
  };
}
