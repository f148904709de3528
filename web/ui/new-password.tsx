import { passwordFault } from '../../src/domain/passwords/password-rules.ts';
import { TextField } from './controls.tsx';

/** Whose password it is: it must not be made of these. */
interface About {
  readonly login: string;
  readonly name: string;
}

/** What is wrong with a password that somebody chooses, as the service judges it; undefined while there is none. */
export function newPasswordFault(password: string, about: About): string | undefined {
  const fault = password === '' ? undefined : passwordFault(password, about);
  // The service names the field of the request; here it begins a sentence.
  return fault === undefined ? undefined : fault.charAt(0).toUpperCase() + fault.slice(1);
}

interface NewPasswordProps {
  readonly label: string;
  readonly hint: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly about: About;
}

/** The field for a new password. It says what is wrong while one types. A password manager finds the login beside it. */
export const NewPasswordField = ({ label, hint, value, onValue, about }: NewPasswordProps) => (
  <TextField
    label={label}
    hint={hint}
    type="password"
    value={value}
    onValue={onValue}
    fault={newPasswordFault(value, about)}
    autocomplete="new-password"
    maxLength={512}
  />
);

/** Tells a password manager whose password the form holds. */
export const HiddenLogin = ({ login }: { login: string }) => (
  <input type="text" name="username" autocomplete="username" value={login} hidden readOnly />
);
