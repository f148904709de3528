import { createRemoteJWKSet, jwtVerify, type JWTPayload } from 'jose';
import * as oidc from 'openid-client';
import type { ProviderConfig } from '../config/panel.ts';
import { Secret } from '../domain/credentials/secret.ts';
import type { Clock } from '../time/clock.ts';

/*
 * The OpenID Connect provider, by openid-client: authorization code with PKCE, nonce and state (OpenID Connect Core 1.0,
 * RFC 7636). Every call is bounded in time.
 */

/** What a sign-in remembers while the browser is at the provider. */
export interface ProviderFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Who signed in, as the provider says. */
export interface ProviderAnswer {
  readonly issuer: string;
  readonly subject: string;
  /** The provider's own session, where it tells one. */
  readonly sid: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly refreshToken: Secret | undefined;
}

/** Whose sessions the provider ends. */
export interface LoggedOut {
  readonly issuer: string;
  readonly subject: string | undefined;
  readonly sid: string | undefined;
}

/** `unavailable`: it did not answer, or not as a provider does. `refused`: it, or the library, does not let in. */
export class ProviderFault extends Error {
  override readonly name = 'ProviderFault';
  readonly reason: 'unavailable' | 'refused';

  constructor(reason: 'unavailable' | 'refused', cause: unknown) {
    // The provider's own words may hold what a person typed; its code says enough.
    super(`The provider of sign-ins: ${reason}${codeOf(cause)}`, { cause });
    this.reason = reason;
  }
}

/** The provider as the panel uses it. All throw ProviderFault. */
export interface ProviderClient {
  /** The address at the provider, and what to remember. */
  begin(): Promise<{ readonly url: string; readonly flow: ProviderFlow }>;
  /** Exchanges the answer that came back with the browser. @param query of the callback */
  end(query: URLSearchParams, flow: ProviderFlow): Promise<ProviderAnswer>;
  /** Asks anew with a refresh token; the answer may have another one. @param subject who it must be */
  renew(refreshToken: Secret, subject: string): Promise<ProviderAnswer>;
  /** Where to sign out at the provider; undefined where it has no such address. */
  endSessionUrl(): Promise<string | undefined>;
  /** Judges a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). */
  readLogoutToken(token: string): Promise<LoggedOut>;
}

export interface ProviderClientDeps {
  readonly provider: ProviderConfig;
  /** The public origin of the panel. */
  readonly panelUrl: () => string;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
}

export const CALLBACK_PATH = '/panel/v1/sign-in/provider/callback';

const TIMEOUT_SECONDS = 5;
const CLOCK_TOLERANCE_SECONDS = 60;
/** The provider's own description is asked for anew, so that a change of it is found without a restart. */
const DISCOVERED_MS = 3_600_000;
const LOGOUT_EVENT = 'http://schemas.openid.net/event/backchannel-logout';
/** Logout tokens that this replica remembers, by `jti`, so that none is used twice. */
const LOGOUTS_REMEMBERED_MAX = 10_000;
const LOGOUT_TOKEN_AGE_SECONDS = 300;

interface Discovered {
  readonly configuration: oidc.Configuration;
  readonly keys: ReturnType<typeof createRemoteJWKSet>;
  readonly at: number;
}

