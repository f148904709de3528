import type { Entry } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { codesVoided } from '../apps/app-state.ts';
import { generateTag, type RandomSource } from '../credentials/random-ids.ts';
import { ofRestoredStore } from '../audit-log/restored-log.ts';
import type { ChainRecord } from '../records/audit-records.ts';
import { KEYS, kindOfKey } from '../records/keys.ts';
import type { Declared } from '../records/registry.ts';
import { parseRecord } from '../records/codec.ts';
import type { OtelRecord } from '../records/otel-records.ts';
import { isLeftOut } from './backup.ts';

/*
 * How each entry of a backup is written to another store. Nearly all are written as they are; this file has the others.
 */

/** The choices of a restore, and the source of its new tags. */
export interface RestoreRules {
  readonly random: RandomSource;
  /**
   * Whether open codes, and the idempotency records of owners, which hold codes, stay valid; otherwise the restore
   * voids them.
   */
  readonly keepCodes: boolean;
  /** Whether the keys of the restored installation open an account's collector header. */
  readonly opens: (accountId: string, record: OtelRecord) => boolean;
}

/**
 * The way in which the restore writes an entry. `later` is for an audit entry in no block: it is written after the
 * chains' heads.
 */
type Placement =
  { readonly value: string; readonly when: 'now' | 'later' } | { readonly chain: ChainRecord } | 'not written';

/** The findings of a pass over the entries of a backup. */
export interface Counters {
  entries: number;
  codesVoided: number;
  /** Collector headers that no key opens: they read as not set. */
  unopened: number;
  /**
   * How many purged secrets a key could still open in backups, by its number. The new store's history has none of them.
   */
  readonly purged: Map<number, number>;
  /** The revision of the old store up to which an account's audit is sealed, by account. */
  readonly sealedThrough: Map<string, number>;
  /** Accounts that had no configuration when the backup was made. */
  readonly unconfigured: Set<string>;
}

export const newCounters = (): Counters => ({
  entries: 0,
  codesVoided: 0,
  unopened: 0,
  purged: new Map(),
  sealedThrough: new Map(),
  unconfigured: new Set(),
});

/**
 * The revisions of a restored configuration go on this far above those of the backup, past every revision that an owner
 * can have made between a backup and its restore (at 600 changes a minute that would take 27 hours): so a daemon's late
 * acknowledgement of one of these names no content of the restored store.
 */
export const OTEL_REVISIONS_SKIPPED = 1_000_000;

type Rule = (entry: Entry, rules: RestoreRules, counters: Counters) => Placement;

const ifCodesAreKept: Rule = ({ value }, { keepCodes }) => (keepCodes ? now(value) : 'not written');

/** The kinds whose entries are not written as they are. */
const RULES: ReadonlyMap<Declared, Rule> = new Map<Declared, Rule>([
  [
    KEYS.account,
    ({ key, value }, _rules, { unconfigured }) => {
      unconfigured.add(lastPart(key));
      return now(value);
    },
  ],
  [KEYS.app, (entry, { keepCodes }, counters) => (keepCodes ? now(entry.value) : withoutCodes(entry, counters))],
  [KEYS.otel, renumbered],
  [KEYS.told, toldOfRenumbered],
  [KEYS.purge, countPurged],
  [KEYS.purged, countPurged],
  [KEYS.chain, chainOf],
  [KEYS.audit, sealedFirst],
  [KEYS.auditLog, fromTheBeginning],
]);

/** Decides what the restore does with an entry, and counts it. @throws BadRecord */
export function placementOf(entry: Entry, rules: RestoreRules, counters: Counters): Placement {
  const { key, value } = entry;
  if (isLeftOut(key)) return 'not written';
  counters.entries += 1;
  const kind = kindOfKey(key);
  // A newer version may have more kinds of answers, which hold codes.
  const isAnswer = key.startsWith(KEYS.idempotencySlot.under());
  const rule = isAnswer ? ifCodesAreKept : kind && RULES.get(kind);
  return rule ? rule(entry, rules, counters) : now(value);
}

const lastPart = (key: string): string => key.slice(key.lastIndexOf('/') + 1);

function sealedFirst({ key, value, revision }: Entry, _rules: RestoreRules, { sealedThrough }: Counters): Placement {
  const [, accountId = ''] = key.split('/');
  return { value, when: revision <= (sealedThrough.get(accountId) ?? 0) ? 'now' : 'later' };
}

const now = (value: string): Placement => ({ value, when: 'now' });

/** Revisions of the backup mean nothing here: the lines go on by the instants of the entries. */
function fromTheBeginning(entry: Entry): Placement {
  const { record } = parseRecord(KEYS.auditLog, entry);
  return now(JSON.stringify(ofRestoredStore(record, record.storeId)));
}

function withoutCodes(entry: Entry, counters: Counters): Placement {
  const { record } = parseRecord(KEYS.app, entry);
  counters.codesVoided += record.codes.length;
  return now(record.codes.length === 0 ? entry.value : JSON.stringify(codesVoided(record)));
}

/** The heads come after the entries in a backup, so the first pass collects the heads, and later passes use them. */
function chainOf(entry: Entry, _rules: RestoreRules, { sealedThrough }: Counters): Placement {
  const chain = parseRecord(KEYS.chain, entry).record;
  sealedThrough.set(lastPart(entry.key), chain.through);
  return { chain };
}

/**
 * Gives a configuration another revision and tag: after the backup, a daemon may have got other content under the same.
 */
function renumbered(entry: Entry, { random, opens }: RestoreRules, counters: Counters): Placement {
  const [, , accountId = ''] = entry.key.split('/');
  counters.unconfigured.delete(accountId);
  const { record } = parseRecord(KEYS.otel, entry);
  if (record.config?.header && !opens(accountId, record)) counters.unopened += 1;
  const revision = record.revision + OTEL_REVISIONS_SKIPPED;
  return now(JSON.stringify({ ...record, revision, tag: generateTag(random) }));
}

/** All that was told of a revision was told of the one that takes its place: it is not told again. */
function toldOfRenumbered(entry: Entry): Placement {
  const { record } = parseRecord(KEYS.told, entry);
  const told = (['completed', 'failed', 'stuck'] as const).flatMap((of) => {
    const revision = record[of];
    return revision === undefined ? [] : [[of, revision + OTEL_REVISIONS_SKIPPED] as const];
  });
  return now(JSON.stringify({ ...record, ...Object.fromEntries(told) }));
}

/**
 * The record for an account that had no configuration at the backup. One may have been stored since, so the next one
 * begins with a later revision, as after a purge.
 */
export const neverConfigured = ({ random, clock }: RestoreRules & { readonly clock: Clock }): string =>
  JSON.stringify({ revision: OTEL_REVISIONS_SKIPPED, tag: generateTag(random), at: clock.now() });

/** Counts a purged secret by its key, also one that the old store's history still held: the new history has none. */
function countPurged(entry: Entry, _rules: RestoreRules, { purged }: Counters): Placement {
  const isNote = entry.key.startsWith(KEYS.purge.under());
  const number = isNote ? parseRecord(KEYS.purge, entry).record.keyNumber : Number(lastPart(entry.key));
  const count = isNote ? 1 : parseRecord(KEYS.purged, entry).record.count;
  if (number !== undefined) purged.set(number, (purged.get(number) ?? 0) + count);
  return 'not written';
}
