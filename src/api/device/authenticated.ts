import { authenticateDevice } from '../../domain/device-plane.ts';
import type { FoundApp } from '../../domain/fleet-reader.ts';
import { andThen, type MaybePromise } from '../../maybe-promise.ts';
import { tokenOf } from '../authenticate.ts';
import { HttpRefusal, type Exchange } from '../exchange.ts';
import type { DeviceDeps } from './server.ts';

/**
 * The app whose credential the request bears, as of now or later, within its rate.
 * @throws Refusal `invalid_credential` or `account_disabled`; HttpRefusal `rate_limited`; StoreUnavailable
 */
export function authenticated(exchange: Exchange, deps: DeviceDeps): MaybePromise<FoundApp> {
  const token = tokenOf(exchange.request);
  const asked = andThen(deps.fleet.current(), (reader) => authenticateDevice(reader, token));
  return andThen(exchange.inTimeIfLate(asked), (found) => {
    exchange.authenticated();
    const waitSeconds = deps.rate.refuse(found.app.id);
    if (waitSeconds !== undefined) throw tooOften(waitSeconds, deps.random());
    return found;
  });
}

/** Spread over a quarter more, so that daemons that were refused together do not return together. */
function tooOften(waitSeconds: number, chance: number): HttpRefusal {
  return new HttpRefusal('rate_limited', [
    'Retry-After',
    String(waitSeconds + Math.floor(chance * (waitSeconds / 4 + 1))),
  ]);
}
