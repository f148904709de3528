import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { account } from '../api/panel.ts';
import { useResource } from '../hooks/use-resource.ts';
import { isOpenTo } from './rights.ts';
import { useSession } from './session.tsx';

/* The name of the account that a page is about. */

const Context = createContext<string | undefined>(undefined);
export const AccountName = Context.Provider;

/** Undefined on a page of no account. */
export const useShownAccountName = (): string | undefined => useContext(Context);

/** The name of an account: of one's own, or of any for whoever may open all; undefined until it is known. */
export function useAccountName(accountId: string | undefined): string | undefined {
  const { me } = useSession();
  const own = me.accounts.find((one) => one.accountId === accountId)?.name;
  const isForeign = own === undefined && isOpenTo(me, 'readAccount') && accountId !== undefined;
  const read = useResource(
    `name ${isForeign ? accountId : ''}`,
    async (signal) => (isForeign ? (await account(accountId).read({ signal })).name : undefined),
    { of: accountId ?? '', topics: ['account'] },
  );
  return own ?? read.data;
}
