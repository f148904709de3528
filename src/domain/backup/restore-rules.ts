import type { Entry } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { codesVoided } from '../apps/app-state.ts';
import { generateTag, type RandomSource } from '../credentials/random-ids.ts';
import { chainSchema, type ChainRecord } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { appSchema, otelSchema, purgedSchema, purgeSchema, type OtelRecord } from '../records/records.ts';
import { isLeftOut } from './backup.ts';

/*
 * What becomes of each entry of a backup in another store. Nearly all are written as they are; this file has the rest.
 */

export interface RestoreRules {
  readonly random: RandomSource;
  /** Open codes, and the kept answers that hold codes, work on. Otherwise they end with the restore. */
  readonly keepCodes: boolean;
  /** Whether the keys of the restored installation open an account's collector header. */
  readonly opens: (accountId: string, record: OtelRecord) => boolean;
}

/** `later`: an audit entry that no block holds yet; it is written after the heads of the chains. */
export type Fate =
  { readonly value: string; readonly when: 'now' | 'later' } | { readonly chain: ChainRecord } | 'not written';

export interface Tally {
  entries: number;
  codesVoided: number;
  /** Collector headers that no key opens: they read as not set. */
  unopened: number;
  /** Purged secrets that a key could still open in backups, by its number: the new store's history has none of them. */
  readonly purged: Map<number, number>;
  /** By account: up to which revision of the old store its audit is sealed. */
  readonly sealedThrough: Map<string, number>;
  /** Accounts that had no configuration when the backup was made. */
  readonly unconfigured: Set<string>;
}

export const newCounters = (): Tally => ({
  entries: 0,
  codesVoided: 0,
  unopened: 0,
  purged: new Map(),
  sealedThrough: new Map(),
  unconfigured: new Set(),
});

/**
 * Past every revision that an owner can have made between a backup and its restore (at 600 changes a minute that would
 * take 27 hours): so a daemon's late acknowledgement of one of these names no content of the restored store.
 */
export const OTEL_REVISIONS_SKIPPED = 1_000_000;

const ACCOUNT = /^d\/a\/([^/]+)$/;
const APP = /^d\/a\/[^/]+\/app\/[^/]+$/;
const OTEL = /^d\/a\/([^/]+)\/otel$/;
const AUDIT = /^audit\/([^/]+)\//;

/** @throws BadRecord */
export function fateOf(entry: Entry, rules: RestoreRules, counters: Tally): Fate {
  const { key, value } = entry;
  const { keepCodes } = rules;
  if (isLeftOut(key)) return 'not written';
  counters.entries += 1;
  if (APP.test(key)) return keepCodes ? now(value) : withoutCodes(entry, counters);
  if (OTEL.test(key)) return renamed(entry, rules, counters);
  if (key.startsWith(KEYS.idempotencyRecordsAll)) return keepCodes ? now(value) : 'not written';
  if (key.startsWith(KEYS.purges) || key.startsWith(KEYS.purgedAll)) return counted(entry, counters);
  if (key.startsWith(KEYS.chains)) return chainOf(entry, counters);
  const unconfigured = ACCOUNT.exec(key)?.[1];
  if (unconfigured !== undefined) counters.unconfigured.add(unconfigured);
  const accountId = AUDIT.exec(key)?.[1];
  if (accountId === undefined) return now(value);
  return { value, when: entry.revision <= (counters.sealedThrough.get(accountId) ?? 0) ? 'now' : 'later' };
}

const now = (value: string): Fate => ({ value, when: 'now' });

function withoutCodes(entry: Entry, counters: Tally): Fate {
  const { record } = parseRecord(appSchema, entry);
  counters.codesVoided += record.codes.length;
  return now(record.codes.length === 0 ? entry.value : JSON.stringify(codesVoided(record)));
}

/** The heads come after the entries: whoever tells entries by them has read all heads before. */
function chainOf(entry: Entry, { sealedThrough }: Tally): Fate {
  const chain = parseRecord(chainSchema, entry).record;
  sealedThrough.set(entry.key.slice(KEYS.chains.length), chain.through);
  return { chain };
}

/** A daemon may have been told something else under the same revision after the backup: no ETag and no revision repeats. */
function renamed(entry: Entry, { random, opens }: RestoreRules, counters: Tally): Fate {
  const accountId = OTEL.exec(entry.key)?.[1] ?? '';
  counters.unconfigured.delete(accountId);
  const { record } = parseRecord(otelSchema, entry);
  if (record.config?.header && !opens(accountId, record)) counters.unopened += 1;
  const revision = record.revision + OTEL_REVISIONS_SKIPPED;
  return now(JSON.stringify({ ...record, revision, tag: generateTag(random) }));
}

/** One may have been set since: the next begins past that, as after a purge. */
export const neverConfigured = ({ random, clock }: RestoreRules & { readonly clock: Clock }): string =>
  JSON.stringify({ revision: OTEL_REVISIONS_SKIPPED, tag: generateTag(random), at: clock.now() });

/** Also those that the old store's history still held: in the new one nothing of them is left to be compacted. */
function counted(entry: Entry, { purged }: Tally): Fate {
  const isNote = entry.key.startsWith(KEYS.purges);
  const number = isNote
    ? parseRecord(purgeSchema, entry).record.keyNumber
    : Number(entry.key.slice(KEYS.purgedAll.length));
  const count = isNote ? 1 : parseRecord(purgedSchema, entry).record.count;
  if (number !== undefined) purged.set(number, (purged.get(number) ?? 0) + count);
  return 'not written';
}
