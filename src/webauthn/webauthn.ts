import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';

/*
 * WebAuthn by @simplewebauthn/server. The library is loaded when somebody first uses a passkey: it takes half a second.
 */

const library = () => import('@simplewebauthn/server');

/** The place that passkeys belong to: the host of the panel, and its origin. */
interface Place {
  readonly origin: string;
  readonly host: string;
}

export const placeOf = (origin: string): Place => ({ origin, host: new URL(origin).hostname });

/** A challenge for the browser, and what it must be answered to. */
interface Challenge {
  readonly challenge: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A passkey as the browser made it. */
interface MadePasskey {
  /** base64url. */
  readonly id: string;
  /** COSE key, base64url. */
  readonly publicKey: string;
  readonly transports: string[];
  readonly counter: number;
}

const PRODUCT = 'Muster';
/** EdDSA, ES256 and RS256 (COSE): by default the library tries what Node calls experimental, and Node warns of it. */
const ALGORITHMS = [-8, -7, -257];
const TIMEOUT_MS = 300_000;

/** A challenge for a new passkey of a user; one that he has already is refused by the browser. */
export async function beginRegistration(
  { host }: Place,
  user: {
    readonly userId: string;
    readonly login: string;
    readonly name: string;
    readonly passkeys: readonly string[];
  },
): Promise<Challenge> {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    rpName: PRODUCT,
    rpID: host,
    userID: new TextEncoder().encode(user.userId),
    userName: user.login === '' ? user.name : user.login,
    userDisplayName: user.name,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: user.passkeys.map((id) => ({ id })),
    // The passkey is to be a sign-in by itself: it is found without a name, and asks who uses it.
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return { challenge: options.challenge, options: { ...options } };
}

/**
 * Whether a page of another origin has framed the one that asked (WebAuthn 3, 5.8.1). The panel is framed by nobody;
 * the library does not look at this for a new passkey, and for a sign-in only where the browser names the other origin.
 * @throws SyntaxError for what is no JSON
 */
function isFramed(response: object): boolean {
  const { response: inner } = response as { readonly response?: { readonly clientDataJSON?: unknown } };
  const data = Buffer.from(String(inner?.clientDataJSON), 'base64url').toString();
  const { crossOrigin, topOrigin } = JSON.parse(data) as {
    readonly crossOrigin?: unknown;
    readonly topOrigin?: unknown;
  };
  return (crossOrigin !== undefined && crossOrigin !== false) || topOrigin !== undefined;
}

/** Judges a new passkey. @returns undefined where the answer does not fit the challenge */
export async function endRegistration(
  { origin, host }: Place,
  challenge: string,
  response: object,
): Promise<MadePasskey | undefined> {
  const { verifyRegistrationResponse } = await library();
  try {
    if (isFramed(response)) return undefined;
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: response as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return undefined;
    const { id, publicKey, transports = [], counter } = registrationInfo.credential;
    return { id, publicKey: Buffer.from(publicKey).toString('base64url'), transports: [...transports], counter };
  } catch {
    // The library throws for whatever does not fit; the caller refuses it in a sentence.
    return undefined;
  }
}

/** A challenge for a sign-in; with `allowed` only for these passkeys, else for any of this place. */
export async function beginAuthentication({ host }: Place, allowed: readonly string[] = []): Promise<Challenge> {
  const { generateAuthenticationOptions } = await library();
  const options = await generateAuthenticationOptions({
    rpID: host,
    timeout: TIMEOUT_MS,
    userVerification: 'required',
    allowCredentials: allowed.map((id) => ({ id })),
  });
  return { challenge: options.challenge, options: { ...options } };
}

/** A stored passkey, by which an answer is judged. */
interface KnownPasskey {
  readonly id: string;
  readonly publicKey: string;
  readonly transports?: readonly string[] | undefined;
}

/** Judges the answer of a passkey. @returns its signature counter; undefined where it does not fit the challenge */
export async function endAuthentication(
  { origin, host }: Place,
  challenge: string,
  response: object,
  { id, publicKey, transports }: KnownPasskey,
): Promise<number | undefined> {
  const { verifyAuthenticationResponse } = await library();
  try {
    if (isFramed(response)) return undefined;
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: response as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: host,
      requireUserVerification: true,
      credential: {
        id,
        publicKey: Buffer.from(publicKey, 'base64url'),
        // The counter is compared where it is kept, in one step with its change.
        counter: 0,
        ...(transports && { transports: transports as AuthenticatorTransport[] }),
      },
    });
    return verified ? authenticationInfo.newCounter : undefined;
  } catch {
    return undefined;
  }
}
