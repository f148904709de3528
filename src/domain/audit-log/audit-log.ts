import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sections } from '../../metrics/instruments/sections.ts';
import { expectUnchanged, HEAD_KEY, isFull, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { AuditStream, StreamedEntry, StreamPlace } from '../audit/following/stream.ts';
import { type AuditLogRecord, instantOf } from '../records/audit-records.ts';
import { justCommitted, parseRecord, put, replaceable, withRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { isLater, lineOf, placeOfLine } from './lines.ts';
import { ofRestoredStore } from './restored-log.ts';

/** The place to which the entries of all audits are written as lines of JSON. */
export interface AuditSink {
  /** The last lines that are there, none where they cannot be read. @throws Error of the file */
  lastLines(): Promise<readonly string[]>;
  /** Resolves once the lines are written. @throws Error of the file; the signal's reason */
  write(lines: string, signal: AbortSignal): Promise<void>;
}

/** The audit as lines, for one term of one leader: each entry at least once, in the order of the store. */
export interface AuditLog extends Disposable {
  /** Writes what there is. A later round goes on after one that failed. @throws StoreUnavailable; Error of the sink */
  round(signal: AbortSignal): Promise<void>;
  /** The age of the oldest entry that is known and not written, in milliseconds; 0 where all are. */
  lagMs(): number;
}

export const auditLogMetrics = ({ keeping }: Sections) => {
  const lag = keeping.seriesCallbackGauge({
    name: 'muster_audit_log_lag_seconds',
    help: 'Age of the oldest audit entry that is to be written as a line and is not, 0 where there is none; on the leader alone.',
    unit: 'seconds',
  });
  return {
    auditLinesWritten: keeping.counter({
      name: 'muster_audit_log_lines_total',
      help: 'Audit entries that were written as lines (MUSTER_AUDIT_LOG), repeats included.',
      unit: 'lines',
    }),
    /** @param read undefined on a replica that leads no longer, or writes no lines */
    auditLogLag: (read: (() => number) | undefined): void => lag(read && (() => [[{}, read()]])),
  };
};

export interface AuditLogDeps {
  readonly store: Store;
  /** The name of an account, as far as it is known. */
  readonly accountName: (accountId: string) => string | undefined;
  readonly clock: Pick<Clock, 'now'>;
  /** Follows the entries of all audits after a place. */
  readonly streamAfter: (place: StreamPlace) => AuditStream;
  readonly sink: AuditSink;
  readonly metrics: Pick<ReturnType<typeof auditLogMetrics>, 'auditLinesWritten'>;
  /** The fence of the leader's term. */
  readonly fence: readonly Expectation[];
}

/** Entries that are written, and noted as written, at once. */
const LINES_AT_ONCE = 200;

interface Running {
  readonly stream: AuditStream;
  /** Entries that were read and are not written. */
  left: readonly StreamedEntry[];
  cursor: Versioned<AuditLogRecord>;
  /** How far it is; further than the cursor where the store took no note of that. */
  place: AuditLogRecord;
}

/** Creates the log; see `AuditLog`. */
export function createAuditLog(deps: AuditLogDeps): AuditLog {
  const { store, accountName, clock, sink, metrics, fence } = deps;
  let running: Running | undefined;
  let isOver = false;
  /** The instant of the oldest entry that waits, or since when it is not known whether one does. */
  let waitingSince: number | undefined;

  async function write(one: Running, entries: readonly StreamedEntry[], signal: AbortSignal): Promise<void> {
    const { storeId, since = 0, sinceUpTo = 0 } = one.place;
    const isAsked = ({ revision, suffix }: StreamedEntry): boolean =>
      revision > sinceUpTo || !(instantOf(suffix) < since);
    const lines = entries.filter(isAsked).map((entry) => `${lineOf(entry, storeId, accountName(entry.accountId))}\n`);
    if (lines.length === 0) return;
    await sink.write(lines.join(''), signal);
    metrics.auditLinesWritten(lines.length);
  }

  async function advance(one: Running, entries: readonly StreamedEntry[]): Promise<void> {
    const last = entries.at(-1);
    if (!last) return;
    // A clock that was ahead must not decide what is written after a restore.
    const newest = entries.reduce((at, { suffix }) => Math.max(at, instantOf(suffix) || 0), one.place.at);
    one.place = { ...one.place, revision: last.revision, key: last.key, at: Math.min(newest, clock.now()) };
    try {
      one.cursor = await noted(one);
    } catch (error) {
      // The lines go on: the next leader writes again what was not noted, which a later note makes up for.
      if (!isFull(error)) throw error;
    }
  }

  async function noted({ cursor, place }: Running): Promise<Versioned<AuditLogRecord>> {
    const key = KEYS.auditLog();
    const expect = [expectUnchanged(cursor), ...fence] as const;
    const result = await store.commit({ expect, write: [put(key, place)], quiet: true });
    // Another leader writes the lines by now, or this one did and the answer was lost: the record tells.
    if (result.outcome === 'conflict') throw new Error('the lines of the audit are written by another leader');
    return justCommitted(key, place, result);
  }

  function end(): void {
    running?.stream[Symbol.dispose]();
    running = undefined;
  }

  /** @throws Error of the sink, and then all goes on with the same entries */
  async function writeLeft(one: Running, signal: AbortSignal): Promise<void> {
    while (one.left.length > 0) {
      const some = one.left.slice(0, LINES_AT_ONCE);
      waitingSince = Math.min(...some.map(({ suffix }) => instantOf(suffix) || clock.now()));
      await write(one, some, signal);
      one.left = one.left.slice(LINES_AT_ONCE);
      await advance(one, some).catch((error: unknown) => {
        end();
        throw error;
      });
      await nextTurn();
    }
  }

  return {
    async round(signal) {
      try {
        const one = (running ??= await begin(deps));
        if (isOver) return end();
        for (;;) {
          await writeLeft(one, signal);
          one.left = await one.stream.next();
          if (one.left.length === 0) break;
        }
        waitingSince = undefined;
      } catch (error) {
        waitingSince ??= clock.now();
        throw error;
      }
    },
    lagMs: () => (waitingSince === undefined ? 0 : Math.max(0, clock.now() - waitingSince)),
    [Symbol.dispose]() {
      isOver = true;
      end();
    },
  };
}

/** Goes on after the last entry that was noted, or after the last line where that is later and of this store. */
async function begin({ store, streamAfter, sink, clock }: AuditLogDeps): Promise<Running> {
  const key = KEYS.auditLog();
  const entry = await store.get(key);
  const cursor = replaceable(KEYS.auditLog, key, entry);
  const format = await store.get(KEYS.format());
  const storeId = (format && parseRecord(KEYS.format, format).record.storeId) ?? '';
  const found = recordIn(storeId, cursor.record);
  // The revision of the store alone is wanted.
  const { revision } = await store.list({ prefix: HEAD_KEY, limit: 1, keysOnly: true });
  const record =
    found.since === undefined ? found : { sinceUpTo: revision, ...found, since: Math.min(found.since, clock.now()) };
  const lines = await sink.lastLines();
  const written = lines.map((line) => placeOfLine(line, storeId)).findLast((one) => one !== undefined);
  // A file may be ahead of a store that was put back: the entry itself tells.
  const isThere = written && (await store.get(KEYS.audit.under() + written.key))?.revision === written.revision;
  const place = written && isThere === true && isLater(written, record) ? { ...record, ...written } : record;
  const stream = streamAfter({ revision: place.revision, key: place.key });
  return { stream, left: [], cursor: withRecord(cursor, record), place };
}

/** The record for this store; one of another store, from which this was restored, tells an instant alone. */
function recordIn(storeId: string, found: AuditLogRecord | undefined): AuditLogRecord {
  if (found?.storeId === storeId) return found;
  return found ? ofRestoredStore(found, storeId) : { storeId, revision: 0, key: '', at: 0 };
}
