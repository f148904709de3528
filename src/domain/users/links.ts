import { generateKeyId } from '../credentials/random-ids.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { linkSchema, type LinkKind, type LinkRecord, type MemberRole } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { ABSENT, PAGE_ENTRIES_MAX } from '../../store/port.ts';
import { drawLinkToken, linkKeyOf } from './link-token.ts';
import { accountRight, operatorRight } from './roles.ts';
import { existingUser } from './users.ts';

/** A link that was made. Its token is in this result alone. */
export interface MadeLink {
  readonly linkId: string;
  readonly token: Secret;
  readonly expiresAt: number;
}

/** An open invitation, without its token. Times are milliseconds since 1970. */
export interface Invitation extends Pick<LinkRecord, 'linkId' | 'createdAt' | 'expiresAt' | 'by'> {
  readonly role: MemberRole;
}

/** A link that is valid now, with the key of its record. */
export interface ValidLink extends Versioned<LinkRecord> {
  readonly key: string;
}

/** Makes, lists and reads links of a single use; `accept-link.ts` uses them. */
export interface Links {
  /**
   * Makes an invitation to an account.
   * @throws Refusal `not_found`, `invalid_request` beyond `LIMITS.invitationsPerAccountMax`; StoreUnavailable; Busy
   */
  invite(origin: Origin, accountId: string, role: MemberRole): Promise<MadeLink>;
  /** Lists the open invitations of an account, newest first. @throws StoreUnavailable */
  invitations(accountId: string): Promise<readonly Invitation[]>;
  /** Voids an invitation. @throws Refusal `not_found`; StoreUnavailable; Busy */
  withdraw(origin: Origin, accountId: string, linkId: string): Promise<void>;
  /** Makes a link for a user: his first sign-in, or a reset. @throws Refusal `not_found`; StoreUnavailable; Busy */
  forUser(origin: Origin, userId: string, kind: 'first' | 'reset'): Promise<MadeLink>;
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

const INVALID = 'This link is not valid: it was used, withdrawn, or is too old. Ask for another one.';

/** Creates the operations on links; see `Links`. */
export function createLinks(deps: MutationDeps): Links {
  return {
    invite: (origin, accountId, role) => invite(deps, origin, accountId, role),
    invitations: (accountId) => invitations(deps, accountId),
    withdraw: (origin, accountId, linkId) => withdraw(deps, origin, accountId, linkId),
    forUser: (origin, userId, kind) => forUser(deps, origin, userId, kind),
    forFirstOperator: (origin) => forFirstOperator(deps, origin),
    read: (reader, token) => read(deps, reader, token),
  };
}

interface Drawn {
  readonly token: Secret;
  readonly key: string;
  readonly record: LinkRecord;
}

type Wanted = Pick<LinkRecord, 'kind' | 'userId' | 'accountId' | 'role'>;

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

async function invite(deps: MutationDeps, origin: Origin, accountId: string, role: MemberRole): Promise<MadeLink> {
  const drawn = draw(deps, origin, { kind: 'invitation', accountId, role });
  await mutate<void>(deps, origin, async (reader) => {
    const account = await reader.account(accountId);
    if (!account) throw new Refusal('not_found');
    if ((await invitations(deps, accountId)).length >= LIMITS.invitationsPerAccountMax) {
      throw new Refusal(
        'invalid_request',
        `${LIMITS.invitationsPerAccountMax} invitations are open; withdraw one first.`,
      );
    }
    return {
      accountId,
      action: 'link.created',
      detail: detailOf(drawn.record),
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        { key: drawn.key, revision: ABSENT },
      ],
      write: [put(drawn.key, drawn.record)],
      result: undefined,
    };
  });
  return made(drawn);
}

interface Listed extends Versioned<LinkRecord> {
  readonly key: string;
}

