import { formatCount } from './format.ts';

/* Texts of the frame: navigation, sign-in, sign-out. */

export const navigation = {
  label: 'Pages',
  account: 'Account',
  switchAccount: 'Switch account',
  noneChosen: 'Choose an account',
  find: 'Search',
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
  places: 'Account in use',
  updated: 'Muster was updated, and the page was loaded again.',
  reload: 'Muster was updated. Reload the page.',
  disabled: 'This account is disabled: its API keys and daemons are refused.',
  role: (role: string) => `Your role: ${role}`,
};

export const userMenu = {
  label: 'Your menu',
  profile: 'Your profile',
  theme: 'Theme',
  themes: { system: 'System', light: 'Light', dark: 'Dark' },
  reference: 'API reference',
  documents: 'Documents',
  keys: 'Keyboard',
  signOut: 'Sign out',
};

export const leaving = {
  page: {
    title: 'Leave this page?',
    says: 'What you have typed, or a secret that is shown only once, is lost when you leave.',
    leave: 'Leave',
    stay: 'Stay here',
  },
  dialog: {
    title: 'Close without copying?',
    says: 'You have neither copied nor saved all that is shown here. It is not shown again.',
    leave: 'Close anyway',
    stay: 'Go back',
  },
};

export const finder = {
  label: 'Search',
  hint: 'A page, an app, an account or an action',
  accounts: 'Switch account',
  accountsHint: 'The name of the account',
  results: 'Results',
  begin: 'Type a part of the name, or the whole id.',
  nothing: 'Nothing fits.',
  nothingHint: 'Nothing fits. Type a part of the name of a page, an app, an account or an action.',
  count: (shown: number, all: number) =>
    shown < all
      ? `first ${formatCount(shown)} of ${formatCount(all)} results`
      : all === 1
        ? '1 result'
        : `${formatCount(all)} results`,
  me: 'Your profile',
  failed: 'Daemons that could not apply the configuration',
  theme: (name: string) => `Theme: ${name}`,
  groups: { page: 'page', action: 'action', operator: 'operator', account: 'account', app: 'app' },
  /** The page, the dialog of it that `new` opens, and what it does. */
  actions: [
    ['apps', 'daemon', 'Add a daemon'],
    ['apps', 'app', 'Add many daemons'],
    ['keys', 'key', 'Create an API key'],
    ['members', 'invitation', 'Invite somebody'],
  ] as const,
};

export const keySheet = {
  title: 'Keys',
  always: [
    ['Ctrl K', 'search pages, apps and accounts, or do something'],
    ['/', 'go to the search of this page, or search everything'],
    ['?', 'this help'],
  ] as const,
  on: 'Single keys work in this browser',
  onHint: 'Turn them off if you use speech input or press keys by accident. Everything can be done without them.',
};
