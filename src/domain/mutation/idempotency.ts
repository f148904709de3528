import { hash } from 'node:crypto';
import { expectAsFound, type ChangeParts, type Store, type Write } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { sealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { RecordOf } from '../records/registry.ts';
import { Refusal, type RefusalCode } from '../refusal.ts';

/** H19: the Idempotency-Key of a request, by which a repetition gets the same answer. */
export interface IdempotencyKey {
  /** The Idempotency-Key field, 1 to 255 printable ASCII characters. */
  readonly key: string;
  readonly path: string;
  /** The content of the request: the same key with another content is refused. */
  readonly question: string;
}

/** The recorded answers to requests with an Idempotency-Key (H19). */
export interface IdempotencyRecords {
  /**
   * Looks for the record of a request that was answered before.
   * @param scope whose records they are: an account's id, or the name of a ring of the operator's (operator-creates.ts)
   * @param at the instant of the request, in milliseconds since 1970
   * @param reader tells the active key, which seals a new record; the commit then expects that key
   * @returns the recorded answer with the function that replaces it, or the function that adds a record to a commit
   * @throws Refusal where the key was used with another content; StoreUnavailable, BadRecord
   */
  find(
    scope: string,
    asked: IdempotencyKey,
    at: number,
    reader: FleetReader,
  ): Promise<FoundAnswer | { record: RecordAnswer }>;
}

/** A recorded answer. */
export interface FoundAnswer {
  readonly answer: string;
  /** As `RecordAnswer`, in the same record, which ends when it would have ended. */
  readonly replace: (answer: Secret) => Promise<ChangeParts>;
}

/**
 * Makes the expectations and writes by which an idempotency record joins the commit of the change that it answers for.
 * @param number how many records of this scope were made before; the same commit must count this one
 * @throws StoreUnavailable, BadRecord
 */
export type RecordAnswer = (number: number, answer: Secret) => Promise<ChangeParts>;

/** The refusal of a key that was used with another content. */
export interface OtherContent {
  readonly code: RefusalCode;
  readonly says: string;
}

/** On `/v1` the name is all the content that there is. */
const OTHER_NAME: OtherContent = {
  code: 'invalid_name',
  says: 'This Idempotency-Key was used with another name; use a new key.',
};

/** The encryption context of a recorded answer. Its text is older than the name and never changes. */
export const answerContext = (scope: string, name: string): string => `kept-answer:${scope}:${name}`;
/** A record without its answer. */
type Unanswered = Pick<RecordOf<typeof KEYS.idempotencyRecord>, 'at' | 'slot' | 'question'>;

const nameOf = (asked: IdempotencyKey): string => hash('sha256', `${asked.path}\n${asked.key}`, 'base64url');
const questionOf = (asked: IdempotencyKey): string => hash('sha256', asked.question, 'base64url');

/**
 * Counts one more record of a scope that no counters count: its number, and what the commit expects and writes.
 * @param at the instant of the record, for a ring that goes once all its records have expired
 * @throws StoreUnavailable, BadRecord
 */
export async function nextInRing(
  store: Store,
  scope: string,
  at?: number,
): Promise<ChangeParts & { readonly number: number }> {
  const key = KEYS.idempotencyRing(scope);
  const entry = await store.get(key);
  const ring = entry && parseRecord(KEYS.idempotencyRing, entry);
  const number = ring?.record.next ?? 0;
  return {
    number,
    expect: [expectAsFound(key, ring)],
    write: [put(key, { ...ring?.record, next: number + 1, ...(at !== undefined && { at }) })],
  };
}

/**
 * Creates the idempotency records of a store; see `IdempotencyRecords`.
 * @param keptMax the most that a scope has: one more removes the oldest
 */
export function createIdempotencyRecords(
  store: Store,
  envelope: Envelope,
  otherContent: OtherContent = OTHER_NAME,
  keptMax: number = LIMITS.idempotencyKeptPerAccountMax,
): IdempotencyRecords {
  return {
    async find(scope, asked, at, reader) {
      const name = nameOf(asked);
      const context = answerContext(scope, name);
      const entry = await store.get(KEYS.idempotencyRecord(scope, name));
      const found = entry && parseRecord(KEYS.idempotencyRecord, entry);
      const written = async (rest: Unanswered, answer: Secret): Promise<ChangeParts> => {
        const key = await sealingKey(reader, envelope);
        const sealed = envelope.seal(answer, context, key.number);
        return {
          expect: [expectAsFound(KEYS.idempotencyRecord(scope, name), found), key.expect],
          write: [put(KEYS.idempotencyRecord(scope, name), { ...rest, answer: sealed })],
        };
      };

      if (found && at < found.record.at + LIMITS.idempotencyKeptMs) {
        const answer = envelope.open(found.record.answer, context);
        // An answer whose key is retired cannot be opened any more: it counts as expired.
        if (answer && found.record.question !== questionOf(asked)) {
          throw new Refusal(otherContent.code, otherContent.says);
        }
        const { record } = found;
        if (answer) return { answer: answer.reveal(), replace: (other) => written(record, other) };
      }
      const record: RecordAnswer = async (number, answer) => {
        const slot = number % keptMax;
        const { expect, write } = await written({ at, slot, question: questionOf(asked) }, answer);
        return {
          expect,
          write: [
            ...write,
            put(KEYS.idempotencySlot(scope, slot), { key: name }),
            ...(await evictOldest(store, scope, { slot, name, staleSlot: found?.record.slot })),
          ],
        };
      };
      return { record };
    },
  };
}

/**
 * The slots are a ring: the record that had this slot is removed, and an expired record of the same name frees its own.
 */
async function evictOldest(
  store: Store,
  scope: string,
  taking: { slot: number; name: string; staleSlot: number | undefined },
): Promise<readonly Write[]> {
  const { slot, name, staleSlot } = taking;
  const evicted: Write[] = [];
  const entry = await store.get(KEYS.idempotencySlot(scope, slot));
  const oldest = entry && parseRecord(KEYS.idempotencySlot, entry).record.key;
  if (oldest !== undefined && oldest !== name) evicted.push({ remove: KEYS.idempotencyRecord(scope, oldest) });
  if (staleSlot !== undefined && staleSlot !== slot) evicted.push({ remove: KEYS.idempotencySlot(scope, staleSlot) });
  return evicted;
}
