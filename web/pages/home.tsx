import { useEffect } from 'preact/hooks';
import { HelpLink } from '../shell/help.tsx';
import { pathOfAccount, pathOfOperator } from '../shell/router.ts';
import { takeReturn } from '../shell/return.ts';
import { isOpenTo } from '../shell/rights.ts';
import { useSession } from '../shell/session.tsx';
import { navigation } from '../text/navigation.ts';
import { Empty } from '../ui/state.tsx';

/** The first page: the one that was left for the sign-in, that of the first account, or the operator's accounts. */
export function NoAccount() {
  const { me, go } = useSession();
  const [first] = me.accounts;
  const path = first
    ? pathOfAccount(first.accountId)
    : isOpenTo(me, 'listAccounts')
      ? pathOfOperator('accounts')
      : undefined;
  useEffect(() => {
    const to = takeReturn() ?? path;
    if (to !== undefined) go(to, { replace: true });
  }, [path, go]);
  return path === undefined ? (
    <Empty title={navigation.noAccount}>
      <HelpLink />
    </Empty>
  ) : null;
}
