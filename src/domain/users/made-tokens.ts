import { expectUnchanged } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { AccessTokenEntry, AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import type { LastUses } from '../last-uses/last-uses.ts';
import type { Step } from '../mutation/step.ts';
import type { AccessTokenRecord } from '../records/user-records.ts';
import { mappedNow } from './roles.ts';

/*
 * A17: the access tokens of a person on an account end when somebody takes the last role there away, in the commit that
 * takes it. Nobody keeps one by name: it acts as the person, who has gone. With a lesser role they only do less.
 */

/** The step that ends a token. */
export const tokenRevocation = (token: AccessTokenEntry): Step<void> => ({
  accountId: token.record.accountId,
  action: 'access-token.revoked',
  detail: { tokenId: token.id, maker: token.record.userId },
  expect: [expectUnchanged(token)],
  write: [{ remove: token.key }],
  result: undefined,
});

/** The roles of a person that stay after a change. */
interface Staying {
  /** Whether the person stays an operator, who has a right on every account. */
  readonly operator: boolean;
  /** The account whose membership by invitation ends with the change. */
  readonly leaves?: AccountReader;
}

/** The tokens of a person whose account has no role for them after the change. @throws StoreUnavailable */
export async function tokensWithoutRole(
  reader: FleetReader,
  user: UserEntry,
  { operator, leaves }: Staying,
): Promise<readonly AccessTokenEntry[]> {
  if (operator) return [];
  const tokens = [...(await reader.accessTokensOf(user.id))];
  const mapped = mappedNow(reader, user)?.accounts.map(({ accountId }) => accountId) ?? [];
  const given = Array.from(await reader.accountsOfMember(user.id), ({ id }) => id).filter((id) => id !== leaves?.id);
  const staying = new Set([...mapped, ...given]);
  // The end of a membership says nothing of other accounts: what has lapsed there may come back by the provider.
  const concerned = leaves ? tokens.filter(({ record }) => record.accountId === leaves.id) : tokens;
  return concerned.filter(({ record }) => !staying.has(record.accountId));
}

/** A11: a token is valid while now < expiresAt. */
export const isExpiredToken = ({ expiresAt }: AccessTokenRecord, now: number): boolean => now >= expiresAt;

/** A living token, without its text. Times are milliseconds since 1970. */
export interface ListedAccessToken extends Pick<
  AccessTokenRecord,
  'name' | 'accountId' | 'role' | 'createdAt' | 'expiresAt'
> {
  readonly tokenId: string;
  /** The name of the account now. */
  readonly accountName: string;
  /** When a request was last authenticated by it; undefined where none was. */
  readonly lastUsedAt: number | undefined;
}

/**
 * Lists the living tokens of a user, the oldest first.
 * @param accountId of one account alone
 * @throws StoreUnavailable; BadRecord
 */
export async function listedTokens(
  memory: FleetMemory,
  uses: Pick<LastUses, 'lastUses'>,
  userId: string,
  accountId?: string,
): Promise<readonly ListedAccessToken[]> {
  const living = memory
    .accessTokensOf(userId)
    .filter(({ record }) => !isExpiredToken(record, memory.now()))
    .filter(({ record }) => accountId === undefined || record.accountId === accountId);
  const lastUses = living.length === 0 ? new Map<string, number>() : await uses.lastUses(userId);
  return living
    .map(({ id, record: { name, accountId: of, role, createdAt, expiresAt } }) => ({
      tokenId: id,
      name,
      accountId: of,
      accountName: memory.account(of)?.record.name ?? '',
      role,
      createdAt,
      expiresAt,
      lastUsedAt: lastUses.get(id),
    }))
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.tokenId < b.tokenId ? -1 : 1));
}
