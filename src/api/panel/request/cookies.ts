import type { IncomingMessage } from 'node:http';
import type { Secret } from '../../../domain/credentials/secret.ts';

/** How the panel names its cookies, which depends on how browsers reach it. */
export interface CookieNames {
  readonly session: string;
  /** The sealed state of a sign-in that is under way. */
  readonly flow: string;
  /** The marks of a browser, one of each user who has signed in from it. */
  readonly browser: string;
  /** The sealed ticket of an attempt to sign in that was told to wait. */
  readonly ticket: string;
  /** The sealed invitation that was opened last, for a first sign-in at the provider. */
  readonly invitation: string;
  readonly isSecure: boolean;
}

/**
 * The names for an origin. Over https the prefix `__Host-` keeps other hosts of the domain from setting them. A browser
 * shares cookies among the ports of a host, so on plain http, which is for a loopback address alone, the names have the
 * port.
 */
export function cookieNames(origin: URL): CookieNames {
  const isSecure = origin.protocol === 'https:';
  const name = (rest: string): string => (isSecure ? `__Host-muster${rest}` : `muster${rest}_${portOf(origin)}`);
  return {
    session: name(''),
    flow: name('-flow'),
    browser: name('-browser'),
    ticket: name('-ticket'),
    invitation: name('-invitation'),
    isSecure,
  };
}

const portOf = ({ port }: URL): string => (port === '' ? '80' : port);

/** Bytes of a Cookie field that are looked at. */
const COOKIE_BYTES_MAX = 16_384;

/** The value of a cookie; undefined where there is none, or more than one: which one counts would be a guess. */
export function readCookie(request: IncomingMessage, name: string): string | undefined {
  const field = request.headers.cookie ?? '';
  if (field.length > COOKIE_BYTES_MAX) return undefined;
  const values = field.split(';').flatMap((pair) => {
    const [key = '', ...rest] = pair.trim().split('=');
    return key === name ? [rest.join('=')] : [];
  });
  return values.length === 1 ? values[0] : undefined;
}

/** A `Set-Cookie` header, as a name and a value. @param maxAgeSeconds 0 removes the cookie */
export function setCookie(
  { isSecure }: Pick<CookieNames, 'isSecure'>,
  name: string,
  value: Secret | string,
  maxAgeSeconds: number,
): readonly [string, string] {
  const text = typeof value === 'string' ? value : value.reveal();
  const secure = isSecure ? '; Secure' : '';
  return ['Set-Cookie', `${name}=${text}; Path=/; HttpOnly${secure}; SameSite=Lax; Max-Age=${maxAgeSeconds}`];
}
