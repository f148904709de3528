import type { Store } from '../../../store/port.ts';
import type { Fleet } from '../../fleet/fleet.ts';
import { OPERATOR_AUDIT } from '../../records/audit-records.ts';
import { Refusal } from '../../refusal.ts';
import { askAudit, type AskedEntries } from './ask.ts';
import type { AuditBounds } from './question.ts';

/** Which entries of an audit are asked for, from the newest on. */
export interface AuditQuestion extends AuditBounds {
  readonly limit: number;
  /** Begins before this entry: the `next` of the page before. */
  readonly before?: string | undefined;
}

/** Reads audits from the newest entry on. */
export interface NewestAudit {
  /**
   * Lists entries in the order of their commits, newest first. A page may be shorter than asked for, and have a next
   * one all the same, since the entries that one request reads are bounded.
   * @param charge called where a page reads more than `LIMITS.auditRecordsPerRead` records; its error ends the read
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable; BadRecord
   */
  list(accountId: string, question: AuditQuestion, charge?: () => void): Promise<AskedEntries>;
}

/** Creates the reader; see `NewestAudit`. */
export function createNewestAudit(deps: { readonly store: Store; readonly fleet: Fleet }): NewestAudit {
  return {
    async list(accountId, { before, ...question }, charge) {
      await checkAudit(deps.fleet, accountId);
      return await askAudit(deps.store, accountId, { ...question, order: 'desc', cursor: before }, charge);
    },
  };
}

/** @throws Refusal `not_found` where there is no such account, and it is not the audit of the service */
export async function checkAudit(fleet: Pick<Fleet, 'current'>, accountId: string): Promise<void> {
  if (accountId !== OPERATOR_AUDIT && !(await (await fleet.current()).account(accountId))) {
    throw new Refusal('not_found');
  }
}
