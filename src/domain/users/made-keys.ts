import { expectUnchanged } from '../../store/port.ts';
import { listedKey, type ListedApiKey } from '../accounts/listed-key.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { AccessTokenEntry, AccountReader, FleetReader, FoundKey, UserEntry } from '../fleet/reader.ts';
import type { LastUses } from '../last-uses/last-uses.ts';
import { mutate } from '../mutation/mutation.ts';
import {
  withParts,
  type LeadingStep,
  type MutationDeps,
  type Origin,
  type Step,
  type Unchanged,
} from '../mutation/step.ts';
import { isExpiredKey, isFormerAlone, isMadeBy, isOfNobodyKnown, withoutFormer } from '../key-validity/key-expiry.ts';
import { userOfActor } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { listedTokens, tokenRevocation, type ListedAccessToken } from './made-tokens.ts';
import { rolesOf } from './mapped-roles.ts';
import { mappedNow } from './roles.ts';

/*
 * A17: the API keys that a person made end when somebody takes the right away by which they were made: the role of an
 * owner of the account, or that of an operator. They end in the commit that takes it, and the keys that are too many
 * for one commit end before it: so the right is gone only where the keys are, also where the service stops in between.
 *
 * A person who makes a key writes the own user record, which every such commit expects: a key that is made meanwhile
 * makes it conflict, and is found by the next attempt. A key that is made later is refused, since the right is gone by
 * then. A person who rotates a key has made its secret, and whoever made the former one counts until that ends: where
 * the person who goes knows the former secret alone, that ends, and the key goes on.
 *
 * An answer of the provider without a group takes a role, too (taken-roles.ts); nobody is there then who could keep a
 * key. Its silence and its refusals end roles, and no key (docs/adr/0081-offboarding.md).
 */

const KEEPS_OWN =
  'keepKeys: whoever goes by their own deed keeps no API keys: another owner or an operator decides on them.';

/**
 * Revocations, those of tokens among them, in the commit that takes the right, and in each commit before it: each is
 * two of 128 operations.
 */
export const BESIDE_MAX = 20;
const BATCH_MAX = 50;

/** A change that may take the right from the person who made keys. */
export interface Departure<T> {
  readonly step: LeadingStep<T>;
  /** The person. The step expects the record, and writes or removes it. */
  readonly user: UserEntry;
  /** The keys that may end: those of the person on the accounts that the change concerns. */
  readonly made: readonly FoundKey[];
  /** The access tokens that end in any case: those of accounts on which the person has no role after the change. */
  readonly tokens: readonly AccessTokenEntry[];
  /** Whether the person has the right on the account all the same, after the change. */
  readonly stays: (account: AccountReader) => boolean | Promise<boolean>;
}

/** The keys that somebody keeps, by their ids. */
interface Kept {
  readonly ids: readonly string[];
  /** Which they are was judged before: what has ended meanwhile is passed over. */
  readonly isJudged?: boolean;
}

/** The provider takes the right: no person is asked which API keys to keep. */
export const NONE_KEPT: Kept = { ids: [] };

/**
 * Commits a change, and ends the access tokens of a person without a role on their account, and the keys whose makers
 * lose their right by it, but for those that are kept, which the audit names.
 * @throws as `mutate`; Refusal `conflict` where a key is named that the person did not make, or that has ended, and
 * where somebody who goes by their own deed keeps any
 */
