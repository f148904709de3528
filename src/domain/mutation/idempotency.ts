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

/** H19: what a caller named, so that asking again gives the same answer. */
export interface IdempotencyKey {
  /** The Idempotency-Key field, 1 to 255 printable ASCII characters. */
  readonly key: string;
  readonly path: string;
  /** What was asked beside the path: the same key with another question is refused. */
  readonly question: string;
}

export interface IdempotencyRecords {
  /**
   * @param reader tells the key that what is kept is sealed under; the commit then expects that key
   * @returns the kept answer's text, or what it takes to keep one
   * @throws Refusal `invalid_name` where the key was used for another question; StoreUnavailable
   */
  find(
    accountId: string,
    asked: IdempotencyKey,
    at: number,
    reader: FleetReader,
  ): Promise<{ answer: string } | { keep: Keep }>;
}

/** What keeping the answer adds to the commit that makes it true. The counters counts the kept answers of the account. */
export type Keep = (
  counters: CountersRecord,
  answer: Secret,
) => Promise<{ expect: readonly Expectation[]; write: readonly Write[]; counters: CountersRecord }>;

export const answerContext = (accountId: string, name: string): string => `kept-answer:${accountId}:${name}`;
const nameOf = (asked: IdempotencyKey): string => hash('sha256', `${asked.path}\n${asked.key}`, 'base64url');
const questionOf = (asked: IdempotencyKey): string => hash('sha256', asked.question, 'base64url');

export function createIdempotencyRecords(store: Store, envelope: Envelope): IdempotencyRecords {
  return {
    async find(accountId, asked, at, reader) {
      const name = nameOf(asked);
      const context = answerContext(accountId, name);
      const entry = await store.get(KEYS.idempotencyRecord(accountId, name));
      const kept = entry && parseRecord(idempotencyRecordSchema, entry);
      if (kept && at < kept.record.at + LIMITS.idempotencyKeptMs) {
        const answer = envelope.open(kept.record.answer, context);
        // An answer that no key opens any more (a retired key) is as if it had expired.
        if (answer && kept.record.question !== questionOf(asked)) {
          throw new Refusal('invalid_name', 'This Idempotency-Key was used with another name; use a new key.');
        }
        if (answer) return { answer: answer.reveal() };
      }

      const keep: Keep = async (counters, answer) => {
        const slot = counters.idempotencyNext % LIMITS.idempotencyKeptPerAccountMax;
        const key = await sealingKey(reader, envelope);
        const sealed = envelope.seal(answer, context, key.number);
        const record = { at, slot, question: questionOf(asked), answer: sealed };
        return {
          expect: [{ key: KEYS.idempotencyRecord(accountId, name), revision: kept?.revision ?? ABSENT }, key.expect],
          write: [
            put(KEYS.idempotencyRecord(accountId, name), record),
            put(KEYS.idempotencySlot(accountId, slot), { key: name }),
            ...(await makeRoom(store, accountId, { slot, name, staleSlot: kept?.record.slot })),
          ],
          counters: { ...counters, idempotencyNext: counters.idempotencyNext + 1 },
        };
      };
      return { keep };
    },
  };
}

/** The slots are a ring: the answer that had this one goes, and an expired answer of the same name leaves its own. */
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
