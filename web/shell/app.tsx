import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { goTo, leaveBy } from '../address/address.ts';
import { usePath } from '../address/use-address.ts';
import { ApiError, Unreachable, whenSessionEnds } from '../api/client.ts';
import { Live, type Watched } from '../api/live.ts';
import { me as meApi, type Me } from '../api/panel.ts';
import { ProvedPage } from '../pages/door/proved.tsx';
import { LinkPage } from '../pages/door/link.tsx';
import { SignInPage } from '../pages/door/sign-in.tsx';
import { AdditionsBanner } from '../pages/me/additions.tsx';
import { common } from '../text/common.ts';
import { navigation } from '../text/navigation.ts';
import { Empty, Failed, Loading } from '../ui/state.tsx';
import { Frame } from './frame.tsx';
import { Helped } from './help.tsx';
import { LeaveDialog } from './leave-dialog.tsx';
import { CurrentPage, preloadPage } from './pages.tsx';
import { isPageOpen } from './places.ts';
import { ProofDialogs } from './proof.tsx';
import { routeOf, type Route } from './router.ts';
import { forgetReturn, leave } from './return.ts';
import { mayRead } from './rights.ts';
import { SessionProvider } from './session.tsx';
import { takeUpdated } from './update.ts';
import { Toasts, useToasts } from './toasts.tsx';

/** After so long the user is read again where the service did not answer at all. */
const AGAIN_MS = 5000;

/** The panel: the doors for those who are not signed in, and the pages for those who are. */
export function App() {
  const path = usePath();
  const route = useMemo(() => routeOf(path), [path]);
  return (
    <Helped value={route.page}>
      <Shown route={route} />
    </Helped>
  );
}

function Shown({ route }: { route: Route }) {
  if (route.page === 'sign-in') return <SignInPage />;
  if (route.page === 'link') return <LinkPage />;
  if (route.page === 'proved') return <ProvedPage />;
  return <SignedIn route={route} />;
}

function SignedIn({ route }: { route: Route }) {
  const [me, setMe] = useState<Me>();
  const [error, setError] = useState<unknown>();
  const live = useMemo(() => new Live(), []);
  const known = useRef(false);
  const { say, toasts } = useToasts();
  const reloadMe = useCallback(() => {
    meApi.read().then(
      (read) => {
        known.current = true;
        setMe(read);
        setError(undefined);
      },
      (fault: unknown) => {
        if (!(fault instanceof ApiError && fault.status === 401)) setError(fault);
      },
    );
  }, []);
  // Before the first paint: everything waits for the user.
  useLayoutEffect(() => {
    whenSessionEnds(() => leave(known.current ? 'ended' : 'asked'));
    preloadPage(route.page);
    reloadMe();
  }, [reloadMe]);
  const isRefused = me?.session.secondFactorRequired === true;
  const isKnown = me !== undefined && !isRefused;
  useEffect(() => {
    if (isKnown && route.page !== 'home') forgetReturn();
  }, [isKnown, route]);
  useEffect(() => {
    if (takeUpdated()) say(navigation.updated);
  }, [say]);
  useEffect(() => {
    if (!isKnown) return undefined;
    // The stream says that a right was lost or the session has ended; reading the user tells which.
    live.start(reloadMe);
    return live.listen(({ topic }) => {
      if (topic === undefined || topic === 'me') reloadMe();
    });
  }, [isKnown, live, reloadMe]);
  const isWaiting = me === undefined && error instanceof Unreachable;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setInterval(reloadMe, AGAIN_MS);
    return () => clearInterval(timer);
  }, [isWaiting, reloadMe]);
  const accountId = useShownAccount(route, me);
  useEffect(() => {
    // A stream that has ended is opened anew once it is known who the user is now, and what he may see.
    if (me && !isRefused) live.follow({ account: mayOpen(me, accountId) ? accountId : '', watch: watchedOn(route) });
  }, [me, isRefused, live, accountId, route]);

  if (!me) return error === undefined ? <Loading /> : <Failed error={error} onRetry={reloadMe} />;
  const signOut = (): void =>
    leaveBy(() => {
      meApi.signOut().then(
        ({ providerUrl }) => leave('signed-out', providerUrl),
        () => say('The sign-out did not reach the service: try it again.'),
      );
    });
  const account = me.accounts.find((one) => one.accountId === accountId);
  return (
    <SessionProvider value={{ me, live, reloadMe, go: goTo, say, signOut }}>
      <Frame route={route} accountId={accountId}>
        {account?.disabled === true && (
          <div class="banner" role="status">
            {navigation.disabled}
          </div>
        )}
        <AdditionsBanner />
        {isRefused ? (
          <Helped value="second-factor">
            <CurrentPage route={route} instead="second-factor" />
          </Helped>
        ) : 'accountId' in route && !mayOpen(me, route.accountId) ? (
          <Empty title={common.failed.notFoundTitle}>{common.failed.notFound}</Empty>
        ) : !isPageOpen(me, route) ? (
          <Empty title={common.failed.forbiddenTitle}>{common.failed.forbidden}</Empty>
        ) : (
          <CurrentPage route={route} />
        )}
      </Frame>
      <ProofDialogs me={me} />
      <LeaveDialog />
      <Toasts toasts={toasts} />
    </SessionProvider>
  );
}

/** Tells whether the user may open the account at all. */
const mayOpen = (me: Me, accountId: string | undefined): accountId is string =>
  accountId !== undefined && mayRead(me, accountId, 'readOverview');

/** The account of the page, or the one that was shown last. */
function useShownAccount(route: Route, me: Me | undefined): string | undefined {
  const last = useRef<string>(undefined);
  if ('accountId' in route) last.current = route.accountId;
  return last.current ?? me?.accounts[0]?.accountId;
}

/** What memory does not hold is watched only by the pages that show it. */
function watchedOn({ page }: Route): readonly Watched[] {
  if (page === 'overview') return ['rollout', 'limits', 'usage', 'reviews'];
  if (page === 'configuration' || page === 'apps' || page === 'app') return ['rollout'];
  if (page === 'reviews') return ['reviews'];
  return page === 'usage' ? ['usage'] : [];
}