export async function mutateEndingKeys<T>(
  deps: MutationDeps,
  origin: Origin,
  kept: Kept,
  plan: (reader: FleetReader) => Promise<Departure<T> | LeadingStep<T> | Unchanged<T>>,
): Promise<T> {
  type Outcome = { readonly result: T } | 'more';
  for (;;) {
    const outcome = await mutate<Outcome>(deps, origin, async (reader) => {
      const departure = await plan(reader);
      if ('unchanged' in departure) return { unchanged: { result: departure.unchanged } };
      if (!('step' in departure)) return { ...departure, result: { result: departure.result } };
      const { step, user, tokens } = departure;
      if (kept.ids.length > 0 && userOfActor(origin.actor) === user.id) throw new Refusal('conflict', KEEPS_OWN);
      const ending = await endingKeys(reader, departure, kept);
      const isKept = ({ key }: FoundKey): boolean => kept.ids.includes(key.id);
      const ended = ending.filter((one) => !isKept(one)).map((key) => revocation(key, user));
      const revocations = [...tokens.map(tokenRevocation), ...ended];
      const keptKeys = ending.filter(isKept).map(({ key }) => key.id);
      if (revocations.length > BESIDE_MAX) return { ...batchOf(revocations, user), result: 'more' };
      return {
        ...step,
        ...(keptKeys.length > 0 && { detail: { ...step.detail, keptKeys: keptKeys.join(',') } }),
        first: [...(step.first ?? []), ...revocations],
        result: { result: step.result },
      };
    });
    if (outcome !== 'more') return outcome.result;
  }
}

/** The living keys that end by the change, unless they are kept. @throws Refusal `conflict`; StoreUnavailable */
async function endingKeys(
  reader: FleetReader,
  { made, stays }: Departure<unknown>,
  { ids, isJudged = false }: Kept,
): Promise<readonly FoundKey[]> {
  const living = livingOf(reader, made);
  if (!isJudged) refuseForeign(living, ids);
  const ending: FoundKey[] = [];
  for (const one of living) if (!(await stays(one.account))) ending.push(one);
  return ending;
}

/** The keys that have not expired. */
export const livingOf = (reader: Pick<FleetReader, 'now'>, keys: readonly FoundKey[]): readonly FoundKey[] =>
  keys.filter(({ key }) => !isExpiredKey(key.record, reader.now()));

/**
 * A name that is mistyped would end the key that was meant; what is living is state (409). @throws Refusal `conflict`
 */
export function refuseForeign(living: readonly FoundKey[], keep: readonly string[]): void {
  const ids = new Set(living.map(({ key }) => key.id));
  const foreign = keep.find((id) => !ids.has(id));
  if (foreign === undefined) return;
  throw new Refusal('conflict', `keepKeys: ${foreign} is no living API key that this user made there.`);
}

/** The end of what the maker knows: of the key, or of its former secret. */
const revocation = ({ account, key }: FoundKey, maker: UserEntry): Step<void> => ({
  accountId: account.id,
  expect: [expectUnchanged(key)],
  result: undefined,
  ...(isFormerAlone(key.record, maker.id)
    ? {
        action: 'key.changed',
        detail: { keyId: key.id, formerSecret: 'ended', maker: maker.id },
        withdraws: true,
        write: [put(KEYS.apiKey(account.id, key.id), withoutFormer(key.record))],
      }
    : { action: 'key.revoked', detail: { keyId: key.id, maker: maker.id }, write: [{ remove: key.key }] }),
});

/** A commit of revocations alone, before the one that takes the right. */
function batchOf(revocations: readonly Step<void>[], maker: UserEntry): LeadingStep<void> {
  const [last, ...first] = revocations.slice(0, BATCH_MAX);
  if (!last) throw new Error('a batch without keys');
  return { ...withParts(last, { expect: [expectUnchanged(maker)] }), first };
}

/** Whether the provider's groups make the user an owner of the account now, as they may beside a membership. */
export const isMappedOwner = (reader: FleetReader, user: UserEntry, account: AccountReader): boolean =>
  mappedNow(reader, user)?.accounts.some(({ accountId, role }) => accountId === account.id && role === 'owner') ===
  true;

/** Whether an account has the user as an owner, by invitation or by groups. @throws StoreUnavailable */
export async function isOwner(reader: FleetReader, user: UserEntry, account: AccountReader): Promise<boolean> {
  if (isMappedOwner(reader, user, account)) return true;
  const { members } = (await account.members()).record;
  return members.some(({ userId, role }) => userId === user.id && role === 'owner');
}

/** A living key, without its text. */
interface MadeKey extends ListedApiKey {
  readonly accountId: string;
  readonly accountName: string;
}

