import { expectAbsent, expectAsFound, type Store } from '../../store/port.ts';
import { generateMarker, systemRandom, type RandomSource } from '../credentials/random-ids.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { FORMAT } from '../records/store-records.ts';
import { StoreIdentity } from './store-identity.ts';

/*
 * The format of all records together (docs/adr/0023-neighbouring-versions.md). There is one so far. A later one is
 * raised first, before any record is changed: a program that does not know it no longer starts, and one that runs
 * notices within seconds and ends.
 */

/** Says what to do with a store in which a restore was interrupted. */
export const EMPTY_IT =
  'The store holds part of a backup: empty it (of an embedded store remove its file, and those beside it that end in ' +
  '-wal and -shm; of etcd every key under MUSTER_ETCD_PREFIX) and restore again.';

/** A running replica checks this often whether the format is newer than it knows. */
export const FORMAT_CHECK_EVERY_MS = 5000;

type FormatRecord = ReturnType<typeof KEYS.format.schema.parse>;

interface Settling {
  /** Learns which store this is, and refuses another one where it expects one. */
  readonly identity?: StoreIdentity;
  /** Makes an empty store the one that `identity` expects, and gives a store without an id that id. */
  readonly initialize?: boolean;
  readonly random?: RandomSource;
}

/**
 * Checks that this program and the store's records fit, before anything else is read: an empty store takes this
 * program's format, and a newer one is refused. A store without an id gets one. Where an id is expected, an empty
 * store, and one with another id or none, is refused (A14).
 * @returns the id of the store
 * @throws Error in words for the operator, also after an interrupted restore; StoreUnavailable; BadRecord
 */
export async function settleFormat(store: Store, settling: Settling = {}): Promise<string> {
  const { identity = new StoreIdentity(), random = systemRandom() } = settling;
  for (;;) {
    const found = await fittingFormat(store, settling);
    const { storeId = identity.expected ?? generateMarker(random) } = found?.record ?? {};
    if (found?.record.storeId !== undefined) {
      identity.settle(storeId, found.text);
      return storeId;
    }
    // Another replica may do the same at this moment: then this commit conflicts, and the next attempt settles it.
    await store.commit({
      expect: [expectAsFound(KEYS.format(), found), expectAbsent(KEYS.restoring())],
      write: [put(KEYS.format(), { format: FORMAT, ...found?.record, storeId })],
    });
  }
}

/**
 * Refuses the store as `settleFormat` does, before anything is made for it that would outlive the refused start.
 * @throws Error in words for the operator; StoreUnavailable; BadRecord
 */
export async function refuseUnfitStore(
  store: Store,
  settling: Pick<Settling, 'identity' | 'initialize'>,
): Promise<void> {
  await fittingFormat(store, settling);
}

/**
 * Reads the format once more where there are records: another replica may have made it meanwhile, and written others.
 * @returns undefined where the store is empty. @throws Error in words where there are records and no format
 */
async function formatOfUsed(store: Store): Promise<Found | undefined> {
  const { entries } = await store.list({ prefix: '', limit: 1, keysOnly: true });
  if (entries.length === 0) return undefined;
  const found = await readFormat(store);
  if (found) return found;
  throw new Error(`The store has records and has lost the one of their format: ${RESTORE_IT}, or name another store.`);
}

type Found = Versioned<FormatRecord> & { readonly text: string };

/** @returns the format of a store that a start may go on with; undefined where it is empty */
async function fittingFormat(
  store: Store,
  { identity, initialize = false }: Pick<Settling, 'identity' | 'initialize'>,
): Promise<Found | undefined> {
  if (await store.get(KEYS.restoring())) throw new Error(`A restore was not finished. ${EMPTY_IT}`);
  const found = (await readFormat(store)) ?? (await formatOfUsed(store));
  refuseNewer(found?.record.format);
  refuseOther(found?.record, identity?.expected, initialize);
  return found;
}

/**
 * Refuses a newer format, for a replica that has just announced itself: the program that raises it waits only for the
 * replicas that are on the registry.
 * @throws Error in words for the operator; StoreUnavailable; BadRecord
 */
export async function refuseNewerFormat(store: Pick<Store, 'get'>): Promise<void> {
  refuseNewer((await readFormat(store))?.record.format);
}

/** Reads the format; undefined where this program knows it. @throws StoreUnavailable; BadRecord */
export async function newerFormat(store: Pick<Store, 'get'>): Promise<number | undefined> {
  const found = (await readFormat(store))?.record.format;
  return found !== undefined && found > FORMAT ? found : undefined;
}

async function readFormat(store: Pick<Store, 'get'>): Promise<Found | undefined> {
  const entry = await store.get(KEYS.format());
  return entry && { ...parseRecord(KEYS.format, entry), text: entry.value };
}

const RESTORE_IT = 'restore its data (docs/OPERATIONS.md, "A lost store")';

function refuseOther(found: FormatRecord | undefined, expected: string | undefined, initialize: boolean): void {
  if (initialize && found?.storeId === undefined) return;
  const words = otherInWords(found, expected);
  if (words !== undefined) throw new Error(words);
}

/**
 * Tells the operator that the store is not the one that is expected, and what to do; undefined where it is.
 * @param found undefined where the store is empty
 */
export function otherInWords(
  found: { readonly storeId?: string | undefined } | undefined,
  expected: string | undefined,
): string | undefined {
  if (expected === undefined || found?.storeId === expected) return undefined;
  if (found?.storeId !== undefined) {
    return `The store is not the one that MUSTER_STORE_ID names: ${RESTORE_IT}, or correct the variable.`;
  }
  if (found) return 'The store has no id, and MUSTER_STORE_ID names one: give it that id with `muster init-store`.';
  return (
    `The store is empty, and MUSTER_STORE_ID names one that was in use: ${RESTORE_IT}. ` +
    'Where this is a new installation, make it with `muster init-store`.'
  );
}

function refuseNewer(found: number | undefined): void {
  if (found !== undefined && found > FORMAT) throw new Error(newerInWords(found));
}

/** Tells the operator that the store has a newer format, and what to do. */
export const newerInWords = (found: number): string =>
  `The store was written by a newer Muster (format ${found}; this program knows up to ${FORMAT}). ` +
  'Start that version again, or restore a backup made before the upgrade.';
