import { SPREAD_MS } from '../audit/following/store-order.ts';
import type { AuditLogRecord } from '../records/audit-records.ts';

/**
 * The place of the lines of another store, in the store that was restored from it: revisions of the other one mean
 * nothing here, so all is read from the beginning, and entries are passed over by their instants.
 */
export const ofRestoredStore = ({ at }: AuditLogRecord, storeId: string): AuditLogRecord => ({
  storeId,
  revision: 0,
  key: '',
  at,
  since: Math.max(0, at - SPREAD_MS),
});
