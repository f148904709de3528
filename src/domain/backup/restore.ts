import { createHash, type Hash } from 'node:crypto';
import {
  CACHED_PREFIX,
  committedSnapshot,
  type Entry,
  expectAbsent,
  type Expectation,
  expectUnchanged,
  type Key,
  type Store,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { withThrough } from '../audit/chain.ts';
import { generateMarker } from '../credentials/random-ids.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { ChainRecord } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { FORMAT } from '../records/store-records.ts';
import { EMPTY_IT } from '../replicas/format.ts';
import { BadBackup, readBackup, type BackupHeader } from './file-format.ts';
import { neverConfigured, newCounters, placementOf, type Counters, type RestoreRules } from './restore-rules.ts';
import { commitOnce, RestoreFault, RestoreWriter } from './restore-writer.ts';

/** The facts that the check of a backup depends on. */
interface CheckDeps extends RestoreRules {
  /** Undefined where only damage is looked for, and not who made the backup. */
  readonly trust: BackupTrust | undefined;
}

interface RestoreDeps extends CheckDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The id of the restored store; a new one where it is undefined, since a copy elsewhere is another store (A14). */
  readonly storeId?: string | undefined;
  readonly trust: BackupTrust;
}

/** The proof of who made a backup: its signature, or a person who knows the file. */
export interface BackupTrust {
  /** The keys that the signature is verified with; undefined where there are none. */
  readonly keyRing: KeyRing | undefined;
  /** The SHA-256 of the whole file, in hexadecimal, from a person who vouches for it. */
  readonly sha256?: string | undefined;
}

/** Opens the backup at its beginning; it is called once for each pass. */
type OpenBackup = () => AsyncIterable<Uint8Array>;

export interface Restored {
  readonly header: BackupHeader;
  readonly entries: number;
  readonly codesVoided: number;
  /** Collector headers that no key opens: they read as not set. */
  readonly unopened: number;
}

/**
 * Writes a backup into an empty store. The whole backup is checked before anything is written, also who made it; each
 * later reading must be of the same bytes, or the store is left without a format. The record `restoring`
 * is written first, and removed last with the commit that writes the format: a service refuses to start on an
 * interrupted restore. The audit is written in the order that its chain needs (domain/audit/chain.ts, `withThrough`).
 * @throws BadBackup; BadRecord; StoreUnavailable, all before anything is written; RestoreFault in words for the
 *   operator
 */
export async function restore(deps: RestoreDeps, open: OpenBackup): Promise<Restored> {
  await refuseUnlessEmpty(deps.store);
  const { header, sum, counters } = await survey(deps, open);
  const fence = await begin(deps, header, sum);
  const writer = new RestoreWriter(deps.store, deps.clock, fence);
  const entries = (): AsyncIterable<Entry> => entriesOf(open(), sum);
  try {
    const chains = await writeSealed(deps, writer, entries(), counters);
    for (const [key, chain] of chains) await writer.put(key, JSON.stringify(withThrough(chain, writer.revision)));
    await writer.flush();
    await writeUnsealed(deps, writer, entries(), counters);
    for (const accountId of counters.unconfigured) await writer.put(KEYS.otel(accountId), neverConfigured(deps));
    for (const [number, count] of counters.purged) await writer.put(KEYS.purged(number), JSON.stringify({ count }));
    await writer.flush();
    await finish(deps, fence, header);
  } catch (error) {
    await writer.settle();
    throw interrupted(error);
  }
  return { header, entries: counters.entries, codesVoided: counters.codesVoided, unopened: counters.unopened };
}

/** The result that a restore would have. */
export interface Checked extends Restored {
  /** SHA-256 of the whole file, in hexadecimal. */
  readonly sha256: string;
}

/**
 * Checks a backup as a restore does before it writes, and writes nothing.
 * @throws BadBackup; BadRecord
 */
export async function checkBackup(deps: CheckDeps, open: OpenBackup): Promise<Checked> {
  const { header, sum, counters } = await survey(deps, open);
  const { entries, codesVoided, unopened } = counters;
  return { header, sha256: sum, entries, codesVoided, unopened };
}

/** Adds to an error what the operator must do with the store, which holds part of a backup now. */
function interrupted(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof RestoreFault) return error;
  return new RestoreFault(`${error.message.replace(/\.?$/, '.')} ${EMPTY_IT}`, { cause: error });
}

/** @throws RestoreFault where a backup cannot be restored into this store; StoreUnavailable */
export async function refuseUnlessEmpty(store: Store): Promise<void> {
  if (await store.get(KEYS.restoring()))
    throw new RestoreFault(`A restore into this store was interrupted. ${EMPTY_IT}`);
  const { entries } = await store.list({ prefix: '', limit: 1, keysOnly: true });
  if (entries.length > 0) {
    throw new RestoreFault('The store is not empty: a backup is only restored into an empty one. Nothing was written.');
  }
}

