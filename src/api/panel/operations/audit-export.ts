import type { AuditEntries } from '../../../domain/audit/reading/list.ts';
import type { AuditBounds } from '../../../domain/audit/reading/question.ts';
import { LIMITS } from '../../../domain/limits.ts';
import { OPERATOR_AUDIT, type AuditRecord } from '../../../domain/records/audit-records.ts';
import { PAGE_ENTRIES_MAX } from '../../../store/port.ts';
import { csvRow } from '../../../text/csv.ts';
import { dateTime } from '../../../time/date-time.ts';
import * as operations from '../../contract/panel/history.ts';
import { HttpRefusal } from '../../http/errors.ts';
import { entryBody } from '../../operator/audit.ts';
import { MUCH_WORK } from '../request/much-work.ts';
import { handle, type PanelRequest, type PanelServices } from '../request/route.ts';

/** GET /panel/v1/accounts/{accountId}/audit/export. */
export const exportAudit = handle(
  operations.exportAudit,
  MUCH_WORK,
)((request, services) => exportOf(request.accountId, request, services));

/** GET /panel/v1/audit/export. */
export const exportServiceAudit = handle(
  operations.exportServiceAudit,
  MUCH_WORK,
)((request, services) => exportOf(OPERATOR_AUDIT, request, services));

type Asked = AuditBounds & { readonly format?: 'csv' | 'jsonl' | undefined };

/** Streams what the filters let through, page by page; the first page is read before the headers are sent. */
function exportOf(
  accountId: string,
  { query, chargeChange, exporting }: PanelRequest<unknown, Asked>,
  { auditEntries, clock }: PanelServices,
) {
  const { format = 'csv', ...filters } = query;
  const { type, ...lines } = FORMATS[format](accountId);
  const pages = pagesOf(auditEntries, accountId, filters, chargeChange);
  const begin = async () => {
    const first = await pages.next();
    await exporting('audit', { accountId }, { after: undefined, next: undefined });
    return {
      pieces: () => pieces(lines, first, pages),
      [Symbol.asyncDispose]: async () => void (await pages.return(undefined)),
    };
  };
  const file = `audit-${dateTime(clock.now()).slice(0, 10)}.${format}`;
  const headers = ['Content-Type', type, 'Content-Disposition', `attachment; filename="${file}"`];
  return { status: 200, headers, stream: begin } as const;
}

/** The entries of a page, or the reason why there is none after it although older entries may follow. */
type Page = { readonly entries: readonly AuditRecord[] } | { readonly cut: string };

/**
 * Reads an audit to its end, newest first, and no further than `LIMITS.auditExportEntriesMax` entries. Each page after
 * the first counts as a change of the user (P9).
 */
async function* pagesOf(
  auditEntries: AuditEntries,
  accountId: string,
  filters: AuditBounds,
  charge: () => void,
): AsyncGenerator<Page, void> {
  let left: number = LIMITS.auditExportEntriesMax;
  let after: string | undefined;
  do {
    try {
      if (after !== undefined) charge();
      const page = { ...filters, order: 'desc', limit: Math.min(left, PAGE_ENTRIES_MAX), after } as const;
      const { items, next } = await auditEntries.list(accountId, page);
      left -= items.length;
      after = next;
      yield { entries: items };
    } catch (error) {
      // The refusal of the first page is an answer of its own.
      if (after === undefined || !(error instanceof HttpRefusal)) throw error;
      yield { cut: 'Too many requests in the last minute. Choose a shorter time.' };
      return;
    }
  } while (after !== undefined && left > 0);
  if (after !== undefined) yield { cut: `More than ${LIMITS.auditExportEntriesMax} entries. Choose a shorter time.` };
}

interface Lines {
  readonly head: string;
  readonly entry: (entry: AuditRecord) => string;
  /** The last line of an export that is not whole. */
  readonly cut: (why: string) => string;
}

async function* pieces(
  { head, entry, cut }: Lines,
  first: IteratorResult<Page, void>,
  pages: AsyncGenerator<Page, void>,
): AsyncGenerator<string, void> {
  yield head;
  for (let page = first; page.done !== true; page = await pages.next()) {
    const { value } = page;
    // A page that has none of the entries is a piece as well: the reader is judged before the next one.
    yield 'cut' in value ? cut(value.cut) : value.entries.map(entry).join('');
  }
}

const COLUMNS = ['at', 'action', 'actor', 'actorName', 'target', 'targetName', 'requestId', 'detail'];

/** Names are media types in full. */
const FORMATS: Readonly<Record<'csv' | 'jsonl', (accountId: string) => Lines & { readonly type: string }>> = {
  csv: (accountId) => ({
    type: 'text/csv; charset=utf-8; header=present',
    head: `${csvRow(COLUMNS)}\r\n`,
    entry(record) {
      const {
        at,
        action,
        actor,
        actorName = '',
        target = '',
        targetName = '',
        requestId,
        detail,
      } = entryBody(accountId, record);
      return `${csvRow([at, action, actor, actorName, target, targetName, requestId, JSON.stringify(detail)])}\r\n`;
    },
    cut: (why) => `${csvRow(['', 'cut', '', '', '', '', '', why])}\r\n`,
  }),
  jsonl: (accountId) => ({
    type: 'application/x-ndjson',
    head: '',
    entry: (record) => `${JSON.stringify(entryBody(accountId, record))}\n`,
    cut: (why) => `${JSON.stringify({ cut: true, why })}\n`,
  }),
};
