import { jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { RecentMap } from '../packed/recent-map.ts';
import { sessionIdOf, subjectOf } from './bounded-claims.ts';

/** The user or session whose sessions the provider ends. */
export interface LoggedOut {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
}

/** The facts that a logout token is checked against. */
interface LogoutTerms {
  readonly keys: JWTVerifyGetKey;
  readonly issuer: string;
  readonly audience: string;
  /** Milliseconds since 1970. */
  readonly now: number;
  readonly toleranceSeconds: number;
}

const EVENT = 'http://schemas.openid.net/event/backchannel-logout';
const AGE_SECONDS = 300;
/** Tokens that this replica remembers, by `jti`; each is too old after `AGE_SECONDS` anyway. */
const REMEMBERED_MAX = 10_000;
/** A provider that gives no `typ`, or that of any token, is older than the final specification. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, 'JWT', 'jwt', 'logout+jwt', 'application/logout+jwt']);

/** Judges logout tokens (OpenID Connect Back-Channel Logout 1.0, 2.6), each good once on a replica. */
export class LogoutTokens {
  readonly #used = new RecentMap<string, true>(REMEMBERED_MAX);

  /** @throws Error for a token that is none of a logout, is not for us, or was used before */
  async read(token: string, { keys, issuer, audience, now, toleranceSeconds }: LogoutTerms): Promise<LoggedOut> {
    const { payload, protectedHeader } = await jwtVerify(token, keys, {
      issuer,
      audience,
      clockTolerance: toleranceSeconds,
      maxTokenAge: AGE_SECONDS,
      currentDate: new Date(now),
      requiredClaims: ['iat', 'jti', 'events'],
    });
    if (!TYPES.has(protectedHeader.typ)) throw new Error('The token is of another type.');
    const who = loggedOut(payload);
    this.#use(payload.jti);
    return who;
  }

  #use(jti: unknown): void {
    if (typeof jti !== 'string' || jti.length > 1000) throw new Error('The logout token has no usable jti.');
    if (this.#used.has(jti)) throw new Error('The logout token was used before.');
    this.#used.set(jti, true);
  }
}

function loggedOut({ iss = '', sub, events, nonce, sid }: JWTPayload): LoggedOut {
  const isEvent = typeof events === 'object' && events !== null && EVENT in events;
  const subject = sub === undefined ? undefined : subjectOf(sub);
  const session = sessionIdOf(sid);
  // A nonce is that of an ID token, which must not pass for this one.
  if (!isEvent || nonce !== undefined || (subject === undefined && session === undefined)) {
    throw new Error('This is no logout token.');
  }
  return { issuer: iss, subject, sid: session };
}
