import type { Entry, Store } from '../../../store/port.ts';
import type { AuditIndexPageRecord, AuditIndexRecord } from '../../records/audit-records.ts';
import { replaceable, type Versioned } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';

/* The index of an audit, as it is read. A part that is not there, or cannot be read, is no fault of the audit. */

/** Reads the head of an index. @throws StoreUnavailable */
export async function readIndex(
  store: Pick<Store, 'get'>,
  accountId: string,
): Promise<Versioned<AuditIndexRecord | undefined>> {
  const key = KEYS.auditIndex(accountId);
  return replaceable(KEYS.auditIndex, key, await store.get(key));
}

/** The page of an index under a number. */
export function indexPage(
  accountId: string,
  number: number,
  entry: Entry | undefined,
): Versioned<AuditIndexPageRecord | undefined> {
  return replaceable(KEYS.auditIndexPage, KEYS.auditIndexPage(accountId, number), entry);
}
