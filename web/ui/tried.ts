import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { common } from '../text/common.ts';

/** Whether somebody has tried to send the form: from then on its fields say what is missing. */
export const Tried = createContext(false);

/** What is wrong with a field, in words. */
export interface Faults {
  /** It is said at once. */
  readonly fault?: string | undefined;
  /** What is missing: it is said once somebody tries to send the form. */
  readonly missing?: string | undefined;
}

/** What is missing where a text is needed. */
export const needed = (text: string): string | undefined => (text.trim() === '' ? common.required : undefined);

/** What is missing where a form would store what is there already. */
export const changed = (isChanged: boolean): string | undefined => (isChanged ? undefined : common.unchanged);

/** What a field says, and whether its form can be sent: `data-wrong` marks the fields that keep it from that. */
export function useFault({ fault, missing }: Faults): { says: string | undefined; wrong: '' | undefined } {
  const isTried = useContext(Tried);
  return {
    says: fault ?? (isTried ? missing : undefined),
    wrong: fault === undefined && missing === undefined ? undefined : '',
  };
}
