import { createRemoteJWKSet, customFetch as josesFetch, type JWTVerifyGetKey } from 'jose';
import * as oidc from 'openid-client';
import type { WatchedProvider } from '../config/panel.ts';
import type { Egress } from '../outgoing/egress.ts';
import type { Clock } from '../time/clock.ts';
import { boundedFetch, PROVIDER_CALL_MS } from './bounded-fetch.ts';
import { guarded, ProviderFault } from './provider-fault.ts';

/** The provider as it describes itself. */
export interface Discovered {
  readonly configuration: oidc.Configuration;
  /** For tokens that the provider itself has just given: a key that is not known yet is asked for at once. */
  readonly keys: JWTVerifyGetKey;
  /** For tokens that anybody may send: an unknown key is asked for every half minute at most. */
  readonly strangersKeys: JWTVerifyGetKey;
}

/** The clock and the connections of a discovery. */
interface DiscoveryDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly egress: Egress;
}

/** The skew of the provider's clock that is put up with. */
export const CLOCK_TOLERANCE_SECONDS = 60;
/** The description is asked for anew, so that a change of it is found without a restart. */
const DISCOVERED_MS = 3_600_000;
const RETRY_MS = 1000;
const RETRY_MS_MAX = 30_000;

type Described = Pick<WatchedProvider, 'issuer' | 'clientId' | 'clientSecret'>;

/**
 * Asks the provider to describe itself: when that is first needed, once for all who need it, and no more for a while
 * after a failure, which gets longer. Another secret of the client changes nothing about that.
 * @throws ProviderFault `unavailable`
 */
export function createDiscovery(provider: Described, { clock, egress }: DiscoveryDeps): () => Promise<Discovered> {
  let known: { readonly outcome: Promise<Discovered>; readonly until: number } | undefined;
  let failures = 0;
  return () => {
    if (known && clock.monotonic() < known.until) return known.outcome;
    const outcome = guarded('unavailable', () => discover(provider, egress));
    known = { outcome, until: clock.monotonic() + DISCOVERED_MS };
    outcome.then(
      () => {
        failures = 0;
      },
      () => {
        const pauseMs = Math.min(RETRY_MS * 2 ** Math.min(failures, 10), RETRY_MS_MAX);
        failures += 1;
        if (known?.outcome === outcome) known = { outcome, until: clock.monotonic() + pauseMs };
      },
    );
    return outcome;
  };
}

async function discover({ issuer: url, clientId, clientSecret }: Described, egress: Egress): Promise<Discovered> {
  const issuer = new URL(url);
  const ask = boundedFetch(issuer, egress);
  const configuration = await oidc.discovery(
    issuer,
    clientId,
    { [oidc.clockTolerance]: CLOCK_TOLERANCE_SECONDS },
    // The secret at the time of each call.
    (...call) => oidc.ClientSecretPost(clientSecret())(...call),
    {
      timeout: PROVIDER_CALL_MS / 1000,
      [oidc.customFetch]: (url, options) => ask(url, options),
      ...(issuer.protocol === 'http:' && { execute: [oidc.allowInsecureRequests] }),
    },
  );
  const { jwks_uri: keysAt } = configuration.serverMetadata();
  if (keysAt === undefined) throw new ProviderFault('unavailable', undefined);
  const keysOf = (more: { readonly cooldownDuration?: number }): JWTVerifyGetKey =>
    createRemoteJWKSet(new URL(keysAt), { timeoutDuration: PROVIDER_CALL_MS, [josesFetch]: ask, ...more });
  return { configuration, keys: keysOf({ cooldownDuration: 0 }), strangersKeys: keysOf({}) };
}
