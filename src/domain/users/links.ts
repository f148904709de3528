import { generateAccountId, generateKeyId } from '../credentials/random-ids.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { LinkRecord, MemberRole } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { pagesOf } from '../../store/pages.ts';
import { type Entry, expectAbsent, expectUnchanged, type Key, PAGE_ENTRIES_MAX, type Write } from '../../store/port.ts';
import { drawLinkToken, hasOperator, linkKeyOf, validLink, type ValidLink } from './link-validity.ts';
import { withUse } from './user-state.ts';
import { creationStep, existingUser, type CreatedUser, type User, type UserDeps } from './users.ts';

/** A link that was made. Its token is in this result alone. */
export interface MadeLink {
  readonly linkId: string;
  readonly token: Secret;
  readonly expiresAt: number;
}

/** An open invitation, without its token. Times are milliseconds since 1970. */
interface Invitation extends Pick<LinkRecord, 'linkId' | 'createdAt' | 'expiresAt' | 'by'> {
  readonly role: MemberRole;
  /** The note of its maker; empty without one. */
  readonly note: string;
}

interface WantedInvitation {
  readonly role: MemberRole;
  readonly note: string;
}

/** Makes, lists and reads links of a single use; `accept-link.ts` uses them. */
export interface Links {
  /**
   * Makes an invitation to an account, with a note for those who see the list.
   * @throws Refusal `not_found`, `conflict` beyond `LIMITS.invitationsPerAccountMax`; StoreUnavailable; Busy
   */
  invite(origin: Origin, accountId: string, wanted: WantedInvitation): Promise<MadeLink>;
  /** Lists the open invitations of an account, newest first. @throws StoreUnavailable */
  invitations(accountId: string): Promise<readonly Invitation[]>;
  /** Voids an invitation. @throws Refusal `not_found`; StoreUnavailable; Busy */
  withdraw(origin: Origin, accountId: string, linkId: string): Promise<void>;
  /**
   * Makes a user with a link for his first sign-in, in one commit.
   * @throws Refusal `conflict` where the login is taken, or there are `LIMITS.usersMax` users; StoreUnavailable;
   * Busy
   */
  forNewUser(origin: Origin, user: Omit<CreatedUser, 'createdAt'>): Promise<{ user: User; link: MadeLink }>;
  /** Makes a link that resets a user, and voids his others. @throws Refusal `not_found`; StoreUnavailable; Busy */
  forReset(origin: Origin, userId: string): Promise<MadeLink>;
  /**
   * Makes the link for the first operator, and voids those of earlier starts.
   * @returns undefined where there is an operator
   * @throws StoreUnavailable; Busy
   */
  forFirstOperator(origin: Origin): Promise<MadeLink | undefined>;
  /**
   * Reads a link that is valid: it has not expired, was not used, and whoever made it may still do so.
   * @throws Refusal `invalid_request`; StoreUnavailable
   */
  read(reader: FleetReader, token: string): Promise<ValidLink>;
}

/** Creates the operations on links; see `Links`. */
export function createLinks(deps: UserDeps): Links {
  return {
    invite: (origin, accountId, wanted) => invite(deps, origin, accountId, wanted),
    invitations: (accountId) => invitations(deps, accountId),
    withdraw: (origin, accountId, linkId) => withdraw(deps, origin, accountId, linkId),
    forNewUser: (origin, user) => forNewUser(deps, origin, user),
    forReset: (origin, userId) => forReset(deps, origin, userId),
    forFirstOperator: (origin) => forFirstOperator(deps, origin),
    read: (reader, token) => validLink(deps, reader, token),
  };
}

interface Drawn {
  readonly token: Secret;
  readonly key: Key<LinkRecord>;
  readonly record: LinkRecord;
}

type Wanted = Pick<LinkRecord, 'kind' | 'userId' | 'accountId' | 'role' | 'note'>;

/** The validity of each kind of link, in milliseconds; `first` without a user is for the first operator. */
function validMs({ kind, userId }: Wanted): number {
  if (kind === 'reset') return LIMITS.resetMs;
  return kind === 'first' && userId === undefined ? LIMITS.firstLinkMs : LIMITS.invitationMs;
}

function draw(deps: MutationDeps, origin: Origin, wanted: Wanted): Drawn {
  const token = drawLinkToken(deps.random, wanted.accountId);
  const key = linkKeyOf(token.reveal());
  if (key === undefined) throw new Error('A token of a link that was drawn is none.');
  const { at, actor: by } = origin;
  const record = { ...wanted, linkId: generateKeyId(deps.random), createdAt: at, expiresAt: at + validMs(wanted), by };
  return { token, key, record };
}

const made = ({ token, record: { linkId, expiresAt } }: Drawn): MadeLink => ({ linkId, token, expiresAt });

const detailOf = ({ linkId, kind, userId, role }: LinkRecord) => ({
  linkId,
  kind,
  ...(userId !== undefined && { userId }),
  ...(role !== undefined && { role }),
});

async function invite(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  { role, note }: WantedInvitation,
): Promise<MadeLink> {
  const drawn = draw(deps, origin, { kind: 'invitation', accountId, role, ...(note !== '' && { note }) });
  await mutate<void>(deps, origin, async (reader) => {
    const account = await reader.account(accountId);
    if (!account) throw new Refusal('not_found');
    // The counters are written as they were read before the invitations: of two that are made at once one conflicts.
    const counters = await account.counters();
    if ((await invitations(deps, accountId)).length >= LIMITS.invitationsPerAccountMax) {
      throw new Refusal('conflict', `${LIMITS.invitationsPerAccountMax} invitations are open; withdraw one first.`);
    }
    return {
      accountId,
      action: 'link.created',
      detail: detailOf(drawn.record),
      expect: [expectUnchanged(account), expectUnchanged(counters), expectAbsent(drawn.key)],
      write: [put(drawn.key, drawn.record), put(KEYS.counters(accountId), counters.record)],
      result: undefined,
    };
  });
  return made(drawn);
}

