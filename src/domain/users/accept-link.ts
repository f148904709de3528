import { expectUnchanged, type Write } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { AccountReader, FleetReader, UserEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type LeadingStep, type MutationDeps, type Origin, type Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import type { ValidLink } from './link-validity.ts';
import { voidedLinks, type Links } from './links.ts';
import { joiningStep, newMemberStep } from './members.ts';
import { othersWhoStay } from './last-one.ts';
import { refuseTaken } from './logins.ts';
import { canSignIn, crowdOf, passkeyKey, userCreation, type GivenRole } from './user-state.ts';
import { endings, existingUser, type UserDeps } from './users.ts';

/** The choices of a person who opened a link. */
interface LinkAnswer {
  readonly token: string;
  /** The user who is signed in, and accepts an invitation with that user's own record. */
  readonly signedIn: UserEntry | undefined;
  readonly name: string | undefined;
  readonly login: string | undefined;
  /** The hash of the password as it is stored; undefined where none was given. */
  readonly hashed: string | undefined;
}

/** The user whom a link has let in. */
interface LetIn {
  readonly userId: string;
  /** The account of an invitation. */
  readonly accountId: string | undefined;
}

/**
 * Uses a link up, in one commit with what it gives: of two who accept at once one is let in.
 * @throws Refusal `invalid_request`, `conflict` where the login is taken or a bound is reached; StoreUnavailable; Busy
 */
export type AcceptLink = (originOf: (actor: string) => Origin, answer: LinkAnswer) => Promise<LetIn>;

/** Creates the use of links; see `AcceptLink`. */
export function createAcceptLink(deps: UserDeps & { readonly links: Pick<Links, 'read'> }): AcceptLink {
  return async (originOf, answer) => {
    const newId = generateAccountId(deps.random);
    const seen = await deps.links.read(await deps.fleet.current(), answer.token);
    const userId = seen.record.userId ?? answer.signedIn?.id ?? newId;
    const origin = originOf(`user:${userId}`);
    const accepting = (): Promise<LetIn> =>
      mutate<LetIn>(deps, origin, async (reader) => {
        const link = await deps.links.read(reader, answer.token);
        const step = await stepOf({ deps, reader, origin, link, answer, userId });
        return {
          ...withParts(step, { expect: [expectUnchanged(link), ...link.relied], write: [{ remove: link.key }] }),
          detail: { ...step.detail, linkId: link.record.linkId },
          result: { userId, accountId: link.record.accountId },
        };
      });
    const letIn = await (userId === newId ? deps.newcomers(origin, accepting) : accepting());
    if (seen.record.kind === 'reset') await tellOthers(deps, origin, userId);
    return letIn;
  };
}

interface Accepting {
  readonly deps: UserDeps;
  readonly reader: FleetReader;
  readonly origin: Origin;
  readonly link: ValidLink;
  readonly answer: LinkAnswer;
  readonly userId: string;
}

function stepOf(accepting: Accepting): Promise<LeadingStep<unknown>> {
  const { link, answer } = accepting;
  if (link.record.kind === 'reset') return resetting(accepting);
  if (link.record.kind === 'first') return link.record.userId === undefined ? founding(accepting) : entering(accepting);
  return answer.signedIn ? joining(accepting) : arriving(accepting);
}

/** An invitation that a signed-in user accepts. */
async function joining({ reader, link, userId, origin }: Accepting): Promise<Step<unknown>> {
  const { accountId = '', role = 'viewer' } = link.record;
  return await joiningStep(reader, accountId, await existingUser(reader, userId), role, origin.at);
}

/**
 * The records of a user who is made by the link. @throws Refusal `invalid_request`, `conflict` where the login is taken
 */
async function newcomer(
  { deps, reader, answer, userId, origin }: Accepting,
  of: { readonly role?: GivenRole; readonly invitedBy?: string },
) {
  const { name, login, hashed } = answer;
  if (name === undefined || name === '') throw new Refusal('invalid_request', 'name: tell how others should call you.');
  if (login === undefined) throw new Refusal('invalid_request', 'login: choose a name to sign in with.');
  await refuseTaken(deps, reader, login, 'login: another user has this name to sign in with; choose another one.');
  const password = hashed === undefined ? undefined : { hash: hashed, at: origin.at };
  const user = { name, login, createdAt: origin.at, ...of, ...(password && { password }) };
  return userCreation(userId, user, await crowdOf(reader));
}

const TOO_MANY =
  `${LIMITS.invitedUsersPerAccountMax} users came by invitations of this account already: sign in as a user who is there, ` +
  'or ask an operator to delete those who are not needed.';

/** An invitation that makes a new user. Each user who is made writes the newest one, so that the count is exact. */
async function arriving(accepting: Accepting): Promise<Step<unknown>> {
  const { reader, link, userId, origin } = accepting;
  const { accountId = '', role = 'viewer' } = link.record;
  if ((await reader.userCount(accountId)) >= LIMITS.invitedUsersPerAccountMax) throw new Refusal('conflict', TOO_MANY);
  const created = await newcomer(accepting, { invitedBy: accountId });
  const step = await newMemberStep(reader, accountId, userId, role, origin.at);
  return withParts(step, created);
}

/** The first operator. */
async function founding(accepting: Accepting): Promise<Step<unknown>> {
  const { expect, write } = await newcomer(accepting, { role: 'operator' });
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.created',
    detail: { userId: accepting.userId, operator: true },
    expect,
    write,
    result: undefined,
  };
}

