import type { Listed, PageOf } from '../../store/pages.ts';
import type { Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { type AuditRecord, OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { listInOrder } from './following/store-order.ts';

/** The audit of an account, entry by entry. */
export interface AuditEntries {
  /**
   * Lists entries in the order of their commits, oldest first; `after` is the `next` of the page before.
   * `OPERATOR_AUDIT` is the audit of the service.
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable, BadRecord
   */
  list(accountId: string, page: PageOf): Promise<Listed<AuditRecord>>;
}

/** Creates the list of audit entries; see `AuditEntries`. */
export function createAuditEntries(deps: { readonly store: Store; readonly fleet: Fleet }): AuditEntries {
  return {
    async list(accountId, { limit, after }) {
      if (accountId !== OPERATOR_AUDIT && !(await (await deps.fleet.current()).account(accountId))) {
        throw new Refusal('not_found');
      }
      const { entries, next } = await listInOrder(deps.store, KEYS.audit.under(accountId), { limit, after });
      return { items: entries.map((entry) => parseRecord(KEYS.audit, entry).record), next };
    },
  };
}
