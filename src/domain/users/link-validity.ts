import { type Expectation, expectUnchanged, type Key } from '../../store/port.ts';
import { generateSecretWord, type RandomSource } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import { tokenHash } from '../credentials/tokens.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import type { MutationDeps } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { LinkRecord, OperatorsRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { accountRight, operatorRight, type Right } from './roles.ts';
import { canSignIn } from './user-state.ts';

/*
 * The token of a link: `mst_link_<scope>_<43 base62>`. The scope is the account of an invitation, or `operator`: it is
 * no secret, and finds the record; the store has the hash of the whole. The prefix lets a scanner of secrets find a
 * token.
 */

const TOKEN = /^mst_link_([a-z0-9]{16}|operator)_[0-9A-Za-z]{43}$/;

/** Draws the token of a link. @param accountId of an invitation; undefined for a link to a user */
export const drawLinkToken = (random: RandomSource, accountId: string | undefined): Secret =>
  new Secret(`mst_link_${accountId ?? OPERATOR_AUDIT}_${generateSecretWord(random)}`);

/** The key of the record of a link; undefined for what is no token. */
export function linkKeyOf(token: string): Key<LinkRecord> | undefined {
  const scope = TOKEN.exec(token)?.[1];
  return scope === undefined ? undefined : KEYS.link(scope, tokenHash(token));
}

/** A link that is valid now. */
export interface ValidLink extends Versioned<LinkRecord> {
  /** Its validity relies on these, beside its own record: whoever made it may still do so. */
  readonly relied: readonly Expectation[];
}

const INVALID = 'This link is not valid: it was used, withdrawn, or is too old. Ask for another one.';

/** A link that lets nobody in. To whoever opens it, the reasons are one. */
export class InvalidLink extends Refusal {
  readonly reason: 'malformed' | 'unknown' | 'expired';
  /** The user whom it was for. */
  readonly userId: string | undefined;

  constructor(reason: InvalidLink['reason'], userId?: string) {
    super('invalid_request', INVALID);
    this.reason = reason;
    this.userId = userId;
  }
}

/**
 * Reads a link that is valid: it has not expired, was not used, and whoever made it may still do so.
 * @throws Refusal `invalid_request`; StoreUnavailable
 */
export async function validLink(
  deps: Pick<MutationDeps, 'store' | 'clock'>,
  reader: FleetReader,
  token: string,
): Promise<ValidLink> {
  const key = linkKeyOf(token);
  if (key === undefined) throw new InvalidLink('malformed');
  const entry = await deps.store.get(key);
  if (!entry) throw new InvalidLink('unknown');
  const link = parseRecord(KEYS.link, entry);
  const { record } = link;
  const relied = deps.clock.now() >= record.expiresAt ? undefined : await reliedOn(reader, record);
  if (!relied || (await isBarred(reader, record))) throw new InvalidLink('expired', record.userId);
  return { ...link, relied };
}

/** A disabled user is let in by no link, nor is one by a first link who has another way in by now. */
async function isBarred(reader: FleetReader, { kind, userId }: LinkRecord): Promise<boolean> {
  if (userId === undefined) return false;
  const user = await reader.user(userId);
  if (!user || user.record.disabled) return true;
  return kind === 'first' && canSignIn(user.record);
}

/**
 * Returns what the right of the maker of a link rests on; undefined where it is lost: the maker takes along the links
 * that they made.
 */
async function reliedOn(
  reader: FleetReader,
  { kind, userId, accountId, by }: LinkRecord,
): Promise<readonly Expectation[] | undefined> {
  if (kind === 'first' && userId === undefined) {
    const operators = await reader.operators();
    return (await hasOperator(reader, operators.record)) ? undefined : [expectUnchanged(operators)];
  }
  if (!by.startsWith('user:')) return [];
  const maker = await reader.user(by.slice('user:'.length));
  if (!maker || maker.record.disabled) return undefined;
  const right =
    accountId === undefined ? await operatorRight(reader, maker) : await ownerRight(reader, maker, accountId);
  return right && [expectUnchanged(maker), ...right.expect];
}

/** Whether there is an operator, by people or by the provider's groups. @throws StoreUnavailable */
export async function hasOperator(reader: FleetReader, { members }: OperatorsRecord): Promise<boolean> {
  if (members.length > 0) return true;
  for (const { record } of await reader.users()) if (record.mapped?.operator === true) return true;
  return false;
}

async function ownerRight(reader: FleetReader, user: UserEntry, accountId: string): Promise<Right | undefined> {
  const account = await reader.account(accountId);
  const right = account && (await accountRight(reader, user, account));
  return right?.role === 'owner' ? right : undefined;
}
