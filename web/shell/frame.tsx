import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { common } from '../text/common.ts';
import { navigation } from '../text/navigation.ts';
import { Button } from '../ui/controls.tsx';
import { Icon, Mark } from '../ui/icons.tsx';
import { Name } from '../ui/page.tsx';
import { AccountName, useAccountName } from './account-name.tsx';
import { Finder, KeySheet } from './lazy.tsx';
import { onOpens } from './keys.ts';
import { Link } from './link.tsx';
import { Offline } from './offline.tsx';
import { ACCOUNT_PLACES, OPERATOR_PLACES, isPageOpen } from './places.ts';
import { isOpenTo } from './rights.ts';
import { pathOfAccount, pathOfOperator, type Route } from './router.ts';
import { useSession } from './session.tsx';
import { UserMenu } from './user-menu.tsx';

/* The frame around every page: the navigation, and who is signed in. */

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
  const accountName = useAccountName(accountId);
  const [isOpen, setOpen] = useState(false);
  const [finder, setFinder] = useState<{ readonly accountsOnly: boolean }>();
  const [isSheetOpen, setSheetOpen] = useState(false);
  const find = (): void => setFinder({ accountsOnly: false });
  useLayoutEffect(() => onOpens({ sheet: () => setSheetOpen(true), finder: find }), []);
  useEffect(() => {
    const listener = (event: KeyboardEvent): void => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      event.preventDefault();
      // A dialog that asks for something is answered first.
      if (!document.querySelector('dialog[open]')) find();
    };
    addEventListener('keydown', listener);
    return () => removeEventListener('keydown', listener);
  }, []);
  useEffect(() => setOpen(false), [route]);
  const current = (page: string) => (isCurrent(route, page) ? 'page' : undefined);
  return (
    <div class="shell">
      <a
        class="button primary skip"
        href="#content"
        onClick={(event) => {
          // A fragment would be a step of the history.
          event.preventDefault();
          document.querySelector<HTMLElement>('#content')?.focus();
        }}
      >
        {common.skip}
      </a>
      <header class="topbar">
        <Link class="brand" to="/">
          <Mark />
          {common.product}
        </Link>
        {'accountId' in route && accountName !== undefined && <Name>{accountName}</Name>}
        <Button
          kind="quiet"
          icon="menu"
          aria-expanded={isOpen}
          aria-controls="navigation"
          onClick={() => setOpen(!isOpen)}
        >
          {common.menu}
        </Button>
      </header>
      <div class={`sidebar ${isOpen ? 'open' : ''}`} id="navigation">
        <header>
          <Link class="brand" to="/">
            <Mark />
            {common.product}
          </Link>
        </header>
        <section class="stack" aria-label={navigation.places}>
          {(accountId !== undefined || isOpenTo(me, 'findAccounts')) && (
            <AccountButton name={accountName} onPress={() => setFinder({ accountsOnly: true })} />
          )}
          <Button kind="quiet" icon="search" onClick={find}>
            {navigation.find} <kbd>Ctrl K</kbd>
          </Button>
        </section>
        <nav aria-label={navigation.label}>
          {accountId !== undefined && (
            <ul>
              {ACCOUNT_PLACES.filter(([page]) => isPageOpen(me, { page, accountId })).map(([page, label, icon]) => (
                <li key={page}>
                  <Link to={pathOfAccount(accountId, page)} aria-current={current(page)}>
                    <Icon name={icon} />
                    {label}
                  </Link>
                </li>
              ))}
            </ul>
          )}
          {isOpenTo(me, 'listAccounts') && (
            <div>
              <h2>{navigation.operator}</h2>
              <ul>
                {OPERATOR_PLACES.filter(([page]) => isPageOpen(me, { page })).map(([page, label, icon]) => (
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
        <UserMenu route={route} />
      </div>
      <main id="content" tabIndex={-1}>
        <Offline />
        <AccountName value={'accountId' in route ? accountName : undefined}>{children}</AccountName>
      </main>
      {finder && <Finder {...finder} accountId={accountId} onClose={() => setFinder(undefined)} />}
      {isSheetOpen && <KeySheet onClose={() => setSheetOpen(false)} />}
    </div>
  );
}

function isCurrent(route: Route, page: string): boolean {
  return route.page === page || (route.page === 'app' && page === 'apps');
}

/** The account that the pages are about; a press leads to another one. */
const AccountButton = ({ name, onPress }: { name: string | undefined; onPress: () => void }) => (
  <button type="button" class="button account" aria-haspopup="dialog" onClick={onPress}>
    <span class="heard">{navigation.account}: </span>
    {name === undefined ? navigation.noneChosen : <Name>{name}</Name>}
    <span class="heard">. {navigation.switchAccount}</span>
    <Icon name="choose" />
  </button>
);
