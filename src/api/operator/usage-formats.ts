import { setImmediate } from 'node:timers/promises';
import { amountsOfNights, money } from '../../domain/metering/amount.ts';
import type { AccountUsage, Usage } from '../../domain/metering/usage.ts';
import type { LedgerRecord } from '../../domain/records/metering-records.ts';
import { csvRow } from '../../text/csv.ts';
import { dateTime } from '../../time/date-time.ts';
import { endOfDay } from '../../time/utc-days.ts';
import { asOtherFormat, type OtherFormat } from '../contract/answers.ts';

/* A month of usage as it is sent: one JSON object, or one row or event a night. Names are the media types, in full. */

export const JSON_TYPE = 'application/json';
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';
export const EVENTS_TYPE = 'application/cloudevents-batch+json';

/** A month of usage as a JSON object. */
export const usageBody = ({ month, currency, pricePerDaemonMonth, complete, final, accounts, total, next }: Usage) => ({
  month,
  currency,
  pricePerDaemonMonth,
  complete,
  final,
  accounts: accounts.map(({ accountId, name, nights, daemonNights, amountMinor }) => ({
    accountId,
    name,
    nights: nights.map(({ day, activeDaemons, late }) => ({ day, activeDaemons, late })),
    daemonNights,
    amountMinor,
  })),
  total,
  ...(next !== undefined && { next }),
});

const COLUMNS = 'month accountId name day activeDaemons late price currency amount final'.split(' ');

/**
 * RFC 4180: a header line, then a row for each night. Every field is quoted. The amounts of an account's rows add up to
 * its amount of the month.
 */
export async function usageCsv({ month, currency, final, accounts }: Usage): Promise<OtherFormat> {
  const rows = await eachNight(accounts, ({ accountId, name, nights }) => {
    const amounts = amountsOfNights(month, currency, nights).map((minor) => money(minor, currency));
    return ({ day, activeDaemons, late, price }, at) =>
      csvRow([month, accountId, name, day, activeDaemons, `${late}`, price, currency, amounts[at] ?? '', `${final}`]);
  });
  return asOtherFormat([csvRow(COLUMNS), ...rows, ''].join('\r\n'));
}

/**
 * CloudEvents 1.0, the JSON batch format. `source` and `id` together identify a night for good, so that it may be sent
 * again: an event has nothing that changes when the month ends.
 */
export async function usageEvents({ accounts }: Usage): Promise<OtherFormat> {
  const events = await eachNight(
    accounts,
    ({ accountId }) =>
      (night) =>
        JSON.stringify(nightEvent(accountId, night)),
  );
  return asOtherFormat(`[${events.join(',')}]`);
}

function nightEvent(accountId: string, night: LedgerRecord): object {
  const { day, activeDaemons, late, digest, price, currency } = night;
  return {
    specversion: '1.0',
    id: `${accountId}/${day}`,
    source: '/muster/ledger',
    type: 'dev.muster.metering.night.v1',
    subject: accountId,
    time: dateTime(endOfDay(day)),
    datacontenttype: 'application/json',
    data: { day, activeDaemons, late, digest, price, currency },
  };
}

const ACCOUNTS_A_TURN = 50;

/** The texts of all nights. Other requests have their turn of the event loop in between. */
async function eachNight(
  accounts: readonly AccountUsage[],
  textOf: (account: AccountUsage) => (night: LedgerRecord, at: number) => string,
): Promise<string[]> {
  const texts: string[] = [];
  for (const [index, account] of accounts.entries()) {
    if (index % ACCOUNTS_A_TURN === ACCOUNTS_A_TURN - 1) await setImmediate();
    texts.push(...account.nights.map(textOf(account)));
  }
  return texts;
}
