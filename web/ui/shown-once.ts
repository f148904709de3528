import { createContext } from 'preact';
import { useContext, useState } from 'preact/hooks';
import { closeBy } from '../address/address.ts';
import { useHold } from '../address/use-hold.ts';

/* Secrets that are shown once, in a dialog: it asks before they are lost. */

/** Secrets that a dialog shows once. */
export interface ShownOnce {
  /** Called with each text that somebody has copied or saved; it keeps the secrets that stand in it. */
  readonly keep: (text: string) => void;
  /** Goes on, and asks first where a secret would be lost. */
  readonly leave: (then: () => void) => void;
}

/** @param isUsed nobody needs the secrets any more */
export function useShownOnce(secrets: readonly string[], isUsed = false): ShownOnce {
  const [kept, setKept] = useState<ReadonlySet<string>>(new Set());
  const wouldLose = !isUsed && secrets.some((secret) => !kept.has(secret));
  useHold(wouldLose);
  return {
    keep: (text) => setKept((before) => new Set([...before, ...secrets.filter((secret) => text.includes(secret))])),
    leave: (then) => (wouldLose ? closeBy(then) : then()),
  };
}

export const ShownOnceContext = createContext<ShownOnce | undefined>(undefined);

/** The function to call by a button that copies or saves a text: the dialog around it may show it once. */
export const useKeep = (): ((text: string) => void) | undefined => useContext(ShownOnceContext)?.keep;
