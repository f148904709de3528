import { formatCount } from './format.ts';

/* Texts of the warning before API keys expire, which the overview shows. */

export const expiringKeys = {
  says: (count: number) =>
    count === 1 ? 'An API key expires within 14 days:' : `${formatCount(count)} API keys expire within 14 days:`,
  more: (count: number) => `and ${formatCount(count)} more`,
  action:
    'An expiry cannot be moved later. Create another key, give it to the program, and revoke the one that expires:',
  create: 'Create a key',
};
