import { formatCount } from './format.ts';

/* Texts of the overview. */

export const overview = {
  title: 'Overview',
  lead: (name: string) => name,
  apps: 'Apps',
  appsAll: 'All apps',
  statuses: { active: 'Active', pending: 'Pending', revoked: 'Revoked' },
  appsOf: (total: number, most: number) => `${formatCount(total)} of at most ${formatCount(most)}`,
  silent: (count: number) => (count === 1 ? '1 active app is silent' : `${formatCount(count)} active apps are silent`),
  nearQuota: (share: string, quota: string) =>
    `The account uses ${share} of its quota of ${quota} MiB of records and audit. Once it is used up, what is created and ` +
    'changed here is refused; revoking and deleting go on. Ask the operator for a larger one.',
  tonight: 'Active tonight',
  tonightNote: 'Daemons that are metered at the next midnight, UTC',
  month: 'This month so far',
  nights: (nights: number, daemonNights: number) =>
    `${formatCount(nights)} nights, ${formatCount(daemonNights)} daemon-nights`,
  price: (price: string) => `${price} for a daemon and month`,
  prices: 'Nights have different prices',
  incomplete: 'A night that has ended is not metered yet',
  noMonth: 'The ledger cannot be read now',
  rate: 'Requests of the last minute',
  rateOf: (used: number, most: number) => `${formatCount(used)} of ${formatCount(most)}`,
  limited: 'The account is limited: further requests are refused with 429.',
  limitedSince: 'Limited since',
  lifts: 'Free again',
  refused: (count: number) => `${formatCount(count)} refused in the last minute`,
  refusedBy: 'Refused by key and operation',
  refusedColumns: { key: 'API key', operation: 'Operation', refused: 'Refused' },
  rollout: 'Rollout of the configuration',
  toConfiguration: 'Configuration',
  reviews: 'Reviews to decide',
  severities: { critical: 'Critical', high: 'High', medium: 'Medium', low: 'Low' },
  noReviews: 'Nothing waits for a decision.',
  toReviews: 'Review queue',
  events: 'Newest events',
  noEvents: 'Nothing has happened yet.',
  moreEvents: (more: number, isCut: boolean) => `and ${isCut ? 'at least ' : ''}${formatCount(more)} more`,
  toAudit: 'Whole audit',
  disabled: 'The account is disabled: its API keys and daemons are refused.',
  managed: (by: string) => `The account follows the FleetAccount ${by}: change it there.`,
};
