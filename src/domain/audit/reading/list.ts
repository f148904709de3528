import type { Listed, PageOf } from '../../../store/pages.ts';
import type { Store } from '../../../store/port.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { OPERATOR_AUDIT, type AuditRecord } from '../../records/audit-records.ts';
import { parseRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { Refusal } from '../../refusal.ts';
import { listInOrder } from '../following/store-order.ts';
import { askAudit } from './ask.ts';
import { isName } from './cursor.ts';
import { asksForAll, type AuditBounds, type AuditOrder } from './question.ts';

/** A page of an audit, in one of its two orders, with what is asked for alone. */
interface AuditPageOf extends PageOf, AuditBounds {
  /** `asc` by default. */
  readonly order?: AuditOrder | undefined;
}

/** The audits of the accounts, and of the service. */
export interface AuditEntries {
  /**
   * Lists entries, oldest first or newest first; `after` is the `next` of the page before. Where something is asked
   * for, or the newest come first, a page may be shorter than its limit and have a next one: see `askAudit`.
   * `OPERATOR_AUDIT` is the audit of the service.
   * @param charge called where a page reads more than `LIMITS.auditRecordsPerRead` records; its error ends the read
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable; BadRecord
   */
  list(accountId: string, page: AuditPageOf, charge?: () => void): Promise<Listed<AuditRecord>>;
}

/** Creates the lists; see `AuditEntries`. */
export function createAuditEntries(deps: { readonly store: Store; readonly fleet: Fleet }): AuditEntries {
  return {
    async list(accountId, page, charge) {
      if (accountId !== OPERATOR_AUDIT && !(await (await deps.fleet.current()).account(accountId))) {
        throw new Refusal('not_found');
      }
      const { limit, after, order = 'asc', ...bounds } = page;
      if (order === 'desc' || !asksForAll(bounds) || (after !== undefined && !isName(after))) {
        return await askAudit(deps.store, accountId, { ...page, order }, charge);
      }
      const { entries, next } = await listInOrder(deps.store, KEYS.audit.under(accountId), { limit, after });
      return { items: entries.map((entry) => parseRecord(KEYS.audit, entry).record), next };
    },
  };
}
