import { formatCount } from './format.ts';

/* Texts of what was added to a user's ways in. */

export const additions = {
  banner: 'New for your sign-in:',
  notYou: 'If that was not you, remove it, and set another password.',
  look: 'Look at your sign-in',
  mine: 'That was me',
  times: (count: number) => `${formatCount(count)} times, last`,
  title: 'Added lately',
  caption: 'The latest first',
  from: 'from',
  kinds: {
    passkey: 'The passkey',
    identity: 'The identity at the provider',
    browser: 'A sign-in from the new browser',
  },
  columns: { what: 'What', when: 'When', from: 'From the address' },
};
