import { navigation } from '../text/navigation.ts';
import type { IconName } from '../ui/icons.tsx';
import type { AccountPage, OperatorPage } from './router.ts';

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
export const OPERATOR_PLACES: readonly (readonly [page: OperatorPage, label: string, icon: IconName])[] = [
  ['accounts', navigation.accounts, 'accounts'],
  ['users', navigation.users, 'person'],
  ['limits', navigation.limits, 'limits'],
  ['service', navigation.service, 'service'],
  ['encryption', navigation.encryption, 'lock'],
  ['service-audit', navigation.serviceAudit, 'audit'],
  ['reference', navigation.reference, 'reference'],
];
