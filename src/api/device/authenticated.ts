import { authenticateDevice } from '../../domain/device-plane.ts';
import type { FoundApp } from '../../domain/fleet-reader.ts';
import { tokenOf } from '../authenticate.ts';
import { HttpRefusal, type Exchange } from '../exchange.ts';
import type { DeviceDeps } from './server.ts';

/**
 * The app whose credential the request bears, as of now or later, within its rate.
 * @throws Refusal `invalid_credential` or `account_disabled`; HttpRefusal `rate_limited`; StoreUnavailable
 */
export async function authenticated(exchange: Exchange, deps: DeviceDeps): Promise<FoundApp> {
  const found = await authenticateDevice(await deps.fleet.current(), tokenOf(exchange.request));
  exchange.authenticated();
  const waitSeconds = deps.rate.refuse(found.app.id);
  if (waitSeconds === undefined) return found;
  // Spread over a quarter more, so that daemons that were refused together do not return together.
  const spread = waitSeconds + Math.floor(deps.random() * (waitSeconds / 4 + 1));
  throw new HttpRefusal('rate_limited', ['Retry-After', String(spread)]);
}
