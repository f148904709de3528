import { expectAsFound, type Expectation, type Store } from '../../store/port.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ActiveKeyRecord } from '../records/replica-records.ts';
import { Busy, keyIsMissing } from '../refusal.ts';
import type { Envelope } from './envelope.ts';
import type { KeyRing } from './key-ring.ts';

/*
 * The active key seals new secrets. It is a record of the store, not the newest line of a replica's key file: a commit
 * that seals expects that record, so that nothing sealed under a key can be written once another key is active (ADR
 * 0013).
 */

/** The key to seal under, and what the commit must expect so that the key is still active. */
export interface SealingKey {
  readonly number: number;
  readonly expect: Expectation;
}

/**
 * Returns the active key. In a store of an earlier version, which has no such record, it is this replica's newest key.
 * @throws StoreUnavailable
 */
export async function sealingKey(reader: FleetReader, envelope: Envelope): Promise<SealingKey> {
  const active = await reader.activeKey();
  return {
    number: active?.record.number ?? envelope.newest,
    expect: expectAsFound(KEYS.activeKey(), active),
  };
}

/** The places that have the line of a key which a key file lacks. */
const FROM_WHERE =
  'from a backup of the key file, the key file of another replica, or the Secret that the chart mounts';

/** Says why a replica cannot serve, in words for its log and its probe; undefined when it has the active key. */
export function keyMissing(active: ActiveKeyRecord | undefined, keyRing: KeyRing): string | undefined {
  if (!active) return undefined;
  const { number, fingerprint } = active;
  const own = keyRing.fingerprint(number);
  if (own === undefined) {
    return `key ${number} is the active key and is not in the key file: add its line, ${FROM_WHERE}`;
  }
  if (own === fingerprint) return undefined;
  return `key ${number} of the key file is another one than the active key ${number}: take its line ${FROM_WHERE}`;
}

/**
 * Lets a replica that starts, or comes back, seal, after it has announced its keys: it writes the record as it is. A
 * rotation that checked the replicas before the announcement then conflicts, and checks again; a rotation that came
 * first is seen here. The first replica of all creates the record.
 * @returns why the replica cannot serve, as `keyMissing`; undefined when it can
 * @throws StoreUnavailable; BadRecord; Busy where the active key changed under every attempt
 */
export async function joinSealing(store: Store, keyRing: KeyRing): Promise<string | undefined> {
  for (let attempt = 1; attempt <= LIMITS.conflictAttemptsMax; attempt += 1) {
    const found = await readActiveKey(store);
    const missing = keyMissing(found?.record, keyRing);
    if (missing !== undefined) return missing;
    const { newest } = keyRing;
    const fingerprint = keyRing.fingerprint(newest);
    if (fingerprint === undefined) throw keyIsMissing(newest);
    const record = found?.record ?? { number: newest, fingerprint };
    const { outcome } = await store.commit({
      expect: [expectAsFound(KEYS.activeKey(), found)],
      write: [put(KEYS.activeKey(), record)],
    });
    if (outcome === 'committed') return undefined;
  }
  throw new Busy('conflicts', 'The active key changed under every attempt.');
}

/**
 * Reads the record of the active key from the store; undefined where there is none.
 * @throws StoreUnavailable; BadRecord
 */
export async function readActiveKey(store: Store): Promise<Versioned<ActiveKeyRecord> | undefined> {
  const entry = await store.get(KEYS.activeKey());
  return entry && parseRecord(KEYS.activeKey, entry);
}
