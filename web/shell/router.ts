/* Which page an address shows. Paths hold ids alone, never a secret or a name. */

export type Route =
  | { readonly page: 'home' }
  | { readonly page: 'sign-in' }
  | { readonly page: 'link' }
  | { readonly page: 'proved' }
  | { readonly page: 'me' }
  | { readonly page: AccountPage; readonly accountId: string }
  | { readonly page: 'app'; readonly accountId: string; readonly appId: string }
  | { readonly page: OperatorPage }
  | { readonly page: 'unknown' };

export type AccountPage =
  'overview' | 'apps' | 'configuration' | 'keys' | 'reviews' | 'usage' | 'audit' | 'members' | 'settings';
export type OperatorPage = 'accounts' | 'users' | 'limits' | 'service' | 'encryption' | 'service-audit' | 'reference';

const ACCOUNT_PAGES: readonly AccountPage[] = [
  'apps',
  'configuration',
  'keys',
  'reviews',
  'usage',
  'audit',
  'members',
  'settings',
];
const OPERATOR_PAGES: readonly OperatorPage[] = [
  'accounts',
  'users',
  'limits',
  'service',
  'encryption',
  'service-audit',
  'reference',
];

export function routeOf(path: string): Route {
  const [first = '', second, third, fourth, ...rest] = path.split('/').slice(1);
  if (rest.length > 0) return { page: 'unknown' };
  if (first === '') return { page: 'home' };
  if (second === undefined && (first === 'sign-in' || first === 'link' || first === 'proved' || first === 'me')) {
    return { page: first };
  }
  if (first === 'operator' && third === undefined) return operatorRoute(second);
  if (first === 'accounts' && second !== undefined) return accountRoute(second, third, fourth);
  return { page: 'unknown' };
}

function operatorRoute(name: string | undefined): Route {
  const page = OPERATOR_PAGES.find((known) => known === name);
  return page ? { page } : { page: 'unknown' };
}

function accountRoute(accountId: string, name: string | undefined, appId: string | undefined): Route {
  if (!/^[a-z0-9]{16}$/.test(accountId)) return { page: 'unknown' };
  if (name === undefined) return { page: 'overview', accountId };
  if (name === 'apps' && appId !== undefined) {
    return /^[a-z0-9]{20}$/.test(appId) ? { page: 'app', accountId, appId } : { page: 'unknown' };
  }
  const page = ACCOUNT_PAGES.find((known) => known === name);
  return page && appId === undefined ? { page, accountId } : { page: 'unknown' };
}

export const pathOfAccount = (accountId: string, page: AccountPage = 'overview'): string =>
  page === 'overview' ? `/accounts/${accountId}` : `/accounts/${accountId}/${page}`;
/** The apps of an account that a filter of their page leaves. */
export const pathOfApps = (accountId: string, filter: Readonly<Record<string, string>>): string =>
  `${pathOfAccount(accountId, 'apps')}?${new URLSearchParams(filter)}`;
/** The audit of an account, as far as its filters let it through. */
export const pathOfAudit = (accountId: string, filters: Readonly<Record<string, string>>): string =>
  `${pathOfAccount(accountId, 'audit')}?${new URLSearchParams(filters)}`;
export const pathOfApp = (accountId: string, appId: string): string => `/accounts/${accountId}/apps/${appId}`;
export const pathOfOperator = (page: OperatorPage): string => `/operator/${page}`;