/** Creates the client; the provider is asked when somebody first signs in. */
export function createProviderClient(deps: ProviderClientDeps): ProviderClient {
  const { provider, panelUrl, clock } = deps;
  let known: Discovered | undefined;
  const logouts = new Set<string>();

  async function discovered(): Promise<Discovered> {
    if (known && clock.monotonic() - known.at < DISCOVERED_MS) return known;
    return await guarded('unavailable', async () => {
      const issuer = new URL(provider.issuer);
      const secret = { client_secret: provider.clientSecret, [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS };
      const configuration = await oidc.discovery(issuer, provider.clientId, secret, undefined, {
        timeout: TIMEOUT_SECONDS,
        ...(issuer.protocol === 'http:' && { execute: [oidc.allowInsecureRequests] }),
      });
      configuration.timeout = TIMEOUT_SECONDS;
      const keysAt = new URL(configuration.serverMetadata().jwks_uri ?? '');
      const keys = createRemoteJWKSet(keysAt, { timeoutDuration: TIMEOUT_SECONDS * 1000 });
      known = { configuration, keys, at: clock.monotonic() };
      return known;
    });
  }

  return {
    async begin() {
      const { configuration } = await discovered();
      const verifier = oidc.randomPKCECodeVerifier();
      const flow = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier };
      const url = oidc.buildAuthorizationUrl(configuration, {
        redirect_uri: panelUrl() + CALLBACK_PATH,
        scope: provider.scopes,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: flow.state,
        nonce: flow.nonce,
        // Without it many providers give no refresh token.
        ...(provider.scopes.split(' ').includes('offline_access') && { prompt: 'consent' }),
      });
      return { url: url.href, flow };
    },
    async end(query, { state, nonce, verifier }) {
      const { configuration } = await discovered();
      const url = new URL(panelUrl() + CALLBACK_PATH);
      url.search = query.toString();
      return await guarded('refused', async () => {
        const tokens = await oidc.authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        return answerOf(tokens.claims() ?? {}, tokens.refresh_token);
      });
    },
    async renew(refreshToken, subject) {
      const { configuration } = await discovered();
      return await guarded('refused', async () => {
        const tokens = await oidc.refreshTokenGrant(configuration, refreshToken.reveal());
        // An answer to a refresh need not have an ID token (OpenID Connect Core 1.0, 12.2).
        const claims = tokens.claims() ?? (await oidc.fetchUserInfo(configuration, tokens.access_token, subject));
        return answerOf({ iss: provider.issuer, ...claims }, tokens.refresh_token ?? refreshToken.reveal());
      });
    },
    async endSessionUrl() {
      const { configuration } = await discovered();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return oidc.buildEndSessionUrl(configuration, { post_logout_redirect_uri: `${panelUrl()}/sign-in` }).href;
    },
    async readLogoutToken(token) {
      const { keys, configuration } = await discovered();
      return await guarded('refused', async () => {
        const { issuer } = configuration.serverMetadata();
        const { payload } = await jwtVerify(token, keys, {
          issuer,
          audience: provider.clientId,
          clockTolerance: CLOCK_TOLERANCE_SECONDS,
          maxTokenAge: LOGOUT_TOKEN_AGE_SECONDS,
          currentDate: new Date(clock.now()),
          requiredClaims: ['iat', 'jti', 'events'],
        });
        return loggedOut(payload, logouts);
      });
    },
  };
}

function answerOf(claims: Readonly<Record<string, unknown>>, refreshToken: string | undefined): ProviderAnswer {
  const { iss, sub, sid } = claims;
  if (typeof iss !== 'string' || typeof sub !== 'string') throw new Error('The ID token names nobody.');
  return {
    issuer: iss,
    subject: sub,
    sid: typeof sid === 'string' ? sid : undefined,
    claims,
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
  };
}

/** @throws Error for a token that is none of a logout, or was used before */
function loggedOut(payload: JWTPayload, used: Set<string>): LoggedOut {
  const { iss = '', sub, jti = '', events, nonce, sid } = payload;
  const isEvent = typeof events === 'object' && events !== null && LOGOUT_EVENT in events;
  if (!isEvent || nonce !== undefined || (sub === undefined && typeof sid !== 'string')) {
    throw new Error('This is no logout token.');
  }
  if (used.has(jti)) throw new Error('The logout token was used before.');
  used.add(jti);
  const [oldest] = used;
  if (used.size > LOGOUTS_REMEMBERED_MAX && oldest !== undefined) used.delete(oldest);
  return { issuer: iss, subject: sub, sid: typeof sid === 'string' ? sid : undefined };
}

/** @param otherwise what a fault is that is not known to be one of the network */
async function guarded<T>(otherwise: ProviderFault['reason'], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderFault) throw error;
    throw new ProviderFault(isOutage(error) ? 'unavailable' : otherwise, error);
  }
}

/** No answer, or one of a server in trouble. */
function isOutage(error: unknown): boolean {
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (cause.name === 'TimeoutError' || cause.name === 'AbortError' || codeIn(cause) === 'ERR_JWKS_TIMEOUT')
      return true;
    if (cause instanceof TypeError && cause.message === 'fetch failed') return true;
    const status = 'status' in cause ? Number(cause.status) : 0;
    if (status >= 500) return true;
    if (cause.cause instanceof Response) return cause.cause.status >= 500;
  }
  return false;
}

const codeIn = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

function codeOf(error: unknown): string {
  const code = codeIn(error);
  return code === undefined ? '' : ` (${code})`;
}
