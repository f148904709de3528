import type { ComponentType } from 'preact';
import { isUpdated, reloadUpdated } from './update.ts';
import { useEffect, useState } from 'preact/hooks';
import { Unreachable } from '../api/client.ts';
import { isReachable, noteReached, onReachable } from '../api/reachable.ts';
import { common } from '../text/common.ts';
import { navigation } from '../text/navigation.ts';
import { Empty, Failed, Loading } from '../ui/state.tsx';
import { NoAccount } from '../pages/home.tsx';
import { OverviewPage } from '../pages/overview.tsx';
import type { Route } from './router.ts';
import type { PageProps } from './page-props.ts';

/*
 * Each page is a file of its own, which is loaded when it is opened; the overview, with which most begin, is none. What
 * a user without the second factor sees in place of every page is one, too.
 */

type Loader = () => Promise<ComponentType<PageProps>>;

const LOADERS: Partial<Record<Route['page'] | 'second-factor', Loader>> = {
  overview: () => Promise.resolve(OverviewPage),
  apps: async () => (await import('../pages/apps/apps.tsx')).AppsPage,
  app: async () => (await import('../pages/apps/app.tsx')).AppPage,
  configuration: async () => (await import('../pages/configuration/configuration.tsx')).ConfigurationPage,
  keys: async () => (await import('../pages/keys/keys.tsx')).KeysPage,
  reviews: async () => (await import('../pages/reviews/reviews.tsx')).ReviewsPage,
  usage: async () => (await import('../pages/usage/usage.tsx')).UsagePage,
  audit: async () => (await import('../pages/audit/audit.tsx')).AuditPage,
  members: async () => (await import('../pages/members.tsx')).MembersPage,
  settings: async () => (await import('../pages/operator/account-settings.tsx')).AccountSettingsPage,
  me: async () => (await import('../pages/me.tsx')).MePage,
  accounts: async () => (await import('../pages/operator/accounts.tsx')).AccountsPage,
  users: async () => (await import('../pages/operator/users.tsx')).UsersPage,
  limits: async () => (await import('../pages/operator/limits.tsx')).LimitsPage,
  service: async () => (await import('../pages/operator/service.tsx')).ServicePage,
  encryption: async () => (await import('../pages/operator/encryption.tsx')).EncryptionPage,
  'service-audit': async () => (await import('../pages/audit/audit.tsx')).ServiceAuditPage,
  reference: async () => (await import('../pages/operator/reference.tsx')).ReferencePage,
  'second-factor': async () => (await import('../pages/second-factor.tsx')).SecondFactorPage,
};

/** Loads the file of a page before it is shown; a failure is told when it is. */
export function preloadPage(page: Route['page']): void {
  LOADERS[page]?.().catch(() => undefined);
}

interface CurrentPageProps {
  readonly route: Route;
  /** Shown in place of the page of the route. */
  readonly instead?: 'second-factor' | undefined;
}

/** The page of a route. */
export function CurrentPage({ route, instead }: CurrentPageProps) {
  const [loaded, setLoaded] = useState<{ page: string; Page?: ComponentType<PageProps>; error?: unknown }>();
  const [round, setRound] = useState(0);
  const page = instead ?? route.page;
  useEffect(() => {
    let isWanted = true;
    LOADERS[page]?.().then(
      (Page) => isWanted && setLoaded({ page, Page }),
      (error: unknown) => {
        // A browser rejects with a TypeError where it cannot fetch a module.
        if (!(error instanceof TypeError)) return isWanted && setLoaded({ page, error });
        return isUpdated().then((updated) => {
          if (!isWanted) return;
          if (updated) return reloadUpdated() || setLoaded({ page, error: new Error(navigation.reload) });
          noteReached(false);
          setLoaded({ page, error: new Unreachable() });
        });
      },
    );
    // A file that did not come is asked for again when the service is back.
    const end = onReachable(() => isReachable() && setRound((before) => before + 1));
    return () => {
      isWanted = false;
      end();
    };
  }, [page, round]);
  if (page === 'home') return <NoAccount />;
  if (!LOADERS[page]) return <Empty title={common.failed.notFoundTitle} />;
  if (loaded?.page !== page) return <Loading />;
  const { Page, error } = loaded;
  if (!Page && error instanceof Unreachable) return <Loading />;
  if (!Page) return <Failed error={error} onRetry={() => setRound(round + 1)} />;
  const accountId = 'accountId' in route ? route.accountId : '';
  const appId = 'appId' in route ? route.appId : '';
  return <Page key={`${page} ${accountId} ${appId}`} accountId={accountId} appId={appId} />;
}