/** The first sign-in of a user whom an operator made. */
async function entering({ deps, reader, userId, answer, origin, link }: Accepting): Promise<Step<unknown>> {
  const user = await existingUser(reader, userId);
  const voided = await voidedLinks(deps, userId, link.key);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'link.used',
    detail: { userId, kind: 'first' },
    expect: [expectUnchanged(user)],
    write: [put(KEYS.user(userId), withPassword(user.record, answer, origin.at)), ...voided],
    result: undefined,
  };
}

function withPassword(record: UserRecord, { hashed, name }: LinkAnswer, at: number): UserRecord {
  const named = name === undefined || name === '' ? record : { ...record, name };
  return hashed === undefined ? named : { ...named, password: { hash: hashed, at } };
}

/** Accounts whose audits one commit tells; a commit has at most 127 operations. */
const TOLD_MAX = 20;

/** The accounts of a user, by invitation and by the provider's groups, in the order of their ids. */
async function accountsOf(
  reader: FleetReader,
  { id, record: { mapped } }: UserEntry,
): Promise<readonly AccountReader[]> {
  const all = new Map(Array.from(await reader.accountsOfMember(id), (account) => [account.id, account]));
  for (const { accountId } of mapped?.accounts ?? []) {
    const account = await reader.account(accountId);
    if (account) all.set(accountId, account);
  }
  return [...all.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

const toldStep = (account: AccountReader, userId: string): Step<void> => ({
  accountId: account.id,
  action: 'user.reset',
  detail: { userId },
  expect: [expectUnchanged(account)],
  write: [],
  result: undefined,
});

/** The audits of further accounts are told by commits of their own, right after the reset. */
async function tellOthers(deps: MutationDeps, origin: Origin, userId: string): Promise<void> {
  for (let from = TOLD_MAX; ; from += TOLD_MAX) {
    const more = await mutate<boolean>(deps, origin, async (reader) => {
      const accounts = await accountsOf(reader, await existingUser(reader, userId));
      const [last, ...first] = accounts.slice(from, from + TOLD_MAX).map((account) => toldStep(account, userId));
      return last ? { ...last, first, result: true } : { unchanged: false };
    });
    if (!more) return;
  }
}

/**
 * The passkeys go as well: whoever lost them could not sign in by the password alone. Every session and access token
 * ends, no browser is known any more, and without a new password there is none.
 */
async function resetting({ deps, reader, userId, answer, origin, link }: Accepting): Promise<LeadingStep<unknown>> {
  const user = await existingUser(reader, userId);
  const { password: _old, ...kept } = user.record;
  const record = { ...withPassword(kept, answer, origin.at), passkeys: [] };
  const passkeys: Write[] = user.record.passkeys.map(({ id }) => ({ remove: passkeyKey(id) }));
  // A17: without a new password nobody may be left who can sign in.
  const isLost = !canSignIn(record, deps.ways);
  const staying = isLost ? await othersWhoStay(deps, reader, userId, { operator: true, owned: 'all' }) : [];
  const told = (await accountsOf(reader, user)).slice(0, TOLD_MAX).map((account) => toldStep(account, userId));
  const voided = await voidedLinks(deps, userId, link.key);
  const tokens = [...(await reader.accessTokensOf(userId))];
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.reset',
    detail: { userId, ...(tokens.length > 0 && { accessTokens: tokens.length }) },
    expect: [user, ...staying].map(expectUnchanged),
    write: [
      put(KEYS.user(userId), record),
      { remove: KEYS.signIns(userId) },
      ...passkeys,
      ...(await endings(reader, userId)),
      ...tokens.map(({ key }) => ({ remove: key })),
      ...voided,
    ],
    first: told,
    result: undefined,
  };
}
