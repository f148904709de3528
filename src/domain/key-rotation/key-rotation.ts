import type { Log } from '../../log.ts';
import type { Sections } from '../../metrics/instruments/sections.ts';
import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, expectAsFound, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { purgesAwaitingRetirement } from '../history/purges.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import { beforeAnotherAttempt, refuseLate } from '../mutation/commit.ts';
import { requestFields, type MutationDeps, type Origin } from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ReplicaRecord } from '../records/replica-records.ts';
import { Refusal } from '../refusal.ts';
import type { Replicas } from '../replicas/replicas.ts';
import { isRetired, readRewrapped } from './keys-in-use.ts';

/*
 * The rotation of the key-encryption key: it makes another key the active one, and shows what is still sealed under
 * which key. The leader rewraps the data keys that older keys wrap (rewrap.ts).
 */

export const keyRotationMetrics = ({ keys }: Sections) => ({
  keyRotated: keys.counter({
    name: 'muster_key_rotations_total',
    help: 'Rotations of the key-encryption key that this replica made.',
    unit: 'rotations',
  }),
});

interface KeyRotationDeps extends Pick<MutationDeps, 'random'> {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: MutationDeps['metrics'] & ReturnType<typeof keyRotationMetrics>;
  readonly keyRing: KeyRing;
  readonly replicas: Replicas;
}

/** The body of `GET /operator/v1/keys`, so the names of its fields are those of the API. */
export interface KeyStatus {
  /** The number of the active key. */
  readonly writing: number;
  /** The keys in the key file of the replica that answers. */
  readonly known: readonly number[];
  readonly replicas: readonly { readonly replicaId: string; readonly keyNumbers: readonly number[] }[];
  /** How many headers and idempotency records each key seals, by its number. */
  readonly sealedUnder: ReadonlyMap<number, number>;
  /** False where there were more idempotency records than were counted. */
  readonly countedAll: boolean;
  /** How many purged secrets logs and backups may hold, by the number of the last key that sealed them (O10). */
  readonly awaitingRetirement: ReadonlyMap<number, number>;
  /** Known keys that nothing needs any more: their lines may be removed, on every replica. */
  readonly removable: readonly number[];
}

/** The operator's operations on the key-encryption keys. */
export interface KeyRotation {
  /** @throws StoreUnavailable; BadRecord */
  status(): Promise<KeyStatus>;
  /**
   * Makes the newest key of this replica's file the active one, if every live replica has it. A repeated call changes
   * nothing.
   * @returns `writing` is the number of the active key now, `before` of the one before
   * @throws Refusal `invalid_request` in words; StoreUnavailable; BadRecord; Busy where the deadline passed, or the
   * active key changed under every attempt
   */
  rotate(origin: Origin): Promise<{ readonly writing: number; readonly before: number }>;
}

/** How many idempotency records one status counts: more would take longer than an answer may. */
const RECORDS_COUNTED_MAX = 20_000;

/** Creates the operations on keys; see `KeyRotation`. */
export function createKeyRotation(deps: KeyRotationDeps): KeyRotation {
  return { status: () => status(deps), rotate: (origin) => rotate(deps, origin) };
}

async function rotate(deps: KeyRotationDeps, origin: Origin): Promise<{ writing: number; before: number }> {
  const { store, keyRing, log, metrics } = deps;
  for (let attempt = 1; ; attempt += 1) {
    // The active key is read before the live replicas: a replica that joins later writes that record, and the commit
    // conflicts.
    const reader = await deps.fleet.current();
    const relied = (await origin.guard?.(reader)) ?? [];
    const found = await reader.activeKey();
    const before = found?.record.number ?? keyRing.newest;
    const { newest } = keyRing;
    if (found && newest === before) return { writing: newest, before };
    refuseUnlessNewer(newest, before);
    const fingerprint = keyRing.fingerprint(newest) ?? '';
    refuseUnlessKnown(await deps.replicas.live(), newest, fingerprint);
    refuseLate(deps, origin);
    const { outcome } = await store.commit({
      expect: [expectAsFound(KEYS.activeKey(), found), ...relied],
      write: [put(KEYS.activeKey(), { ...found?.record, number: newest, fingerprint })],
    });
    if (outcome === 'committed') {
      metrics.keyRotated();
      log.info({ ...requestFields(origin), before, active: newest }, 'another key is active');
      return { writing: newest, before };
    }
    await beforeAnotherAttempt(deps, attempt, origin.deadline);
  }
}

function refuseUnlessNewer(newest: number, active: number): void {
  if (newest >= active) return;
  throw new Refusal(
    'invalid_request',
    `Key ${active} is the active key, and the key file of this replica has no key so new.`,
  );
}

/** Two keys under one number would each seal what the other cannot open. */
function refuseUnlessKnown(live: readonly ReplicaRecord[], number: number, fingerprint: string): void {
  const lacking = live.filter(({ keyNumbers }) => !keyNumbers.includes(number)).length;
  if (lacking > 0) {
    throw new Refusal(
      'invalid_request',
      `${lacking} of ${live.length} replicas do not know key ${number} yet: add its line to the key file of each, ` +
        'and wait until GET /operator/v1/keys shows it everywhere.',
    );
  }
  const different = live.filter(({ fingerprints }) => fingerprints[number] !== fingerprint).length;
  if (different === 0) return;
  throw new Refusal(
    'invalid_request',
    `${different} of ${live.length} replicas have another key under the number ${number}: the line must be the same ` +
      'everywhere. Take it out, and add one line with the next number to all.',
  );
}

async function status({ store, fleet, keyRing, replicas }: KeyRotationDeps): Promise<KeyStatus> {
  const reader = await fleet.current();
  const [active, live, idempotency, awaitingRetirement, rewrapped] = await Promise.all([
    reader.activeKey(),
    replicas.live(),
    idempotencyRecordsByKey(store),
    purgesAwaitingRetirement(store, keyRing),
    readRewrapped(store),
  ]);
  const number = active?.record.number ?? keyRing.newest;
  return {
    writing: number,
    known: keyRing.numbers,
    replicas: live.map(({ replicaId, keyNumbers }) => ({ replicaId, keyNumbers })),
    sealedUnder: addHeaders(idempotency.counts, fleet.memory),
    countedAll: idempotency.all,
    awaitingRetirement,
    removable: keyRing.numbers.filter((known) => isRetired(known, number, rewrapped)),
  };
}

async function idempotencyRecordsByKey(store: Store): Promise<{ counts: Map<number, number>; all: boolean }> {
  const counts = new Map<number, number>();
  let seen = 0;
  for await (const { entries, next } of pagesOf(store, {
    prefix: KEYS.idempotencySlot.under(),
    limit: PAGE_ENTRIES_MAX,
  })) {
    for (const entry of entries) {
      if (!entry.key.includes('/answer/')) continue;
      count(counts, parseRecord(KEYS.idempotencyRecord, entry).record.answer.keyNumber);
    }
    seen += entries.length;
    if (next !== undefined && seen >= RECORDS_COUNTED_MAX) return { counts, all: false };
  }
  return { counts, all: true };
}

function addHeaders(counts: Map<number, number>, memory: FleetMemory): ReadonlyMap<number, number> {
  for (const account of memory.accounts()) {
    const header = account.otel()?.record.config?.header;
    if (header) count(counts, header.keyNumber);
  }
  return counts;
}

function count(counts: Map<number, number>, number: number): void {
  counts.set(number, (counts.get(number) ?? 0) + 1);
}
