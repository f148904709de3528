import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '@simplewebauthn/browser';
import { useMemo } from 'preact/hooks';
import { door } from '../text/door.ts';

/** The browser's WebAuthn, loaded when it is first used. */
export interface Passkey {
  /** Answers a challenge for a sign-in. @throws Error in words */
  answer(options: object): Promise<object>;
  /** Makes a passkey. @throws Error in words */
  make(options: object): Promise<object>;
}

async function inWords<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new Error(door.passkeyFailed, { cause: error });
  }
}

const library = () => import('@simplewebauthn/browser');

export function usePasskey(): Passkey {
  return useMemo(
    () => ({
      answer: (options) =>
        inWords(async () =>
          (await library()).startAuthentication({ optionsJSON: options as PublicKeyCredentialRequestOptionsJSON }),
        ),
      make: (options) =>
        inWords(async () =>
          (await library()).startRegistration({ optionsJSON: options as PublicKeyCredentialCreationOptionsJSON }),
        ),
    }),
    [],
  );
}
