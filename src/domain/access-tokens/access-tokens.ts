import { expectAbsent, expectUnchanged } from '../../store/port.ts';
import { refusePastExpiry } from '../accounts/api-key-changes.ts';
import type { Secret } from '../credentials/secret.ts';
import { generateAccessToken, tokenHash } from '../credentials/tokens.ts';
import type { AccessTokenEntry, FleetReader } from '../fleet/reader.ts';
import type { LastUses } from '../last-uses/last-uses.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccessTokenRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { isExpiredToken, listedTokens, tokenRevocation, type ListedAccessToken } from '../users/made-tokens.ts';
import { includesRole } from '../users/roles.ts';
import { existingUser } from '../users/users.ts';
import { rightOf } from './token-guard.ts';

/** The facts of a token that its person chooses. */
interface NewAccessToken extends Pick<AccessTokenRecord, 'name' | 'accountId' | 'role'> {
  /** `LIMITS.accessTokenMs` from now without it. */
  readonly expiresAt?: number | undefined;
}

/** A token that was made, with its text. */
interface MadeAccessToken extends NewAccessToken {
  readonly tokenId: string;
  readonly token: Secret;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** The operations of people on their own access tokens. */
export interface AccessTokens {
  /**
   * Makes a token, whose text is in this result alone: the store keeps a hash.
   * @throws Refusal `not_found` for an account on which the person has no role, `forbidden` for a greater role than the
   *   person has, `invalid_request` for an expiry that is past or too late, `conflict` beyond
   *   `LIMITS.accessTokensPerUserMax`; StoreUnavailable; Busy
   */
  create(origin: Origin, userId: string, wanted: NewAccessToken): Promise<MadeAccessToken>;
  /** Lists the living tokens of a person, the oldest first. @throws StoreUnavailable; BadRecord */
  list(userId: string): Promise<readonly ListedAccessToken[]>;
  /**
   * Ends a token of a person; no request that begins after this has resolved is authenticated by it (A12).
   * @throws Refusal `not_found`; StoreUnavailable; Busy
   */
  revoke(origin: Origin, userId: string, tokenId: string): Promise<void>;
  /** Notes that a request was authenticated by the token. */
  used(token: AccessTokenEntry): void;
}

interface AccessTokensDeps extends MutationDeps {
  readonly uses: Pick<LastUses, 'used' | 'lastUses'>;
}

/** Creates the operations on access tokens; see `AccessTokens`. */
export function createAccessTokens(deps: AccessTokensDeps): AccessTokens {
  return {
    create: (origin, userId, wanted) => create(deps, origin, userId, wanted),
    list: async (userId) => await listedTokens(await deps.fleet.whole(), deps.uses, userId),
    async revoke(origin, userId, tokenId) {
      await mutate<void>(deps, origin, async (reader) => {
        const token = await reader.accessToken(tokenId);
        if (token?.record.userId !== userId) throw new Refusal('not_found');
        return tokenRevocation(token);
      });
    },
    used: ({ id, record }) => deps.uses.used(record.userId, id),
  };
}

async function create(
  deps: AccessTokensDeps,
  origin: Origin,
  userId: string,
  { name, accountId, role, expiresAt = origin.at + LIMITS.accessTokenMs }: NewAccessToken,
): Promise<MadeAccessToken> {
  const { at: createdAt } = origin;
  refusePastExpiry(origin, expiresAt);
  if (expiresAt > createdAt + LIMITS.accessTokenMsMax) {
    throw new Refusal('invalid_request', 'expiresAt must be at most 365 days from now.');
  }
  const { tokenId, token } = generateAccessToken(deps.random);
  const record: AccessTokenRecord = {
    userId,
    accountId,
    role,
    name,
    hash: tokenHash(token.reveal()),
    createdAt,
    expiresAt,
  };
  return await mutate(deps, origin, async (reader) => {
    const step = await creationStep(reader, tokenId, record);
    return { ...step, result: { tokenId, token, name, accountId, role, createdAt, expiresAt } };
  });
}

/**
 * The step writes the user's record as it is. Whoever takes a role away expects that record, so that of both at once
 * one conflicts (A17); so do two who make the last token that there may be.
 * @throws Refusal `not_found`, `forbidden`, `conflict`; StoreUnavailable
 */
async function creationStep(reader: FleetReader, tokenId: string, record: AccessTokenRecord): Promise<Step<void>> {
  const { userId, accountId, role, expiresAt } = record;
  const user = await existingUser(reader, userId);
  const account = await reader.account(accountId);
  const right = account && (await rightOf(reader, user, account));
  if (!right) throw new Refusal('not_found');
  if (!includesRole(right.role, role)) {
    throw new Refusal('forbidden', 'You are a viewer of the account: an access token of yours has no greater role.');
  }
  const others = [...(await reader.accessTokensOf(userId))];
  if (others.filter((one) => !isExpiredToken(one.record, reader.now())).length >= LIMITS.accessTokensPerUserMax) {
    throw new Refusal('conflict', `You have ${LIMITS.accessTokensPerUserMax} access tokens; revoke one first.`);
  }
  return {
    accountId,
    action: 'access-token.created',
    detail: { tokenId, role, expiresAt: new Date(expiresAt).toISOString() },
    expect: [expectUnchanged(user), ...right.expect, expectAbsent(KEYS.accessToken(tokenId))],
    write: [put(KEYS.accessToken(tokenId), record), put(KEYS.user(userId), user.record)],
    result: undefined,
  };
}
