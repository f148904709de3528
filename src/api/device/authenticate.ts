import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { authenticateDevice } from '../../domain/devices/authenticate.ts';
import type { FleetReader, FoundApp } from '../../domain/fleet/reader.ts';
import { Refusal } from '../../domain/refusal.ts';
import { bearerOf } from '../http/bearer.ts';
import { HttpRefusal, type Exchange } from '../http/exchange.ts';
import type { DeviceDeps } from './deps.ts';

/**
 * The app whose credential the request bears, as of now or later, within its rate.
 * @throws Refusal `invalid_credential` or `account_disabled`; HttpRefusal `rate_limited` or `overloaded`; StoreUnavailable
 */
export function authenticated(exchange: Exchange, deps: DeviceDeps): MaybePromise<FoundApp> {
  const hash = credentialHashOf(exchange);
  const asked = andThen(readerFor(hash, deps), (reader) => foundAppOf(reader, hash, deps));
  return andThen(exchange.inTimeIfLate(asked), (found) => {
    exchange.authenticated();
    const waitSeconds = deps.rate.refuse(found.app.id);
    if (waitSeconds !== undefined) throw rateLimited(waitSeconds, deps.jitter());
    return found;
  });
}

function credentialHashOf({ request }: Exchange): string {
  const hash = bearerOf(request).credentialHash;
  if (hash === undefined) throw new Refusal('invalid_credential');
  return hash;
}

/**
 * A daemon that was refused before and has nothing in its favour knocks: it waits for a read that others ask for, and
 * costs none. Its refusal, like anybody's, is what the store said after it came.
 */
function readerFor(hash: string, deps: DeviceDeps): MaybePromise<FleetReader> {
  const knocks = deps.refusedLately.has(hash) && deps.fleet.memory.appOfCredential(hash)?.app.status !== 'active';
  const reader = knocks ? deps.fleet.currentDeferred() : deps.fleet.current();
  return reader instanceof Promise ? inPieces(reader, deps) : reader;
}

/** One answer of the store lets all go on who waited for it: they do so in pieces. */
async function inPieces(asked: Promise<FleetReader>, { turns }: DeviceDeps): Promise<FleetReader> {
  const reader = await asked;
  await turns.turn();
  return reader;
}

/**
 * As `authenticated`, for a request that was authenticated before and has waited since: thousands may have.
 * @throws HttpRefusal `overloaded` beside the others
 */
export async function authenticatedAgain(exchange: Exchange, deps: DeviceDeps): Promise<FoundApp> {
  const reader = await inPieces(Promise.resolve(deps.fleet.current()), deps);
  const hash = credentialHashOf(exchange);
  return reader.atOnce ? await authenticateDevice(reader, hash) : await fromStore(reader, hash, deps);
}

function foundAppOf(reader: FleetReader, hash: string, deps: DeviceDeps): MaybePromise<FoundApp> {
  const rememberRefusal = (error: unknown): never => {
    if (error instanceof Refusal && error.code === 'invalid_credential') deps.refusedLately.add(hash);
    throw error;
  };
  if (!reader.atOnce) return fromStore(reader, hash, deps).catch(rememberRefusal);
  try {
    return authenticateDevice(reader, hash);
  } catch (error) {
    return rememberRefusal(error);
  }
}

/** While memory is behind, each of a herd would read the store: only so many may at once, and the others come again. */
async function fromStore(reader: FleetReader, hash: string, { storeReads }: DeviceDeps): Promise<FoundApp> {
  const found = storeReads.tryRun(async () => authenticateDevice(reader, hash));
  if (!found) throw new HttpRefusal('overloaded');
  return await found;
}

/** Spread over a quarter more, so that daemons that were refused together do not return together. */
function rateLimited(waitSeconds: number, chance: number): HttpRefusal {
  return new HttpRefusal('rate_limited', [
    'Retry-After',
    String(waitSeconds + Math.floor(chance * (waitSeconds / 4 + 1))),
  ]);
}