interface Surveyed {
  readonly header: BackupHeader;
  /** SHA-256 of the whole file, in hexadecimal. */
  readonly sum: string;
  readonly counters: Counters;
}

/** Checks the whole file, and counts what must be known before anything is written. */
async function survey(deps: CheckDeps, open: OpenBackup): Promise<Surveyed> {
  const { keyRing, sha256 } = deps.trust ?? {};
  const proof = deps.trust && { keyRing, vouched: sha256 !== undefined };
  const counters = newCounters();
  const hash = createHash('sha256');
  let header: BackupHeader | undefined;
  for await (const piece of readBackup(summed(open(), hash), proof)) {
    if ('header' in piece) header = readable(piece.header);
    else if ('entry' in piece) placementOf(piece.entry, deps, counters);
  }
  if (!header) throw new BadBackup('The backup is empty.');
  const sum = hash.digest('hex');
  if (sha256 !== undefined && sha256.toLowerCase() !== sum) {
    throw new BadBackup(`The backup is not the file that --allow-unsigned names: its SHA-256 is ${sum}.`);
  }
  return { header, sum, counters };
}

/** Passes bytes on, and adds them to a digest. */
async function* summed(bytes: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
}

function readable(header: BackupHeader): BackupHeader {
  if (header.recordsFormat <= FORMAT) return header;
  throw new BadBackup(
    `The backup holds records of a newer Muster (format ${header.recordsFormat}; this program knows up to ${FORMAT}): ` +
      'restore it with that version.',
  );
}

/** Yields the entries again. @throws RestoreFault where the file is not the one that was checked */
async function* entriesOf(bytes: AsyncIterable<Uint8Array>, sum: string): AsyncGenerator<Entry, void> {
  const hash = createHash('sha256');
  for await (const piece of readBackup(summed(bytes, hash))) if ('entry' in piece) yield piece.entry;
  if (hash.digest('hex') !== sum) {
    throw new RestoreFault(`The file was changed while it was being restored. ${EMPTY_IT}`);
  }
}

async function begin(deps: RestoreDeps, header: BackupHeader, sum: string): Promise<Expectation> {
  const { store, clock, random } = deps;
  const mark = { at: clock.now(), backupOf: header.at, sha256: sum, marker: generateMarker(random) };
  const write = put(KEYS.restoring(), mark);
  const expect = [
    expectAbsent(KEYS.restoring()),
    // A service that started meanwhile has written it.
    expectAbsent(KEYS.format()),
  ] as const;
  const revision = await commitOnce(store, clock, { expect, write: [write] }, async () => {
    const entry = await store.get(KEYS.restoring());
    return entry?.value === write.value ? entry.revision : undefined;
  });
  return expectUnchanged(committedSnapshot(KEYS.restoring(), { outcome: 'committed', revision }));
}

/** Writes everything but the heads of the audit chains, which it returns, and the unsealed audit entries. */
async function writeSealed(
  deps: RestoreDeps,
  writer: RestoreWriter,
  entries: AsyncIterable<Entry>,
  { sealedThrough }: Counters,
): Promise<ReadonlyMap<Key, ChainRecord>> {
  const chains = new Map<Key, ChainRecord>();
  const counters = { ...newCounters(), sealedThrough };
  let isCached = false;
  for await (const entry of entries) {
    const placement = placementOf(entry, deps, counters);
    if (placement === 'not written') continue;
    if (!isCached && entry.key.startsWith(CACHED_PREFIX)) {
      // A credential that is newer than its app counts as bound at this moment (domain/devices/enrollment.ts), so that
      // no credential may be written after its app.
      await writer.flush();
      isCached = true;
    }
    if ('chain' in placement) chains.set(entry.key, placement.chain);
    else if (placement.when === 'now') await writer.put(entry.key, placement.value);
  }
  await writer.flush();
  return chains;
}

async function writeUnsealed(
  deps: RestoreDeps,
  writer: RestoreWriter,
  entries: AsyncIterable<Entry>,
  { sealedThrough }: Counters,
): Promise<void> {
  const counters = { ...newCounters(), sealedThrough };
  for await (const entry of entries) {
    const placement = placementOf(entry, deps, counters);
    if (typeof placement === 'object' && 'when' in placement && placement.when === 'later')
      await writer.put(entry.key, placement.value);
  }
  await writer.flush();
}

async function finish(deps: RestoreDeps, fence: Expectation, header: BackupHeader): Promise<void> {
  const { store, clock, random, storeId = generateMarker(random) } = deps;
  const change = {
    expect: [fence, expectAbsent(KEYS.format())],
    write: [put(KEYS.format(), { format: header.recordsFormat, storeId }), { remove: KEYS.restoring() }],
  } as const;
  await commitOnce(store, clock, change, async () => (await store.get(KEYS.format()))?.revision);
}