/** The links of a scope that can be read, expired ones as well. */
async function linksOf({ store }: Pick<MutationDeps, 'store'>, scope: string): Promise<readonly Listed[]> {
  const { entries } = await store.list({ prefix: KEYS.linksOf(scope), limit: PAGE_ENTRIES_MAX });
  return entries.flatMap((entry) => {
    try {
      return [{ key: entry.key, ...parseRecord(linkSchema, entry) }];
    } catch (error) {
      if (error instanceof BadRecord) return [];
      throw error;
    }
  });
}

async function invitations(deps: MutationDeps, accountId: string): Promise<readonly Invitation[]> {
  const now = deps.clock.now();
  const open = (await linksOf(deps, accountId)).filter(({ record }) => record.expiresAt > now);
  return open
    .map(({ record: { linkId, createdAt, expiresAt, by, role = 'viewer' } }) => ({
      linkId,
      createdAt,
      expiresAt,
      by,
      role,
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
      expect: [{ key: link.key, revision: link.revision }],
      write: [{ remove: link.key }],
      result: undefined,
    };
  });
}

async function forUser(
  deps: MutationDeps,
  origin: Origin,
  userId: string,
  kind: Exclude<LinkKind, 'invitation'>,
): Promise<MadeLink> {
  const drawn = draw(deps, origin, { kind, userId });
  await mutate<void>(deps, origin, async (reader) => {
    const user = await existingUser(reader, userId);
    return {
      accountId: OPERATOR_AUDIT,
      action: 'link.created',
      detail: detailOf(drawn.record),
      expect: [
        { key: KEYS.user(userId), revision: user.revision },
        { key: drawn.key, revision: ABSENT },
      ],
      write: [put(drawn.key, drawn.record)],
      result: undefined,
    };
  });
  return made(drawn);
}

/** Links of earlier starts that one commit voids; more of them expire by themselves. */
const VOIDED_MAX = 50;

async function forFirstOperator(deps: MutationDeps, origin: Origin): Promise<MadeLink | undefined> {
  const drawn = draw(deps, origin, { kind: 'first' });
  return await mutate<MadeLink | undefined>(deps, origin, async (reader) => {
    const operators = await reader.operators();
    if (operators.record.members.length > 0) return { unchanged: undefined };
    const isEarlier = ({ record }: Listed): boolean => record.kind === 'first' && record.userId === undefined;
    const earlier = (await linksOf(deps, OPERATOR_AUDIT)).filter(isEarlier).slice(0, VOIDED_MAX);
    return {
      accountId: OPERATOR_AUDIT,
      action: 'link.created',
      detail: detailOf(drawn.record),
      expect: [
        { key: KEYS.operators, revision: operators.revision },
        { key: drawn.key, revision: ABSENT },
        ...earlier.map(({ key, revision }) => ({ key, revision })),
      ],
      write: [put(drawn.key, drawn.record), ...earlier.map(({ key }) => ({ remove: key }))],
      result: made(drawn),
    };
  });
}

async function read(deps: MutationDeps, reader: FleetReader, token: string): Promise<ValidLink> {
  const key = linkKeyOf(token);
  const entry = key === undefined ? undefined : await deps.store.get(key);
  if (key === undefined || !entry) throw new Refusal('invalid_request', INVALID);
  const { record, revision } = parseRecord(linkSchema, entry);
  if (deps.clock.now() >= record.expiresAt || !(await mayStill(reader, record))) {
    throw new Refusal('invalid_request', INVALID);
  }
  return { key, record, revision };
}

/** Whoever lost the right to make a link takes the links with him that he made. */
async function mayStill(reader: FleetReader, { kind, userId, accountId, by }: LinkRecord): Promise<boolean> {
  if (kind === 'first' && userId === undefined) return (await reader.operators()).record.members.length === 0;
  if (!by.startsWith('user:')) return true;
  const maker = await reader.user(by.slice('user:'.length));
  if (!maker || maker.record.disabled) return false;
  if (accountId === undefined) return (await operatorRight(reader, maker)) !== undefined;
  return (await accountRight(reader, maker, accountId))?.role === 'owner';
}
