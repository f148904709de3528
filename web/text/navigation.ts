import { isolated } from '../../src/text/shown-name.ts';

/* Texts of the frame: navigation, sign-in, sign-out. */

export const navigation = {
  label: 'Pages',
  account: 'Account',
  allAccounts: 'All accounts',
  chooseAccount: 'Show the account',
  noAccount: 'You are a member of no account yet. Ask an owner for an invitation.',
  overview: 'Overview',
  apps: 'Apps',
  configuration: 'Configuration',
  keys: 'API keys',
  reviews: 'Review queue',
  usage: 'Usage',
  audit: 'Audit',
  members: 'Members',
  operator: 'Operator',
  accounts: 'Accounts',
  users: 'Users',
  limits: 'Limited accounts',
  service: 'Service',
  encryption: 'Encryption keys',
  serviceAudit: 'Service audit',
  reference: 'API reference',
  me: 'Your sign-in',
  signOut: 'Sign out',
  signedInAs: (name: string) => `Signed in as ${isolated(name)}`,
  disabled: 'This account is disabled: its API keys and daemons are refused.',
  role: (role: string) => `Your role: ${role}`,
};
