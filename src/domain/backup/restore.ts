import { ABSENT, CACHED_PREFIX, type Entry, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { withThrough } from '../audit/chain.ts';
import { generateMarker } from '../credentials/random-ids.ts';
import type { ChainRecord } from '../records/audit-records.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { FORMAT } from '../records/records.ts';
import { EMPTY_IT } from '../replicas/format.ts';
import { BadBackup, readBackup, type BackupHeader } from './file-format.ts';
import { fateOf, neverConfigured, newCounters, type RestoreRules, type Tally } from './restore-rules.ts';
import { commitOnce, RestoreFault, RestoreWriter } from './restore-writer.ts';

export interface RestoreDeps extends RestoreRules {
  readonly store: Store;
  readonly clock: Clock;
}

/** Reads the backup from its beginning, each time that it is called. */
export type OpenBackup = () => AsyncIterable<Uint8Array>;

export interface Restored {
  readonly header: BackupHeader;
  readonly entries: number;
  readonly codesVoided: number;
  readonly unopened: number;
}

/**
 * Writes a backup into an empty store. The whole of it is checked before anything is written. The record `restoring`
 * comes first and goes last, with the record of the format: a service refuses to start on what an interrupted restore
 * left. The audit comes in the order that its chain needs (domain/audit/chain.ts, `withThrough`).
 * @throws BadBackup, BadRecord, RestoreFault in words; StoreUnavailable before anything is written
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
    throw halfDone(error);
  }
  return { header, entries: counters.entries, codesVoided: counters.codesVoided, unopened: counters.unopened };
}

/** What became of the store is more than what went wrong can say. */
function halfDone(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof RestoreFault) return error;
  return new RestoreFault(`${error.message.replace(/\.?$/, '.')} ${EMPTY_IT}`, { cause: error });
}

async function refuseUnlessEmpty(store: Store): Promise<void> {
  if (await store.get(KEYS.restoring)) throw new RestoreFault(`A restore into this store was interrupted. ${EMPTY_IT}`);
  const { entries } = await store.list({ prefix: '', limit: 1, keysOnly: true });
  if (entries.length > 0) {
    throw new RestoreFault('The store is not empty: a backup is only restored into an empty one. Nothing was written.');
  }
}

interface Surveyed {
  readonly header: BackupHeader;
  readonly sum: string;
  readonly counters: Tally;
}

/** Everything that can be wrong with the file is found here, and what the writing must know beforehand. */
async function survey(deps: RestoreDeps, open: OpenBackup): Promise<Surveyed> {
  const counters = newCounters();
  let header: BackupHeader | undefined;
  let sum: string | undefined;
  for await (const piece of readBackup(open())) {
    if ('header' in piece) header = readable(piece.header);
    else if ('entry' in piece) fateOf(piece.entry, deps, counters);
    else sum = piece.trailer.sha256;
  }
  if (!header || sum === undefined) throw new BadBackup('The backup is empty.');
  return { header, sum, counters };
}

function readable(header: BackupHeader): BackupHeader {
  if (header.recordsFormat <= FORMAT) return header;
  throw new BadBackup(
    `The backup holds records of a newer Muster (format ${header.recordsFormat}; this program knows up to ${FORMAT}): ` +
      'restore it with that version.',
  );
}

/** The same entries as they were surveyed. */
async function* entriesOf(bytes: AsyncIterable<Uint8Array>, sum: string): AsyncGenerator<Entry, void> {
  for await (const piece of readBackup(bytes)) {
    if ('entry' in piece) yield piece.entry;
    if ('trailer' in piece && piece.trailer.sha256 !== sum) {
      throw new RestoreFault(`The file was changed while it was being restored. ${EMPTY_IT}`);
    }
  }
}

async function begin(deps: RestoreDeps, header: BackupHeader, sum: string): Promise<Expectation> {
  const { store, clock, random } = deps;
  const mark = { at: clock.now(), backupOf: header.at, sha256: sum, marker: generateMarker(random) };
  const write = put(KEYS.restoring, mark);
  const expect = [
    { key: KEYS.restoring, revision: ABSENT },
    // A service that began meanwhile has written it.
    { key: KEYS.format, revision: ABSENT },
  ] as const;
  const revision = await commitOnce(store, clock, { expect, write: [write] }, async () => {
    const entry = await store.get(KEYS.restoring);
    return entry?.value === write.value ? entry.revision : undefined;
  });
  return { key: KEYS.restoring, revision };
}

/** All but the heads of the audit's chains, which it returns, and what they do not reach. */
async function writeSealed(
  deps: RestoreDeps,
  writer: RestoreWriter,
  entries: AsyncIterable<Entry>,
  { sealedThrough }: Tally,
): Promise<ReadonlyMap<string, ChainRecord>> {
  const chains = new Map<string, ChainRecord>();
  const counters = { ...newCounters(), sealedThrough };
  let isCached = false;
  for await (const entry of entries) {
    const fate = fateOf(entry, deps, counters);
    if (fate === 'not written') continue;
    if (!isCached && entry.key.startsWith(CACHED_PREFIX)) {
      // A credential that is newer than its app counts as bound at this moment (domain/devices/enrollment.ts): none may be.
      await writer.flush();
      isCached = true;
    }
    if ('chain' in fate) chains.set(entry.key, fate.chain);
    else if (fate.when === 'now') await writer.put(entry.key, fate.value);
  }
  await writer.flush();
  return chains;
}

async function writeUnsealed(
  deps: RestoreDeps,
  writer: RestoreWriter,
  entries: AsyncIterable<Entry>,
  { sealedThrough }: Tally,
): Promise<void> {
  const counters = { ...newCounters(), sealedThrough };
  for await (const entry of entries) {
    const fate = fateOf(entry, deps, counters);
    if (typeof fate === 'object' && 'when' in fate && fate.when === 'later') await writer.put(entry.key, fate.value);
  }
  await writer.flush();
}

async function finish({ store, clock }: RestoreDeps, fence: Expectation, header: BackupHeader): Promise<void> {
  const change = {
    expect: [fence, { key: KEYS.format, revision: ABSENT }],
    write: [put(KEYS.format, { format: header.recordsFormat }), { remove: KEYS.restoring }],
  } as const;
  await commitOnce(store, clock, change, async () => (await store.get(KEYS.format))?.revision);
}
