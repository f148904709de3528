import { expectUnchanged } from '../../store/port.ts';
import { BeyondRole } from '../access-audit/role-refusals.ts';
import type { AccessTokenEntry, AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import type { Guard } from '../mutation/step.ts';
import type { MemberRole } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { isExpiredToken } from '../users/made-tokens.ts';
import { accountRight, includesRole, type Right } from '../users/roles.ts';

/*
 * An access token may do what its person may do on one account at that moment, and no more than its own role says. So
 * it is judged anew at each request and in each commit, as a session is (docs/adr/0082-access-tokens.md).
 */

/** An access token that lives, with its person. */
export interface LiveToken {
  readonly token: AccessTokenEntry;
  readonly user: UserEntry;
}

/** The right on an account that a request needs. */
export interface TokenNeed {
  readonly accountId: string;
  readonly role: MemberRole;
}

/** The right of a token on its account: the lesser role of its own and its person's. */
export interface TokenRight extends Right {
  readonly role: MemberRole;
}

/**
 * Reads a token and its person.
 * @throws Refusal `invalid_token` where the token has ended or expired, or its person is gone or disabled;
 *   StoreUnavailable
 */
export async function liveToken(reader: FleetReader, tokenId: string): Promise<LiveToken> {
  const token = await reader.accessToken(tokenId);
  const user = token && (await reader.user(token.record.userId));
  if (!token || !user || user.record.disabled || isExpiredToken(token.record, reader.now())) {
    throw new Refusal('invalid_token', TOKEN_REFUSED);
  }
  return { token, user };
}

/** The words of every refusal of a token itself: to the client all of them are alike. */
export const TOKEN_REFUSED = 'The access token is malformed, unknown, expired or revoked, or its person is disabled.';
const ROLELESS = 'The person of this access token has no role on the account now.';
const DISABLED = 'The account is disabled; ask the operator of this service.';
const LESS = 'The access token, or its person at this moment, has the role of a viewer; an owner may do this.';

/**
 * Judges the right of a token. Of any other account it is told what a stranger is told.
 * @throws BeyondRole; Refusal `not_found`, `forbidden`; StoreUnavailable
 */
export async function tokenRight(
  reader: FleetReader,
  { token, user }: LiveToken,
  { accountId, role: needed }: TokenNeed,
): Promise<TokenRight> {
  const account = token.record.accountId === accountId ? await reader.account(accountId) : undefined;
  if (!account) throw new Refusal('not_found');
  const right = await rightOf(reader, user, account);
  if (!right) throw new Refusal('forbidden', ROLELESS);
  const role = includesRole(token.record.role, right.role) ? right.role : token.record.role;
  if (!includesRole(role, needed)) throw new BeyondRole(role, LESS);
  return { ...right, role };
}

/**
 * The right of a person for access tokens on an account; undefined where there is none. A disabled account refuses
 * those of operators as well: no token enables it again.
 * @throws Refusal `forbidden`; StoreUnavailable
 */
export async function rightOf(
  reader: FleetReader,
  user: UserEntry,
  account: AccountReader,
): Promise<TokenRight | undefined> {
  const right = await accountRight(reader, user, account);
  if (!right) return undefined;
  if (account.record.disabled) throw new Refusal('forbidden', DISABLED);
  return { ...right, expect: [...right.expect, expectUnchanged(account)] };
}

/** The guard of a change by a token: its commit expects the token, its person and what gives the right. */
export const tokenGuard =
  (tokenId: string, need: TokenNeed): Guard =>
  async (reader) => {
    const live = await liveToken(reader, tokenId);
    const { expect } = await tokenRight(reader, live, need);
    return [expectUnchanged(live.token), expectUnchanged(live.user), ...expect];
  };
