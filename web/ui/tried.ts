import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { common } from '../text/common.ts';

/** True once somebody has tried to send the form: from then on its fields say what is missing. */
export const Tried = createContext(false);

/** The fault of a field, in words. */
export interface Faults {
  /** It is said at once. */
  readonly fault?: string | undefined;
  /** The words for what is missing: they are shown once somebody tries to send the form. */
  readonly missing?: string | undefined;
}

/** The words for a text that is needed. */
export const needed = (text: string): string | undefined => (text.trim() === '' ? common.required : undefined);

/** The words for a form that would store what is there already. */
export const changed = (isChanged: boolean): string | undefined => (isChanged ? undefined : common.unchanged);

/** The words of a field; `data-wrong` marks a field that keeps its form from being sent. */
export function useFault({ fault, missing }: Faults): { says: string | undefined; wrong: '' | undefined } {
  const isTried = useContext(Tried);
  return {
    says: fault ?? (isTried ? missing : undefined),
    wrong: fault === undefined && missing === undefined ? undefined : '',
  };
}
