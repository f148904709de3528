import * as z from 'zod';
import { LIMITS } from '../../../domain/limits.ts';
import { ACCOUNT_ID, accountId, count, described, named, next, optionalNumberInQuery, pageQuery } from '../fields.ts';
import { operation } from '../operation.ts';

const amountMinor = described(z.int(), 'The amount in minor units of the currency, such as cents.', 1550);

const night = named(
  'UsageNight',
  z.object({
    day: described(z.string().regex(/^\d{4}-\d{2}-\d{2}$/), 'The UTC day.', '2026-01-30'),
    activeDaemons: count('Active daemons at its end.', 31),
    late: described(z.boolean(), 'Metered more than an hour after its midnight.', false),
  }),
  'A metered night.',
);

const MONTH_RULE = 'must be YYYY-MM, as in 2026-01';
/** Names a month, and an account where only one is asked for. */
export const monthQuery = z.object({
  month: described(
    z.string(MONTH_RULE).regex(/^(?:19[7-9]\d|[2-9]\d{3})-(?:0[1-9]|1[0-2])$/, MONTH_RULE),
    'The month, 1970-01 or later.',
    '2026-01',
  ),
  accountId: described(
    z.string().regex(ACCOUNT_ID, 'must be the id of an account'),
    'Only this account.',
    'a1b2c3d4e5f6g7h8',
  ).optional(),
});

const monthLimit = optionalNumberInQuery(
  LIMITS.listPageMax,
  'The most accounts of a page; without it, and without `after`, all accounts in one answer.',
);

/** M5: a month of the ledger, with its amounts of money. */
const usage = z
  .object({
    month: described(z.string().regex(/^\d{4}-\d{2}$/), 'The month.', '2026-01'),
    currency: described(z.string(), 'The currency of the amounts, ISO 4217.', 'EUR'),
    pricePerDaemonMonth: described(
      z.string().nullable(),
      'The price of a daemon for a month; null where the nights have different prices.',
      '0.50',
    ),
    complete: described(z.boolean(), 'Every night of the month that has ended is metered.', true),
    final: described(z.boolean(), 'The month is over and complete: nothing of it changes any more.', true),
    accounts: described(
      z.array(
        named(
          'AccountUsage',
          z.object({
            accountId,
            name: described(z.string().max(LIMITS.accountNameCodePointsMax), 'The name of the account.', 'Example Ltd'),
            nights: described(z.array(night), 'Its nights, in order.', undefined),
            daemonNights: count('The sum of its active daemons over the nights.', 961),
            amountMinor,
          }),
          'The usage of an account.',
        ),
      ),
      'In the order of the ids; also accounts without nights.',
      undefined,
    ),
    total: named(
      'UsageTotal',
      z.object({ daemonNights: count('Over all accounts of the answer.', 961), amountMinor }),
      'The sums.',
    ),
    next,
  })
  .meta({ id: 'Usage', description: 'The usage of a month.' });
export type Usage = z.infer<typeof usage>;

export const readUsage = operation({
  id: 'readUsage',
  method: 'get',
  path: '/operator/v1/usage',
  roles: { support: true, billing: true, auditor: true },
  summary: 'Read the usage of a month',
  description:
    'Reads the metered nights of a month with their amounts, of one account, of a page of them, or of all up to 2000. ' +
    'The field `Accept` chooses JSON, CSV (a row a night) or CloudEvents (an event a night).',
  // Without a limit the whole month is told: no default, which a generated client would send.
  query: monthQuery.extend({ limit: monthLimit, after: pageQuery.shape.after }),
  headers: ['Accept'],
  errors: ['not_found'],
  answers: [
    {
      status: 200,
      description: 'The usage of the month.',
      schema: usage,
      otherTypes: {
        'text/csv':
          '"month","accountId","name","day","activeDaemons","late","price","currency","amount","final"\r\n' +
          '"2026-01","a1b2c3d4e5f6g7h8","Example Ltd","2026-01-30","31","false","0.50","EUR","0.50","true"\r\n',
        'application/cloudevents-batch+json': '[]',
      },
      headers: ['Muster-Usage-Complete', 'Link'],
    },
  ],
  command: 'usage --month {month}',
});
