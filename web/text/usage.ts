import { formatCount } from './format.ts';

/* Texts of the page of usage. */

export const usage = {
  title: 'Usage',
  lead: 'Each night at midnight, UTC, the active daemons are counted. The month is billed by these nights.',
  month: 'Month',
  amount: 'Amount',
  soFar: 'so far; the month goes on',
  whole: 'the month is complete',
  missing: 'nights that have ended are not metered yet',
  daemonNights: 'Daemon-nights',
  price: 'Price of a daemon and month',
  prices: 'different prices',
  nights: 'Active daemons by night',
  table: 'The nights as a table',
  empty: 'No night of this month is metered.',
  columns: { day: 'Night', daemons: 'Active daemons', late: 'Metered' },
  late: 'late',
  lateNights: (count: number) =>
    count === 1 ? '1 night was metered late' : `${formatCount(count)} nights were metered late`,
  onTime: 'on time',
  csv: 'CSV',
  events: 'CloudEvents',
  chart: (month: string) => `Active daemons by night, ${month}. The table below has the same numbers.`,
};
