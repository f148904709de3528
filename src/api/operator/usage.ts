import { LIMITS } from '../../domain/limits.ts';
import type { Usage, UsageQuestion } from '../../domain/metering/usage.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { OtherFormat } from '../contract/answers.ts';
import { monthQuery, readUsage as operation } from '../contract/operator/usage.ts';
import { handle, pageOf } from './route.ts';
import { CSV_TYPE, EVENTS_TYPE, JSON_TYPE, usageBody, usageCsv, usageEvents } from './usage-formats.ts';

/** M5: a month of the ledger, with its amounts of money. */
export const readUsage = handle(operation, { deadlineMs: LIMITS.usageDeadlineMs })(async (
  { query, accepts, inTime, exporting },
  { usages },
) => {
  const question = questionOf(query);
  const usage = await usages.read(question, inTime);
  const page = { after: query.get('after') ?? undefined, next: usage.next };
  await inTime(exporting('usage', { month: question.month }, page));
  const type = accepts([JSON_TYPE, CSV_TYPE, EVENTS_TYPE]) ?? JSON_TYPE;
  return { status: 200, headers: headersOf(usage, query, type), body: await bodyOf(usage, type) };
});

function questionOf(query: URLSearchParams): UsageQuestion {
  const parsed = monthQuery.safeParse(Object.fromEntries(query));
  if (!parsed.success) {
    const about = parsed.error.issues[0]?.path[0] === 'month' ? 'month: YYYY-MM is required' : 'accountId: no such id';
    throw new Refusal('invalid_request', `${about}, as in ?month=2026-01&accountId=a1b2c3d4e5f6g7h8.`);
  }
  const { month, accountId } = parsed.data;
  // Judged beside an account as well, for which it has no effect.
  const page = query.has('limit') || query.has('after') ? pageOf(query) : 'all';
  return { month, of: accountId === undefined ? page : { accountId } };
}

/** The headers carry what the rows and events cannot: whether the month is complete, and the next page. */
function headersOf({ month, complete, next }: Usage, query: URLSearchParams, type: string): string[] {
  const headers = ['Content-Type', type, 'Vary', 'Accept', 'Muster-Usage-Complete', String(complete)];
  if (next === undefined) return headers;
  const target = new URLSearchParams({
    month,
    limit: query.get('limit') ?? String(LIMITS.listPageDefault),
    after: next,
  });
  return [...headers, 'Link', `<${operation.path}?${target.toString()}>; rel="next"`];
}

function bodyOf(usage: Usage, type: string): Promise<OtherFormat> | ReturnType<typeof usageBody> {
  if (type === CSV_TYPE) return usageCsv(usage);
  return type === EVENTS_TYPE ? usageEvents(usage) : usageBody(usage);
}
