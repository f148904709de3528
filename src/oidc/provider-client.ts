import { compactVerify } from 'jose';
import * as oidc from 'openid-client';
import type { WatchedProvider } from '../config/panel.ts';
import { Secret } from '../domain/credentials/secret.ts';
import { LIMITS } from '../domain/limits.ts';
import type { Identity } from '../domain/records/user-records.ts';
import type { Egress } from '../outgoing/egress.ts';
import type { Clock } from '../time/clock.ts';
import { sessionIdOf, subjectOf } from './bounded-claims.ts';
import { CLOCK_TOLERANCE_SECONDS, createDiscovery, type Discovered } from './discovery.ts';
import { LogoutTokens, type LoggedOut } from './logout-tokens.ts';
import { guarded } from './provider-fault.ts';

/*
 * The OpenID Connect provider, by openid-client: authorization code with PKCE, nonce and state (OpenID Connect Core
 * 1.0, RFC 7636). Every call is bounded in time and in bytes.
 */

/** A sign-in remembers these while the browser is at the provider. */
interface ProviderFlow {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The user who signed in, as the provider says. */
export interface ProviderAnswer {
  readonly issuer: string;
  readonly subject: string;
  /** The provider's own session, where it tells one. */
  readonly sid: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** When the user last proved who they are there, in milliseconds since 1970; undefined where it does not say. */
  readonly authenticatedAt: number | undefined;
  /** How (RFC 8176). */
  readonly methods: readonly string[];
  readonly refreshToken: Secret | undefined;
}

/** The provider as the panel uses it. All throw ProviderFault. */
export interface ProviderClient {
  /** The address at the provider, and what to remember. @param proof asks for a new sign-in there, and when it was */
  begin(proof?: 'proof'): Promise<{ readonly url: string; readonly flow: ProviderFlow }>;
  /** Exchanges the answer that came back with the browser. @param query of the callback */
  end(query: URLSearchParams, flow: ProviderFlow): Promise<ProviderAnswer>;
  /**
   * Asks anew with a refresh token; the answer may have another one.
   * @param identity who it must be; a token that another provider gave is not sent
   */
  renew(refreshToken: Secret, identity: Identity): Promise<ProviderAnswer>;
  /** The address to sign out at the provider; undefined where it has none. */
  endSessionUrl(): Promise<string | undefined>;
  /** Judges a logout token (OpenID Connect Back-Channel Logout 1.0, 2.6). */
  readLogoutToken(token: string): Promise<LoggedOut>;
}

interface ProviderClientDeps {
  readonly provider: WatchedProvider;
  /** The public origin of the panel. */
  readonly panelUrl: () => string;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly egress: Egress;
}

const CALLBACK_PATH = '/panel/v1/sign-in/provider/callback';

/** Creates the client; the provider is asked when somebody first signs in. */
export function createProviderClient({ provider, panelUrl, clock, egress }: ProviderClientDeps): ProviderClient {
  const discovered = createDiscovery(provider, { clock, egress });
  const logoutTokens = new LogoutTokens();

  return {
    async begin(proof) {
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
        ...(proof
          ? { prompt: 'login', max_age: String(LIMITS.freshProofMs / 1000) }
          : // Without it many providers give no refresh token.
            provider.scopes.split(' ').includes('offline_access') && { prompt: 'consent' }),
      });
      return { url: url.href, flow };
    },
    async end(query, { state, nonce, verifier }) {
      const found = await discovered();
      const url = new URL(panelUrl() + CALLBACK_PATH);
      url.search = query.toString();
      return await guarded('refused', async () => {
        const tokens = await oidc.authorizationCodeGrant(found.configuration, url, {
          pkceCodeVerifier: verifier,
          expectedState: state,
          expectedNonce: nonce,
          idTokenExpected: true,
        });
        return answerOf(await signedClaims(tokens, found, clock.now()), tokens.refresh_token);
      });
    },
    async renew(refreshToken, { issuer: given, subject }) {
      const found = await discovered();
      return await guarded('refused', async () => {
        const { issuer } = found.configuration.serverMetadata();
        if (given !== issuer) throw new Error('The refresh token is of another provider.');
        const tokens = await oidc.refreshTokenGrant(found.configuration, refreshToken.reveal());
        // An answer to a refresh need not have an ID token (OpenID Connect Core 1.0, 12.2).
        const claims =
          (await signedClaims(tokens, found, clock.now())) ??
          (await oidc.fetchUserInfo(found.configuration, tokens.access_token, subject));
        const answer = answerOf({ iss: issuer, ...claims }, tokens.refresh_token ?? refreshToken.reveal());
        if (answer.subject !== subject) throw new Error('The refresh token is of somebody else.');
        return answer;
      });
    },
    async endSessionUrl() {
      const { configuration } = await discovered();
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return await guarded('unavailable', async () => {
        const back = { post_logout_redirect_uri: `${panelUrl()}/sign-in` };
        return oidc.buildEndSessionUrl(configuration, back).href;
      });
    },
    async readLogoutToken(token) {
      const { strangersKeys, configuration } = await discovered();
      const terms = {
        keys: strangersKeys,
        issuer: configuration.serverMetadata().issuer,
        audience: provider.clientId,
        now: clock.now(),
        toleranceSeconds: CLOCK_TOLERANCE_SECONDS,
      };
      return await guarded('refused', () => logoutTokens.read(token, terms));
    },
  };
}

type Tokens = Pick<Awaited<ReturnType<typeof oidc.refreshTokenGrant>>, 'claims' | 'id_token'>;

/**
 * The claims of an ID token. The library has judged them, but for its signature, which it leaves to TLS, and for a
 * clock that is ahead.
 * @param now milliseconds since 1970
 */
async function signedClaims({ id_token: token, claims: claimsOf }: Tokens, { keys }: Discovered, now: number) {
  if (token === undefined) return undefined;
  await compactVerify(token, keys);
  const claims = claimsOf();
  if (claims && claims.iat > now / 1000 + CLOCK_TOLERANCE_SECONDS) throw new Error('The ID token is of the future.');
  return claims;
}

function answerOf(
  claims: Readonly<Record<string, unknown>> | undefined,
  refreshToken: string | undefined,
): ProviderAnswer {
  const { iss, sub, sid, auth_time: seconds, amr } = claims ?? {};
  if (typeof iss !== 'string') throw new Error('The ID token names no provider.');
  return {
    issuer: iss,
    subject: subjectOf(sub),
    sid: sessionIdOf(sid),
    claims: claims ?? {},
    authenticatedAt: typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined,
    methods: Array.isArray(amr) ? amr.filter((method) => typeof method === 'string') : [],
    refreshToken: refreshToken === undefined ? undefined : new Secret(refreshToken),
  };
}
