import type { Entry } from '../../../store/port.ts';
import { instantOf, suffixOf, type AuditRecord } from '../../records/audit-records.ts';
import { parseRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { isAskedFor, type AuditFilter } from '../index/terms.ts';
import type { BoundedReads } from './bounded-reads.ts';

export type AuditOrder = 'asc' | 'desc';

/** The entries of an audit that are asked for. Instants are milliseconds since 1970. */
export interface AuditBounds extends AuditFilter {
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** Tells whether every entry is asked for. */
export const asksForAll = (bounds: AuditBounds): boolean => Object.values(bounds).every((bound) => bound === undefined);

/** The means to read a page of an audit. */
export interface Reading {
  readonly reads: BoundedReads;
  readonly accountId: string;
  readonly order: AuditOrder;
  readonly bounds: AuditBounds;
}

/** An entry that is asked for. */
export interface Found {
  /** The last part of its key. */
  readonly name: string;
  readonly revision: number;
  readonly record: AuditRecord;
}

/** The entry of a store, where it is asked for. @throws BadRecord */
export function foundIn({ accountId, bounds }: Pick<Reading, 'accountId' | 'bounds'>, entry: Entry): Found | undefined {
  const { record, revision } = parseRecord(KEYS.audit, entry);
  if (!isWithin(record.at, bounds) || !isAskedFor(accountId, record, bounds)) return undefined;
  return { name: suffixOf(accountId, entry.key), revision, record };
}

/** Tells whether an instant lies between the bounds; one that is not known may. */
export const isWithin = (instant: number, { from, to }: AuditBounds): boolean =>
  !(from !== undefined && instant < from) && !(to !== undefined && instant >= to);

/** The instant in the name of an entry; 0 where it does not tell. */
export const instantIn = (name: string): number => instantOf(name) || 0;
