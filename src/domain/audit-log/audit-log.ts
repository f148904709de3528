import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Sections } from '../../metrics/instruments/sections.ts';
import { expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { SPREAD_MS } from '../audit/store-order.ts';
import type { AuditStream, StreamedEntry, StreamPlace } from '../audit/stream.ts';
import { type AuditLogRecord, instantOf } from '../records/audit-records.ts';
import { justCommitted, parseRecord, put, replaceable, withRecord, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { isLater, lineOf, placeOfLine } from './lines.ts';

/** The place to which the entries of all audits are written as lines of JSON. */
export interface AuditSink {
  /** The last whole line that is there; undefined where none is, or it cannot be read. @throws Error of the file */
  lastLine(): Promise<string | undefined>;
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
  cursor: Cursor;
}

type Cursor = Versioned<AuditLogRecord>;

/** Creates the log; see `AuditLog`. */
export function createAuditLog(deps: AuditLogDeps): AuditLog {
  const { store, accountName, clock, sink, metrics, fence } = deps;
  let running: Running | undefined;
  /** The instant of the oldest entry that waits, or since when it is not known whether one does. */
  let waitingSince: number | undefined;

  async function write(entries: readonly StreamedEntry[], { cursor }: Running, signal: AbortSignal): Promise<void> {
    const { since = 0, storeId } = cursor.record;
    const asked = entries.filter(({ suffix }) => !(instantOf(suffix) < since));
    if (asked.length === 0) return;
    const lines = asked.map((entry) => `${lineOf(entry, storeId, accountName(entry.accountId))}\n`);
    await sink.write(lines.join(''), signal);
    metrics.auditLinesWritten(lines.length);
  }

  async function advance(one: Running, entries: readonly StreamedEntry[]): Promise<void> {
    const [last, key] = [entries.at(-1), KEYS.auditLog()];
    const { record } = one.cursor;
    if (!last) return;
    const at = entries.reduce((newest, { suffix }) => Math.max(newest, instantOf(suffix) || 0), record.at);
    const next = { ...record, revision: last.revision, key: last.key, at };
    const result = await store.commit({
      expect: [expectUnchanged(one.cursor), ...fence],
      write: [put(key, next)],
      quiet: true,
    });
    // Another leader writes the lines by now, or this one did and the answer was lost: the record tells.
    if (result.outcome === 'conflict') throw new Error('the lines of the audit are written by another leader');
    one.cursor = justCommitted(key, next, result);
  }

  function end(): void {
    running?.stream[Symbol.dispose]();
    running = undefined;
  }

  return {
    async round(signal) {
      try {
        running ??= await begin(deps);
        for (let entries = await running.stream.next(); entries.length > 0; entries = await running.stream.next()) {
          for (let from = 0; from < entries.length; from += LINES_AT_ONCE) {
            const some = entries.slice(from, from + LINES_AT_ONCE);
            waitingSince = Math.min(...some.map(({ suffix }) => instantOf(suffix) || clock.now()));
            await write(some, running, signal);
            await advance(running, some);
            await nextTurn();
          }
          waitingSince = undefined;
        }
        waitingSince = undefined;
      } catch (error) {
        waitingSince ??= clock.now();
        end();
        throw error;
      }
    },
    lagMs: () => (waitingSince === undefined ? 0 : Math.max(0, clock.now() - waitingSince)),
    [Symbol.dispose]: end,
  };
}

/** Goes on after the last entry that was noted, or after the last line where that is later. */
async function begin({ store, streamAfter, sink }: AuditLogDeps): Promise<Running> {
  const key = KEYS.auditLog();
  const entry = await store.get(key);
  const found = replaceable(KEYS.auditLog, key, entry);
  const format = await store.get(KEYS.format());
  const storeId = (format && parseRecord(KEYS.format, format).record.storeId) ?? '';
  const record = recordIn(storeId, found.record);
  const line = await sink.lastLine();
  const written = line === undefined ? undefined : placeOfLine(line, storeId);
  const place: StreamPlace = written && isLater(written, record) ? written : record;
  return {
    stream: streamAfter({ revision: place.revision, key: place.key }),
    cursor: withRecord(found, record),
  };
}

/**
 * The record for this store. Revisions of another one, from which this was restored, mean nothing here: everything is
 * read then, and what is older than the last line is passed over.
 */
function recordIn(storeId: string, found: AuditLogRecord | undefined): AuditLogRecord {
  if (found?.storeId === storeId) return found;
  const begin = { storeId, revision: 0, key: '', at: 0 };
  return found ? { ...begin, at: found.at, since: Math.max(0, found.at - SPREAD_MS) } : begin;
}