/** The dialogs and commands show this before a user goes. */
export interface MadeKeyList {
  readonly apiKeys: readonly MadeKey[];
  /** The living access tokens of the user: they end with the role on their account, and nobody keeps one. */
  readonly accessTokens: readonly ListedAccessToken[];
  /**
   * Living keys of the accounts that the user owns of which nobody knows who made them: somebody with an operator's
   * token, a custom resource, or an earlier version.
   */
  readonly ofNobodyKnown: readonly MadeKey[];
  /** Whether one of the lists was cut. */
  readonly more: boolean;
}

/**
 * Lists the living keys that a user made, the oldest first.
 * @param accountId of one account alone
 * @throws Refusal `not_found`; StoreUnavailable; BadRecord
 */
export type ListMadeKeys = (userId: string, accountId?: string) => Promise<MadeKeyList>;

interface MadeKeyListDeps {
  readonly fleet: Fleet;
  readonly keyUses: Pick<LastUses, 'usesAndCalls'>;
  /** The last uses of access tokens. */
  readonly tokenUses: Pick<LastUses, 'lastUses'>;
}

/** Keys in each of both lists: their accounts are read for the last uses. */
const MADE_KEYS_LISTED_MAX = 200;

/** Creates the list; see `ListMadeKeys`. */
export function createMadeKeyList({ fleet, keyUses, tokenUses }: MadeKeyListDeps): ListMadeKeys {
  return async (userId, accountId) => {
    const memory = await fleet.whole();
    const user = memory.user(userId);
    if (!user || (accountId !== undefined && !memory.account(accountId))) throw new Refusal('not_found');
    const accessTokens = await listedTokens(memory, tokenUses, userId, accountId);
    const made: FoundKey[] = [];
    const unknown: FoundKey[] = [];
    for (const account of memory.accounts()) {
      if (accountId !== undefined && account.id !== accountId) continue;
      const keys = account.apiKeys().map((key) => ({ account, key }));
      made.push(...keys.filter(({ key }) => isMadeBy(key.record, userId, memory.now())));
      const isConcerned = accountId !== undefined || (await isOwner(memory, user, account));
      if (isConcerned) unknown.push(...keys.filter(({ key }) => isOfNobodyKnown(key.record, memory.now())));
      // An account tells nothing of users elsewhere.
      const hasMade = made.length > 0 || accessTokens.length > 0;
      const isStranger = accountId !== undefined && !hasMade && !(await isListed(user, account));
      if (isStranger) throw new Refusal('not_found');
    }
    const [apiKeys, ofNobodyKnown] = [made, unknown].map((keys) => byAge(livingOf(memory, keys)));
    return {
      apiKeys: await listed(memory, apiKeys ?? [], keyUses),
      accessTokens,
      ofNobodyKnown: await listed(memory, ofNobodyKnown ?? [], keyUses),
      more: [apiKeys, ofNobodyKnown].some((keys) => (keys?.length ?? 0) > MADE_KEYS_LISTED_MAX),
    };
  };
}

/** Tells whether the list of the account's members has the user, by invitation or by groups. */
const isListed = async ({ id, record }: UserEntry, account: AccountReader): Promise<boolean> =>
  rolesOf(record)?.accounts.some(({ accountId }) => accountId === account.id) === true ||
  (await account.members()).record.members.some(({ userId }) => userId === id);

const byAge = (keys: readonly FoundKey[]): readonly FoundKey[] =>
  keys.toSorted(({ key: a }, { key: b }) => a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1));

async function listed(
  reader: FleetReader,
  keys: readonly FoundKey[],
  keyUses: MadeKeyListDeps['keyUses'],
): Promise<readonly MadeKey[]> {
  const shown = keys.slice(0, MADE_KEYS_LISTED_MAX);
  const accountIds = [...new Set(shown.map(({ account }) => account.id))];
  const uses = new Map(await Promise.all(accountIds.map(async (id) => [id, await keyUses.usesAndCalls(id)] as const)));
  const listing = shown.map(async ({ account, key }) => ({
    accountId: account.id,
    accountName: account.record.name,
    ...(await listedKey(reader, account.id, key, uses.get(account.id)?.get(key.id), reader.now())),
  }));
  return await Promise.all(listing);
}
