import { hash } from 'node:crypto';
import { ABSENT, type Expectation, type Store, type Write } from '../../store/port.ts';
import type { Secret } from '../credentials/secret.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { sealingKey } from '../keys/active-key.ts';
import type { Envelope } from '../keys/envelope.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { idempotencyRecordSchema, idempotencySlotSchema, type CountersRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';

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
   * @param at the instant of the request, in milliseconds since 1970
   * @param reader tells the active key, which seals a new record; the commit then expects that key
   * @returns the recorded answer, or the function that adds a record to a commit
   * @throws Refusal `invalid_name` where the key was used with another content; StoreUnavailable, BadRecord
   */
  find(
    accountId: string,
    asked: IdempotencyKey,
    at: number,
    reader: FleetReader,
  ): Promise<{ answer: string } | { record: RecordAnswer }>;
}

/**
 * Makes the expectations and writes by which an idempotency record joins the commit of the change that it answers for.
 * The counters number the records of the account.
 * @throws StoreUnavailable, BadRecord
 */
export type RecordAnswer = (
  counters: CountersRecord,
  answer: Secret,
) => Promise<{ expect: readonly Expectation[]; write: readonly Write[]; counters: CountersRecord }>;

/** The encryption context of a recorded answer. Its text is older than the name and never changes. */
export const answerContext = (accountId: string, name: string): string => `kept-answer:${accountId}:${name}`;
const nameOf = (asked: IdempotencyKey): string => hash('sha256', `${asked.path}\n${asked.key}`, 'base64url');
const questionOf = (asked: IdempotencyKey): string => hash('sha256', asked.question, 'base64url');

/** Creates the idempotency records of a store; see `IdempotencyRecords`. */
export function createIdempotencyRecords(store: Store, envelope: Envelope): IdempotencyRecords {
  return {
    async find(accountId, asked, at, reader) {
      const name = nameOf(asked);
      const context = answerContext(accountId, name);
      const entry = await store.get(KEYS.idempotencyRecord(accountId, name));
      const found = entry && parseRecord(idempotencyRecordSchema, entry);
      if (found && at < found.record.at + LIMITS.idempotencyKeptMs) {
        const answer = envelope.open(found.record.answer, context);
        // An answer whose key is retired cannot be opened any more: it counts as expired.
        if (answer && found.record.question !== questionOf(asked)) {
          throw new Refusal('invalid_name', 'This Idempotency-Key was used with another name; use a new key.');
        }
        if (answer) return { answer: answer.reveal() };
      }

      const record: RecordAnswer = async (counters, answer) => {
        const slot = counters.idempotencyNext % LIMITS.idempotencyKeptPerAccountMax;
        const key = await sealingKey(reader, envelope);
        const sealed = envelope.seal(answer, context, key.number);
        const written = { at, slot, question: questionOf(asked), answer: sealed };
        return {
          expect: [{ key: KEYS.idempotencyRecord(accountId, name), revision: found?.revision ?? ABSENT }, key.expect],
          write: [
            put(KEYS.idempotencyRecord(accountId, name), written),
            put(KEYS.idempotencySlot(accountId, slot), { key: name }),
            ...(await makeRoom(store, accountId, { slot, name, staleSlot: found?.record.slot })),
          ],
          counters: { ...counters, idempotencyNext: counters.idempotencyNext + 1 },
        };
      };
      return { record };
    },
  };
}

/**
 * The slots are a ring: the record that had this slot is removed, and an expired record of the same name frees its own.
 */
async function makeRoom(
  store: Store,
  accountId: string,
  taking: { slot: number; name: string; staleSlot: number | undefined },
): Promise<readonly Write[]> {
  const { slot, name, staleSlot } = taking;
  const room: Write[] = [];
  const entry = await store.get(KEYS.idempotencySlot(accountId, slot));
  const oldest = entry && parseRecord(idempotencySlotSchema, entry).record.key;
  if (oldest !== undefined && oldest !== name) room.push({ remove: KEYS.idempotencyRecord(accountId, oldest) });
  if (staleSlot !== undefined && staleSlot !== slot) room.push({ remove: KEYS.idempotencySlot(accountId, staleSlot) });
  return room;
}
