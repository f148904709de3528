import { hash } from 'node:crypto';
import { expectAsFound, type ChangeParts, type Store, type Write } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { sealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
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
   * @returns the recorded answer, or the function that adds a record to a commit
   * @throws Refusal where the key was used with another content; StoreUnavailable, BadRecord
   */
  find(
    scope: string,
    asked: IdempotencyKey,
    at: number,
    reader: FleetReader,
  ): Promise<{ answer: string } | { record: RecordAnswer }>;
}

/**
 * Makes the expectations and writes by which an idempotency record joins the commit of the change that it answers for.
 * @param number how many records of this scope were made before; the same commit must count this one
 * @throws StoreUnavailable, BadRecord
 */
export type RecordAnswer = (number: number, answer: Secret) => Promise<ChangeParts>;

/** The refusal of a key that was used with another content. */
interface OtherContent {
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
const nameOf = (asked: IdempotencyKey): string => hash('sha256', `${asked.path}\n${asked.key}`, 'base64url');
const questionOf = (asked: IdempotencyKey): string => hash('sha256', asked.question, 'base64url');

/** Creates the idempotency records of a store; see `IdempotencyRecords`. */
export function createIdempotencyRecords(
  store: Store,
  envelope: Envelope,
  otherContent = OTHER_NAME,
): IdempotencyRecords {
  return {
    async find(scope, asked, at, reader) {
      const name = nameOf(asked);
      const context = answerContext(scope, name);
      const entry = await store.get(KEYS.idempotencyRecord(scope, name));
      const found = entry && parseRecord(KEYS.idempotencyRecord, entry);
      if (found && at < found.record.at + LIMITS.idempotencyKeptMs) {
        const answer = envelope.open(found.record.answer, context);
        // An answer whose key is retired cannot be opened any more: it counts as expired.
        if (answer && found.record.question !== questionOf(asked)) {
          throw new Refusal(otherContent.code, otherContent.says);
        }
        if (answer) return { answer: answer.reveal() };
      }

      const record: RecordAnswer = async (number, answer) => {
        const slot = number % LIMITS.idempotencyKeptPerAccountMax;
        const key = await sealingKey(reader, envelope);
        const sealed = envelope.seal(answer, context, key.number);
        const written = { at, slot, question: questionOf(asked), answer: sealed };
        return {
          expect: [expectAsFound(KEYS.idempotencyRecord(scope, name), found), key.expect],
          write: [
            put(KEYS.idempotencyRecord(scope, name), written),
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