type Listed = Versioned<LinkRecord>;

/** The links of a scope that can be read, expired ones as well. */
async function linksOf({ store }: Pick<MutationDeps, 'store'>, scope: string): Promise<readonly Listed[]> {
  const links: Listed[] = [];
  for await (const { entries } of pagesOf(store, { prefix: KEYS.link.under(scope), limit: PAGE_ENTRIES_MAX })) {
    links.push(...entries.flatMap(readable));
  }
  return links;
}

function readable(entry: Entry): readonly Listed[] {
  try {
    return [parseRecord(KEYS.link, entry)];
  } catch (error) {
    if (error instanceof BadRecord) return [];
    throw error;
  }
}

async function invitations(deps: MutationDeps, accountId: string): Promise<readonly Invitation[]> {
  const now = deps.clock.now();
  const open = (await linksOf(deps, accountId)).filter(({ record }) => record.expiresAt > now);
  return open
    .map(({ record: { linkId, createdAt, expiresAt, by, role = 'viewer', note = '' } }) => ({
      linkId,
      createdAt,
      expiresAt,
      by,
      role,
      note,
    }))
    .sort((a, b) => b.createdAt - a.createdAt || (a.linkId < b.linkId ? -1 : 1));
}

async function withdraw(deps: MutationDeps, origin: Origin, accountId: string, linkId: string): Promise<void> {
  await mutate<void>(deps, origin, async () => {
    const link = (await linksOf(deps, accountId)).find(({ record }) => record.linkId === linkId);
    if (!link) throw new Refusal('not_found');
    return {
      accountId,
      action: 'link.withdrawn',
      detail: { linkId },
      expect: [expectUnchanged(link)],
      write: [{ remove: link.key }],
      result: undefined,
    };
  });
}

/** The step that puts a link of the service's own audit. */
const creation = ({ key, record }: Drawn): Step<void> => ({
  accountId: OPERATOR_AUDIT,
  action: 'link.created',
  detail: detailOf(record),
  expect: [expectAbsent(key)],
  write: [put(key, record)],
  result: undefined,
});

async function forNewUser(
  deps: UserDeps,
  origin: Origin,
  wanted: Omit<CreatedUser, 'createdAt'>,
): Promise<{ user: User; link: MadeLink }> {
  const userId = generateAccountId(deps.random);
  const drawn = draw(deps, origin, { kind: 'first', userId });
  return await deps.newcomers(origin, () =>
    mutate<{ user: User; link: MadeLink }>(deps, origin, async (reader) => {
      const created = await creationStep(deps, reader, userId, { ...wanted, createdAt: origin.at });
      return { ...creation(drawn), first: [created], result: { user: created.result, link: made(drawn) } };
    }),
  );
}

/** Links that one commit voids; more of them expire by themselves. */
const VOIDED_MAX = 20;

/** The writes that void the links of a user, such as earlier resets. @throws StoreUnavailable */
export async function voidedLinks(
  deps: Pick<MutationDeps, 'store'>,
  userId: string,
  except?: string,
): Promise<readonly Write[]> {
  const own = (await linksOf(deps, OPERATOR_AUDIT)).filter(
    ({ key, record }) => record.userId === userId && key !== except,
  );
  return own.slice(0, VOIDED_MAX).map(({ key }) => ({ remove: key }));
}

/** Whether a link that is still good leads to the user. @throws StoreUnavailable */
export const hasOpenLink = async (deps: Pick<MutationDeps, 'store'>, userId: string, now: number): Promise<boolean> =>
  (await linksOf(deps, OPERATOR_AUDIT)).some(({ record }) => record.userId === userId && record.expiresAt > now);

async function forReset(deps: MutationDeps, origin: Origin, userId: string): Promise<MadeLink> {
  const drawn = draw(deps, origin, { kind: 'reset', userId });
  await mutate<void>(deps, origin, async (reader) => {
    const user = await existingUser(reader, userId);
    // The user's record is written as it is: of two resets at once, the one that comes later voids the other one.
    return withParts(creation(drawn), {
      expect: [expectUnchanged(user)],
      write: [put(KEYS.user(userId), withUse(user.record, origin.at)), ...(await voidedLinks(deps, userId))],
    });
  });
  return made(drawn);
}

async function forFirstOperator(deps: MutationDeps, origin: Origin): Promise<MadeLink | undefined> {
  const drawn = draw(deps, origin, { kind: 'first' });
  return await mutate<MadeLink | undefined>(deps, origin, async (reader) => {
    const operators = await reader.operators();
    if (await hasOperator(reader, operators.record)) return { unchanged: undefined };
    const isEarlier = ({ record }: Listed): boolean => record.kind === 'first' && record.userId === undefined;
    const earlier = (await linksOf(deps, OPERATOR_AUDIT)).filter(isEarlier).slice(0, VOIDED_MAX);
    // The operators are written as they are: of two starts at once, the later one voids the link of the other one.
    const step = withParts(creation(drawn), {
      expect: [expectUnchanged(operators)],
      write: [put(KEYS.operators(), operators.record), ...earlier.map(({ key }) => ({ remove: key }))],
    });
    return { ...step, result: made(drawn) };
  });
}
