import process from 'node:process';
import { minorDigits } from '../../domain/metering/amount.ts';
import { say } from '../terminal/exit.ts';
import { connectionOf } from '../terminal/service-address.ts';
import { ServiceClient } from '../terminal/service-client.ts';
import { table } from '../terminal/table.ts';

interface Night {
  readonly day: string;
  readonly activeDaemons: number;
  readonly late: boolean;
}

interface Amount {
  readonly daemonNights: number;
  readonly amountMinor: number;
}

interface Account extends Amount {
  readonly accountId: string;
  readonly name: string;
  readonly nights: readonly Night[];
}

interface Usage {
  readonly month: string;
  readonly currency: string;
  readonly pricePerDaemonMonth: string | null;
  readonly complete: boolean;
  readonly accounts: readonly Account[];
  readonly total: Amount;
  readonly next?: string;
}

export interface UsageOptions {
  readonly month: string;
  readonly account?: string;
  readonly output: 'table' | 'json' | 'csv';
}

const PATH = '/operator/v1/usage';
const PAGE_ACCOUNTS = 500;

/**
 * `muster usage`: a month of the ledger, for one account or all.
 * @throws CommandFault, ConfigError
 */
export async function usage(env: NodeJS.ProcessEnv, { month, account, output }: UsageOptions): Promise<void> {
  const client = new ServiceClient(connectionOf(env));
  const of = account === undefined ? { limit: String(PAGE_ACCOUNTS) } : { accountId: account };
  const first = `${PATH}?${new URLSearchParams({ month, ...of }).toString()}`;
  if (output === 'csv') return await writeCsv(client, first);
  const whole = await readPages(client, first);
  process.stdout.write(output === 'json' ? `${JSON.stringify(whole, undefined, 2)}\n` : tableOf(whole));
  if (!whole.complete) say(incomplete(month));
}

const incomplete = (month: string): string => `${month} is not complete: some of its nights are yet to be metered.`;

/** Each account is rounded separately, so that the totals of pages add up. */
async function readPages(client: ServiceClient, first: string): Promise<Usage> {
  const pages: Usage[] = [];
  let path: string | undefined = first;
  while (path !== undefined) {
    const page: Usage = await client.json<Usage>(path);
    pages.push(page);
    path = page.next === undefined ? undefined : `${first}&after=${page.next}`;
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
    accounts: pages.flatMap((page) => page.accounts),
    total: { daemonNights: sum(({ total }) => total.daemonNights), amountMinor: sum(({ total }) => total.amountMinor) },
  };
}

/** Writes the service's own CSV; pages after the first go without the header line. */
async function writeCsv(client: ServiceClient, first: string): Promise<void> {
  let path: string | undefined = first;
  let complete = true;
  while (path !== undefined) {
    const { text, headers } = await client.text(path, { accept: 'text/csv' });
    process.stdout.write(path === first ? text : text.slice(text.indexOf('\n') + 1));
    complete &&= headers.get('muster-usage-complete') === 'true';
    path = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  }
  if (!complete) say(incomplete(new URLSearchParams(first.split('?')[1]).get('month') ?? ''));
}

function tableOf({ currency, accounts, total }: Usage): string {
  const row = (id: string, name: string, nights: readonly Night[], amount: Amount): (string | number)[] => [
    id,
    name,
    nights.length,
    nights.filter(({ late }) => late).length,
    amount.daemonNights,
    money(amount.amountMinor, currency),
  ];
  const rows = accounts.map((account) => row(account.accountId, account.name, account.nights, account));
  const sum = ['total', '', '', '', total.daemonNights, money(total.amountMinor, currency)];
  return table(['ACCOUNT', 'NAME', 'NIGHTS', 'LATE', 'DAEMON-NIGHTS', currency], [...rows, sum]);
}

/** A safe integer of minor units as a decimal number. */
export function money(minor: number, currency: string): string {
  const digits = minorDigits(currency);
  if (digits === 0) return String(minor);
  const text = String(minor).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
