import { navigation } from '../text/navigation.ts';
import type { IconName } from '../ui/icons.tsx';
import type { Me } from '../api/panel.ts';
import { isOpenTo, mayRead } from './rights.ts';
import type { AccountPage, OperatorPage, Route } from './router.ts';

/* The pages that the navigation and the search lead to. */

export const ACCOUNT_PLACES: readonly (readonly [page: AccountPage, label: string, icon: IconName])[] = [
  ['overview', navigation.overview, 'overview'],
  ['apps', navigation.apps, 'apps'],
  ['configuration', navigation.configuration, 'configuration'],
  ['keys', navigation.keys, 'keys'],
  ['reviews', navigation.reviews, 'reviews'],
  ['usage', navigation.usage, 'usage'],
  ['audit', navigation.audit, 'audit'],
  ['members', navigation.members, 'members'],
];
/** The operation without which a page shows nothing; absent where everybody who is signed in may open it. */
const READS: Readonly<Partial<Record<AccountPage | OperatorPage | 'app', string>>> = {
  overview: 'readOverview',
  apps: 'listPanelApps',
  app: 'readPanelApp',
  configuration: 'readConfiguration',
  keys: 'listApiKeys',
  reviews: 'listReviewQueue',
  usage: 'readAccountUsage',
  audit: 'listNewestAudit',
  members: 'listMembers',
  settings: 'readAccount',
  accounts: 'listAccounts',
  users: 'listUsers',
  limits: 'readRateLimits',
  service: 'readServiceState',
  encryption: 'readKeys',
  'service-audit': 'listNewestServiceAudit',
};

/** Tells whether the page is for the user; another one would be refused all that it reads. */
export function isPageOpen(me: Me, route: Route): boolean {
  const { page } = route;
  const operation = page in READS ? READS[page as keyof typeof READS] : undefined;
  if (operation === undefined) return true;
  // The settings of an account are for the platform team, and not for its owners.
  return 'accountId' in route && page !== 'settings'
    ? mayRead(me, route.accountId, operation)
    : isOpenTo(me, operation);
}

export const OPERATOR_PLACES: readonly (readonly [page: OperatorPage, label: string, icon: IconName])[] = [
  ['accounts', navigation.accounts, 'accounts'],
  ['users', navigation.users, 'person'],
  ['limits', navigation.limits, 'limits'],
  ['service', navigation.service, 'service'],
  ['encryption', navigation.encryption, 'lock'],
  ['service-audit', navigation.serviceAudit, 'audit'],
  ['reference', navigation.reference, 'reference'],
];
