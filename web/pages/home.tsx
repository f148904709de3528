import { useEffect } from 'preact/hooks';
import { pathOfAccount, pathOfOperator } from '../shell/router.ts';
import { useSession } from '../shell/session.tsx';
import { navigation } from '../text/navigation.ts';
import { Empty } from '../ui/state.tsx';

/** The first page: that of the first account, or of all accounts for an operator without one. */
export function NoAccount() {
  const { me, go } = useSession();
  const [first] = me.accounts;
  const path = first ? pathOfAccount(first.accountId) : me.operator ? pathOfOperator('accounts') : undefined;
  useEffect(() => {
    if (path !== undefined) go(path, { replace: true });
  }, [path, go]);
  return path === undefined ? <Empty title={navigation.noAccount} /> : null;
}
