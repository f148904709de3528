import type { Entry } from '../../../store/port.ts';
import { instantOf, suffixOf, type AuditRecord } from '../../records/audit-records.ts';
import { parseRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { isAskedFor, type AuditFilter } from '../index/terms.ts';

export type AuditOrder = 'asc' | 'desc';

/** Which entries of an audit are asked for. Instants are milliseconds since 1970. */
export interface AuditBounds extends AuditFilter {
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** An entry that was read. */
export interface Found {
  readonly suffix: string;
  /** 0 where the key does not tell. */
  readonly instant: number;
  readonly revision: number;
  readonly record: AuditRecord;
}

/** The entries that are asked for. @throws BadRecord */
export function foundIn(accountId: string, entries: readonly Entry[], bounds: AuditBounds): readonly Found[] {
  const { from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY } = bounds;
  const found: Found[] = [];
  for (const entry of entries) {
    const { record } = parseRecord(KEYS.audit, entry);
    if (record.at < from || record.at >= to || !isAskedFor(accountId, record, bounds)) continue;
    const suffix = suffixOf(accountId, entry.key);
    found.push({ suffix, instant: instantOf(suffix) || 0, revision: entry.revision, record });
  }
  return found;
}
