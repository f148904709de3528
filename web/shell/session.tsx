import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import type { goTo } from '../address/address.ts';
import type { Live } from '../api/live.ts';
import type { Me } from '../api/panel.ts';

/* Who is signed in, and what every page may use. */

export interface Session {
  readonly me: Me;
  readonly live: Live;
  /** Reads the user again, such as after a change of his own. */
  readonly reloadMe: () => void;
  readonly go: typeof goTo;
  /** Says something in passing, and to those who hear the page. */
  readonly say: (text: string) => void;
  readonly signOut: () => void;
}

const SessionContext = createContext<Session | undefined>(undefined);
export const SessionProvider = SessionContext.Provider;

/** @throws Error outside of the signed-in pages */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('There is no session here.');
  return session;
}
