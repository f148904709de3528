import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { useMemo } from 'preact/hooks';
import type { WebAuthn } from '../api/panel.ts';
import { door } from '../text/door.ts';

/** The browser's WebAuthn, loaded when it is first used. */
interface Passkey {
  /** Answers a challenge for a sign-in. @throws Error in words */
  answer(options: object): Promise<WebAuthn>;
  /** Makes a passkey. @throws Error in words */
  make(options: object): Promise<WebAuthn>;
}

/** What the browser means by the names of its errors (WebAuthn Level 3, sections 5.1.3 and 5.1.4). */
const FAILURES: Readonly<Record<string, string>> = {
  InvalidStateError: door.passkeyThereAlready,
  SecurityError: door.passkeyAtNumber,
};

async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const says = error instanceof Error ? FAILURES[error.name] : undefined;
    throw new Error(says ?? door.passkeyFailed, { cause: error });
  }
}

const library = () => import('@simplewebauthn/browser');

export function usePasskey(): Passkey {
  return useMemo(
    () => ({
      answer: (options) =>
        inWords(async () => ({
          ...(await (
            await library()
          ).startAuthentication({ optionsJSON: options as PublicKeyCredentialRequestOptionsJSON })),
        })),
      make: (options) =>
        inWords(async () => ({
          ...(await (
            await library()
          ).startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON })),
        })),
    }),
    [],
  );
}
