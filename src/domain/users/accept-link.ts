import type { Write } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import type { LeadingStep, MutationDeps, Origin, Step } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { UserRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import type { Links, ValidLink } from './links.ts';
import { joiningStep, newMemberStep } from './members.ts';
import { loginKey, passkeyKey, userCreation } from './user-state.ts';
import { endings, existingUser, operatorGrant, refuseManyUsers } from './users.ts';

/** What a person gave who opened a link. */
export interface LinkAnswer {
  readonly token: string;
  /** Who is signed in, and accepts an invitation as himself. */
  readonly signedIn: UserEntry | undefined;
  readonly name: string | undefined;
  readonly login: string | undefined;
  /** The hash of the password as it is stored; undefined where none was given. */
  readonly hashed: string | undefined;
}

/** The user whom a link has let in. */
export interface LetIn {
  readonly userId: string;
  /** The account of an invitation. */
  readonly accountId: string | undefined;
}

/**
 * Uses a link up, in one commit with what it gives: of two who accept at once one is let in.
 * @throws Refusal `invalid_request`; StoreUnavailable; Busy
 */
export type AcceptLink = (originOf: (actor: string) => Origin, answer: LinkAnswer) => Promise<LetIn>;

/** Creates the use of links; see `AcceptLink`. */
export function createAcceptLink(deps: MutationDeps & { readonly links: Pick<Links, 'read'> }): AcceptLink {
  return async (originOf, answer) => {
    const newId = generateAccountId(deps.random);
    const seen = await deps.links.read(await deps.fleet.current(), answer.token);
    const userId = seen.record.userId ?? answer.signedIn?.id ?? newId;
    const origin = originOf(`user:${userId}`);
    if (userId === newId) await refuseManyUsers(deps);
    return await mutate<LetIn>(deps, origin, async (reader) => {
      const link = await deps.links.read(reader, answer.token);
      const used = { expect: [{ key: link.key, revision: link.revision }], write: [{ remove: link.key }] };
      const step = await stepOf({ deps, reader, origin, link, answer, userId });
      return {
        ...step,
        expect: [...step.expect, ...used.expect],
        write: [...step.write, ...used.write],
        detail: { ...step.detail, linkId: link.record.linkId },
        result: { userId, accountId: link.record.accountId },
      };
    });
  };
}

interface Accepting {
  readonly deps: MutationDeps;
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

/** The records of a user who is made by the link. @throws Refusal `invalid_request` */
async function newcomer({ deps, answer, userId, origin }: Accepting) {
  const { name, login, hashed } = answer;
  if (name === undefined || name === '') throw new Refusal('invalid_request', 'name: tell how others should call you.');
  if (login === undefined) throw new Refusal('invalid_request', 'login: choose a name to sign in with.');
  if (await deps.store.get(loginKey(login))) {
    throw new Refusal('invalid_request', 'login: another user has this name to sign in with; choose another one.');
  }
  const password = hashed === undefined ? undefined : { hash: hashed, at: origin.at };
  return userCreation(userId, { name, login, createdAt: origin.at, ...(password && { password }) });
}

/** An invitation that makes a new user. */
async function arriving(accepting: Accepting): Promise<Step<unknown>> {
  const { reader, link, userId, origin } = accepting;
  const { accountId = '', role = 'viewer' } = link.record;
  const created = await newcomer(accepting);
  const step = await newMemberStep(reader, accountId, userId, role, origin.at);
  return { ...step, expect: [...step.expect, ...created.expect], write: [...step.write, ...created.write] };
}

/** The first operator. */
async function founding(accepting: Accepting): Promise<Step<unknown>> {
  const { reader, userId } = accepting;
  const created = await newcomer(accepting);
  const granted = await operatorGrant(reader, userId);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.created',
    detail: { userId, operator: true },
    expect: [...created.expect, ...granted.expect],
    write: [...created.write, ...granted.write],
    result: undefined,
  };
}

/** The first sign-in of a user whom an operator made. */
async function entering({ reader, userId, answer, origin }: Accepting): Promise<Step<unknown>> {
  const user = await existingUser(reader, userId);
  return {
    accountId: OPERATOR_AUDIT,
    action: 'link.used',
    detail: { userId, kind: 'first' },
    expect: [{ key: KEYS.user(userId), revision: user.revision }],
    write: [put(KEYS.user(userId), withPassword(user.record, answer, origin.at))],
    result: undefined,
  };
}

function withPassword(record: UserRecord, { hashed, name }: LinkAnswer, at: number): UserRecord {
  const named = name === undefined || name === '' ? record : { ...record, name };
  return hashed === undefined ? named : { ...named, password: { hash: hashed, at } };
}

/** Accounts whose audits one commit tells; a commit has at most 127 operations. */
const TOLD_MAX = 40;

/** The passkeys go as well: whoever lost them could not sign in by the password alone. Every session ends. */
async function resetting({ deps, reader, userId, answer, origin }: Accepting): Promise<LeadingStep<unknown>> {
  const user = await existingUser(reader, userId);
  const memory = await deps.fleet.whole();
  const record = { ...withPassword(user.record, answer, origin.at), passkeys: [] };
  const passkeys: Write[] = user.record.passkeys.map(({ id }) => ({ remove: passkeyKey(id) }));
  const told = [...memory.accountsOfMember(userId)].slice(0, TOLD_MAX).map((account): Step<void> => ({
    accountId: account.id,
    action: 'user.reset',
    detail: { userId },
    expect: [{ key: KEYS.account(account.id), revision: account.revision }],
    write: [],
    result: undefined,
  }));
  return {
    accountId: OPERATOR_AUDIT,
    action: 'user.reset',
    detail: { userId },
    expect: [{ key: KEYS.user(userId), revision: user.revision }],
    write: [put(KEYS.user(userId), record), ...passkeys, ...endings(memory, userId)],
    first: told,
    result: undefined,
  };
}
