import type * as z from 'zod';
import { LIMITS } from '../../domain/limits.ts';
import type { Usage, UsageQuestion } from '../../domain/metering/usage.ts';
import type { OtherFormat } from '../contract/answers.ts';
import { readUsage as operation } from '../contract/operator/usage.ts';
import { handle } from './route.ts';
import { CSV_TYPE, EVENTS_TYPE, JSON_TYPE, usageBody, usageCsv, usageEvents } from './usage-formats.ts';

/** M5: a month of the ledger, with its amounts of money. */
export const readUsage = handle(operation, { deadlineMs: LIMITS.usageDeadlineMs })(async (
  { query, accepts, inTime, exporting },
  { usages },
) => {
  const question = questionOf(query);
  const usage = await usages.read(question, inTime);
  const page = { after: query.after, next: usage.next };
  await inTime(exporting('usage', { month: question.month }, page));
  const type = accepts([JSON_TYPE, CSV_TYPE, EVENTS_TYPE]) ?? JSON_TYPE;
  return { status: 200, headers: headersOf(usage, query, type), body: await bodyOf(usage, type) };
});

type Query = z.infer<NonNullable<typeof operation.query>>;

/** A page is judged beside an account as well, for which it has no effect. */
function questionOf({ month, accountId, limit, after }: Query): UsageQuestion {
  if (accountId !== undefined) return { month, of: { accountId } };
  const all = limit === undefined && after === undefined;
  return { month, of: all ? 'all' : { limit: limit ?? LIMITS.listPageDefault, after } };
}

/** The headers carry what the rows and events cannot: whether the month is complete, and the next page. */
function headersOf(
  { month, complete, next }: Usage,
  { limit = LIMITS.listPageDefault }: Query,
  type: string,
): string[] {
  const headers = ['Content-Type', type, 'Vary', 'Accept', 'Muster-Usage-Complete', String(complete)];
  if (next === undefined) return headers;
  const target = new URLSearchParams({ month, limit: String(limit), after: next });
  return [...headers, 'Link', `<${operation.path}?${target.toString()}>; rel="next"`];
}

function bodyOf(usage: Usage, type: string): Promise<OtherFormat> | ReturnType<typeof usageBody> {
  if (type === CSV_TYPE) return usageCsv(usage);
  return type === EVENTS_TYPE ? usageEvents(usage) : usageBody(usage);
}
