import type { Listed, PageOf } from '../../../store/pages.ts';
import type { Store } from '../../../store/port.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import type { AuditRecord } from '../../records/audit-records.ts';
import { parseRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { askAudit } from './ask.ts';
import { checkAudit } from './newest.ts';
import type { AuditBounds, AuditOrder } from './question.ts';
import { listInOrder } from '../store-order.ts';

/** A page of an audit, in one of its two orders, with what is asked for alone. */
interface AuditPageOf extends PageOf, AuditBounds {
  readonly order?: AuditOrder | undefined;
}

/** The audit of an account, entry by entry. */
export interface AuditEntries {
  /**
   * Lists entries in the order of their commits, oldest first unless `order` says otherwise; `after` is the `next` of
   * the page before. Where something is asked for, or the newest come first, a page may be shorter than its limit.
   * `OPERATOR_AUDIT` is the audit of the service.
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable, BadRecord
   */
  list(accountId: string, page: AuditPageOf): Promise<Listed<AuditRecord>>;
}

/** Creates the list of audit entries; see `AuditEntries`. */
export function createAuditEntries(deps: { readonly store: Store; readonly fleet: Fleet }): AuditEntries {
  return {
    async list(accountId, { limit, after, order = 'asc', ...bounds }) {
      await checkAudit(deps.fleet, accountId);
      if (order === 'desc' || Object.values(bounds).some((bound) => bound !== undefined)) {
        return await askAudit(deps.store, accountId, { ...bounds, limit, order, cursor: after });
      }
      const { entries, next } = await listInOrder(deps.store, KEYS.audit.under(accountId), { limit, after });
      return { items: entries.map((entry) => parseRecord(KEYS.audit, entry).record), next };
    },
  };
}
