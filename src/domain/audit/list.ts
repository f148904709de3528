import type { Listed, PageOf } from '../../store/pages.ts';
import type { Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { auditSchema, type AuditRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';

/** The audit of an account, entry by entry. */
export interface AuditEntries {
  /**
   * Lists entries, oldest first; `after` is the `next` of the page before. `OPERATOR_AUDIT` is the audit of the service.
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
      const prefix = KEYS.audits(accountId);
      const page = await deps.store.list({ prefix, limit, ...(after !== undefined && { after: prefix + after }) });
      return {
        items: page.entries.map((entry) => parseRecord(auditSchema, entry).record),
        next: page.next?.slice(prefix.length),
      };
    },
  };
}
