import { ABSENT, type Expectation, type Store } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { activeKeySchema, type ActiveKeyRecord } from '../records/replica-records.ts';
import { Busy } from '../refusal.ts';
import type { Envelope } from './envelope.ts';
import type { KeyRing } from './key-ring.ts';

/*
 * Which key seals is a record of the store, not the newest line of whatever key file a replica has: a commit that seals
 * expects it, so that nothing sealed under a key can be written once another one writes (docs/adr/0013).
 */

/** The key to seal under, and what the commit must expect so that it still is. */
export interface SealingKey {
  readonly number: number;
  readonly expect: Expectation;
}

/** Where no record says so, as in a store that an earlier version wrote, the newest key of this replica writes. */
export async function sealingKey(reader: FleetReader, envelope: Envelope): Promise<SealingKey> {
  const writing = await reader.activeKey();
  return {
    number: writing?.record.number ?? envelope.newest,
    expect: { key: KEYS.activeKey, revision: writing?.revision ?? ABSENT },
  };
}

/** Why a replica cannot serve, in words for its log and its probe; undefined when it has the key that writes. */
export function keyMissing(writing: ActiveKeyRecord | undefined, keyRing: KeyRing): string | undefined {
  if (!writing) return undefined;
  const { number, fingerprint } = writing;
  const own = keyRing.fingerprint(number);
  if (own === undefined) return `key ${number} writes and is not in the key file: add its line, the same as elsewhere`;
  if (own === fingerprint) return undefined;
  return `key ${number} of the key file is another one than the key ${number} that writes: take that line from elsewhere`;
}

/**
 * A replica that begins, or comes back, joins those that seal, after it has announced its keys: it writes the record as
 * it is. A rotation that looked before the announcement then conflicts, and looks again; one that came first is seen
 * here. The first one of all makes the record.
 * @returns why it cannot serve, as `keyMissing`
 * @throws StoreUnavailable
 */
export async function joinSealing(store: Store, keyRing: KeyRing): Promise<string | undefined> {
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    const found = await readActiveKey(store);
    const missing = keyMissing(found?.record, keyRing);
    if (missing !== undefined) return missing;
    const { newest } = keyRing;
    const record = found?.record ?? { number: newest, fingerprint: keyRing.fingerprint(newest) };
    const { outcome } = await store.commit({
      expect: [{ key: KEYS.activeKey, revision: found?.revision ?? ABSENT }],
      write: [put(KEYS.activeKey, record)],
    });
    if (outcome === 'committed') return undefined;
  }
  throw new Busy('conflicts', 'The record of the active key changed under every attempt.');
}

export async function readActiveKey(store: Store): Promise<Versioned<ActiveKeyRecord> | undefined> {
  const entry = await store.get(KEYS.activeKey);
  return entry && parseRecord(activeKeySchema, entry);
}
