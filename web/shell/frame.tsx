import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { common } from '../text/common.ts';
import { navigation } from '../text/navigation.ts';
import { Button, Select } from '../ui/controls.tsx';
import { Icon, Mark, type IconName } from '../ui/icons.tsx';
import { Link } from './link.tsx';
import { pathOfAccount, pathOfOperator, type AccountPage, type OperatorPage, type Route } from './router.ts';
import { useSession } from './session.tsx';

/* The frame around every page: the navigation, and who is signed in. */

const ACCOUNT_LINKS: readonly (readonly [page: AccountPage, label: string, icon: IconName])[] = [
  ['overview', navigation.overview, 'overview'],
  ['apps', navigation.apps, 'apps'],
  ['configuration', navigation.configuration, 'configuration'],
  ['keys', navigation.keys, 'keys'],
  ['reviews', navigation.reviews, 'reviews'],
  ['usage', navigation.usage, 'usage'],
  ['audit', navigation.audit, 'audit'],
  ['members', navigation.members, 'members'],
];
const OPERATOR_LINKS: readonly (readonly [page: OperatorPage, label: string, icon: IconName])[] = [
  ['accounts', navigation.accounts, 'accounts'],
  ['users', navigation.users, 'person'],
  ['limits', navigation.limits, 'limits'],
  ['service', navigation.service, 'service'],
  ['encryption', navigation.encryption, 'lock'],
  ['service-audit', navigation.serviceAudit, 'audit'],
  ['reference', navigation.reference, 'reference'],
];

/** @param accountId of the account in the navigation; undefined where none is chosen */
export function Frame({
  route,
  accountId,
  children,
}: {
  route: Route;
  accountId: string | undefined;
  children: ComponentChildren;
}) {
  const { me } = useSession();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [route]);
  const current = (page: string) => (isCurrent(route, page) ? 'page' : undefined);
  return (
    <div class="shell">
      <a class="button primary skip" href="#content">
        {common.skip}
      </a>
      <div class="topbar">
        <Link class="brand" to="/">
          <Mark />
          {common.product}
        </Link>
        <Button
          kind="quiet"
          icon="menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          {common.menu}
        </Button>
      </div>
      <div class={`sidebar ${isOpen ? 'open' : ''}`} id="navigation">
        <Link class="brand" to="/">
          <Mark />
          {common.product}
        </Link>
        <AccountChoice accountId={accountId} />
        <nav aria-label={navigation.label}>
          {accountId !== undefined && (
            <ul>
              {ACCOUNT_LINKS.map(([page, label, icon]) => (
                <li key={page}>
                  <Link to={pathOfAccount(accountId, page)} aria-current={current(page)}>
                    <Icon name={icon} />
                    {label}
                  </Link>
                </li>
              ))}
            </ul>
          )}
          {me.operator && (
            <div>
              <h2>{navigation.operator}</h2>
              <ul>
                {OPERATOR_LINKS.map(([page, label, icon]) => (
                  <li key={page}>
                    <Link to={pathOfOperator(page)} aria-current={current(page)}>
                      <Icon name={icon} />
                      {label}
                    </Link>
                  </li>
                ))}
              </ul>
            </div>
          )}
        </nav>
        <Foot current={current('me')} />
      </div>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function isCurrent(route: Route, page: string): boolean {
  return route.page === page || (route.page === 'app' && page === 'apps');
}

/** Which account the navigation is about. An operator finds the others on the page of accounts. */
function AccountChoice({ accountId }: { accountId: string | undefined }) {
  const { me, go } = useSession();
  const own = me.accounts.map((account) => [account.accountId, account.name] as const);
  if (own.length < 2) {
    const [name] = own.filter(([id]) => id === accountId).map(([, name]) => name);
    return name === undefined ? null : (
      <p class="quiet">
        <bdi class="name">{name}</bdi>
      </p>
    );
  }
  const isForeign = accountId !== undefined && !own.some(([id]) => id === accountId);
  const options = isForeign ? [[accountId, accountId] as const, ...own] : own;
  return (
    <Select
      label={navigation.account}
      value={accountId ?? ''}
      options={options}
      onValue={(id) => go(pathOfAccount(id))}
    />
  );
}

function Foot({ current }: { current: 'page' | undefined }) {
  const { me, signOut } = useSession();
  return (
    <div class="foot">
      <Link to="/me" aria-current={current} class="button quiet">
        <Icon name="person" />
        <bdi class="name">{me.name}</bdi>
      </Link>
      <Button kind="quiet" icon="out" onClick={signOut}>
        {navigation.signOut}
      </Button>
    </div>
  );
}
