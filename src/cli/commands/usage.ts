import type { OperatorClient, Usage } from '#client';
import { money } from '../../domain/metering/amount.ts';
import { accountNamed } from '../connection/accounts.ts';
import { operatorOf, requestOf } from '../connection/clients.ts';
import type { Column } from '../output/columns.ts';
import { printList } from '../output/print.ts';
import type { Invocation } from '../terminal/invocation.ts';

export interface UsageOptions {
  /** `YYYY-MM`; the current one (UTC) without it. */
  readonly month?: string;
  /** Its id or its name. */
  readonly account?: string;
}

type Account = Usage['accounts'][number];

const PAGE_ACCOUNTS = 500;

interface Asked {
  readonly month: string;
  readonly accountId?: string;
  readonly limit?: number;
}

/**
 * `muster usage`: a month of the ledger, for one account or all.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function usage(call: Invocation, options: UsageOptions): Promise<void> {
  const { month = new Date(call.clock.now()).toISOString().slice(0, 7), account } = options;
  const operator = operatorOf(call);
  const of =
    account === undefined
      ? { limit: PAGE_ACCOUNTS }
      : { accountId: (await accountNamed(operator, account, requestOf(call))).accountId };
  const complete = await (call.globals.output === 'csv' ? writeCsv : printed)(call, operator, { month, ...of });
  if (!complete) call.say(`${month} is not complete: some of its nights are yet to be metered.`);
}

async function printed(call: Invocation, operator: OperatorClient, asked: Asked): Promise<boolean> {
  const { accounts: items, ...rest } = await readPages(call, operator, asked);
  const { month, currency, total, complete, final } = rest;
  const { output } = call.globals;
  const isTable = output === 'table';
  const sum = { accountId: 'total', name: '', nights: [], ...total };
  await printList<Account>(call, {
    columns: columnsIn(currency, isTable ? sum : undefined),
    id: ({ accountId }) => accountId,
    items: isTable ? [...items, sum] : items,
    // A line stands for itself: what the document says of all accounts, each of them says.
    ...(output === 'jsonl' && { json: (account) => ({ month, currency, complete, final, ...account }) }),
    document: (accounts) => ({ ...rest, accounts, total }),
  });
  return complete;
}

/** Each account is rounded separately, so that the totals of pages add up. */
async function readPages(call: Invocation, operator: OperatorClient, asked: Asked): Promise<Omit<Usage, 'next'>> {
  const pages: Usage[] = [];
  for (let after: string | undefined; ;) {
    const page = await operator.readUsage({ ...asked, after }, requestOf(call));
    pages.push(page);
    if (page.next === undefined) break;
    after = page.next;
  }
  const [head, ...others] = pages as [Usage, ...Usage[]];
  const sum = (of: (usage: Usage) => number): number => pages.reduce((sum, page) => sum + of(page), 0);
  return {
    month: head.month,
    currency: head.currency,
    pricePerDaemonMonth: others.every((page) => page.pricePerDaemonMonth === head.pricePerDaemonMonth)
      ? head.pricePerDaemonMonth
      : null,
    complete: pages.every((page) => page.complete),
    final: pages.every((page) => page.final),
    accounts: pages.flatMap((page) => page.accounts),
    total: { daemonNights: sum(({ total }) => total.daemonNights), amountMinor: sum(({ total }) => total.amountMinor) },
  };
}

/** Writes the service's own CSV, a row a night; pages after the first go without the header line. */
async function writeCsv(call: Invocation, operator: OperatorClient, asked: Asked): Promise<boolean> {
  let allComplete = true;
  for (let after: string | undefined; ;) {
    const { text, complete, next } = await operator.readUsageCsv({ ...asked, after }, requestOf(call));
    await call.terminal.stdout.write(after === undefined ? text : text.slice(text.indexOf('\n') + 1));
    allComplete &&= complete;
    if (next === undefined) return allComplete;
    after = next;
  }
}

/** @param sum the row of the totals, which has no nights of its own */
function columnsIn(currency: string, sum: Account | undefined): readonly Column<Account>[] {
  const unlessSum = (of: (account: Account) => number) => (account: Account) => (account === sum ? '' : of(account));
  return [
    { head: 'ACCOUNT', field: 'accountId' },
    { head: 'NAME', field: 'name', kind: 'text' },
    { head: 'NIGHTS', of: unlessSum(({ nights }) => nights.length), kind: 'number' },
    { head: 'LATE', of: unlessSum(({ nights }) => nights.filter(({ late }) => late).length), kind: 'number' },
    { head: 'DAEMON-NIGHTS', field: 'daemonNights', kind: 'number' },
    { head: currency, of: ({ amountMinor }) => money(amountMinor, currency), kind: 'number' },
  ];
}
