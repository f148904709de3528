import type { Expectation } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { FleetReader, UserEntry } from '../fleet/reader.ts';
import type { MutationDeps } from '../mutation/step.ts';
import { parseRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { linkSchema, type LinkRecord, type OperatorsRecord } from '../records/user-records.ts';
import { Refusal } from '../refusal.ts';
import { linkKeyOf } from './link-token.ts';
import { accountRight, operatorRight, type Right } from './roles.ts';
import { canSignIn } from './user-state.ts';

/** A link that is valid now, with the key of its record. */
export interface ValidLink extends Versioned<LinkRecord> {
  readonly key: string;
  /** What its validity relies on, beside its own record: whoever made it may still do so. */
  readonly relied: readonly Expectation[];
}

const INVALID = 'This link is not valid: it was used, withdrawn, or is too old. Ask for another one.';

/**
 * Reads a link that is valid: it has not expired, was not used, and whoever made it may still do so.
 * @throws Refusal `invalid_request`; StoreUnavailable
 */
export async function validLink(
  deps: Pick<MutationDeps, 'store' | 'clock' | 'fleet'>,
  reader: FleetReader,
  token: string,
): Promise<ValidLink> {
  const key = linkKeyOf(token);
  const entry = key === undefined ? undefined : await deps.store.get(key);
  if (key === undefined || !entry) throw new Refusal('invalid_request', INVALID);
  const { record, revision } = parseRecord(linkSchema, entry);
  const relied = deps.clock.now() >= record.expiresAt ? undefined : await reliedOn(deps, reader, record);
  if (!relied || (await isBarred(reader, record))) throw new Refusal('invalid_request', INVALID);
  return { key, record, revision, relied };
}

/** A disabled user is let in by no link, nor is one by a first link who has another way in by now. */
async function isBarred(reader: FleetReader, { kind, userId }: LinkRecord): Promise<boolean> {
  if (userId === undefined) return false;
  const user = await reader.user(userId);
  if (!user || user.record.disabled) return true;
  return kind === 'first' && canSignIn(user.record);
}

/**
 * What the right of whoever made a link rests on; undefined where he has lost it: he takes the links with him that he
 * made.
 */
async function reliedOn(
  { fleet }: Pick<MutationDeps, 'fleet'>,
  reader: FleetReader,
  { kind, userId, accountId, by }: LinkRecord,
): Promise<readonly Expectation[] | undefined> {
  if (kind === 'first' && userId === undefined) {
    const { record, revision } = await reader.operators();
    return hasOperator(await fleet.whole(), record) ? undefined : [{ key: KEYS.operators, revision }];
  }
  if (!by.startsWith('user:')) return [];
  const maker = await reader.user(by.slice('user:'.length));
  if (!maker || maker.record.disabled) return undefined;
  const right =
    accountId === undefined ? await operatorRight(reader, maker) : await ownerRight(reader, maker, accountId);
  return right && [{ key: KEYS.user(maker.id), revision: maker.revision }, ...right.expect];
}

/** Whether there is an operator, by people or by the provider's groups. */
export const hasOperator = (memory: Pick<FleetMemory, 'users'>, { members }: OperatorsRecord): boolean =>
  members.length > 0 || Array.from(memory.users()).some(({ record }) => record.mapped?.operator === true);

async function ownerRight(reader: FleetReader, user: UserEntry, accountId: string): Promise<Right | undefined> {
  const right = await accountRight(reader, user, accountId);
  return right?.role === 'owner' ? right : undefined;
}
