import { useEffect, useMemo, useState } from 'preact/hooks';
import { lengthFault, type About } from '../../src/domain/passwords/password-rules.ts';
import { useSettled } from '../hooks/use-settled.ts';
import { TextField } from './controls.tsx';

/** The lists of passwords are a file of their own, which is fetched once somebody types a password. */
const strength = () => import('../../src/domain/passwords/password-strength.ts');
type Strength = Awaited<ReturnType<typeof strength>>;

/**
 * The fault of a password that somebody chooses, as the service judges it; undefined while there is none. Where the
 * lists cannot be fetched, and while one types, the length alone is judged: the service has the last word.
 */
export function useNewPasswordFault(password: string, { login, name }: About): string | undefined {
  const [judge, setJudge] = useState<Strength>();
  const isTyped = password !== '';
  useEffect(() => {
    if (isTyped) strength().then(setJudge, () => undefined);
  }, [isTyped]);
  const settled = useSettled(password);
  const guessFault = useMemo(
    () => (lengthFault(settled) === undefined ? judge?.guessFault(settled, { login, name }) : undefined),
    [judge, settled, login, name],
  );
  if (!isTyped) return undefined;
  const fault = lengthFault(password) ?? (settled === password ? guessFault : undefined);
  // The service names the field of the request; here it begins a sentence.
  return fault === undefined ? undefined : fault.charAt(0).toUpperCase() + fault.slice(1);
}

interface NewPasswordProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly fault: string | undefined;
  readonly missing: string | undefined;
}

/**
 * The field for a new password. It says what is wrong while one types. A password manager finds the login beside it.
 */
export const NewPasswordField = (props: NewPasswordProps) => (
  <TextField {...props} type="password" autocomplete="new-password" maxLength={512} />
);

/** Tells a password manager whose password the form holds. */
export const HiddenLogin = ({ login }: { login: string }) => (
  <input type="text" name="username" autocomplete="username" value={login} hidden readOnly />
);
