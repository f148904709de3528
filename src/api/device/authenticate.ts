import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import { authenticateDevice } from '../../domain/devices/authenticate.ts';
import { confirmed } from '../../domain/devices/credential-binding.ts';
import type { FleetReader, FoundApp } from '../../domain/fleet/reader.ts';
import { Refusal } from '../../domain/refusal.ts';
import { bearerOf } from '../http/request-headers.ts';
import { HttpRefusal, NotAuthenticated } from '../http/errors.ts';
import type { Exchange } from '../http/exchange.ts';
import type { DeviceDeps } from './deps.ts';

/**
 * Finds the app whose credential the request has, as of now or later, and checks its rate (A12). The first such request
 * of a credential that nobody has proved makes its binding final.
 * @throws Refusal `invalid_credential` or `account_disabled`; HttpRefusal `rate_limited` or `overloaded`;
 * StoreUnavailable; Busy where others changed the app under every attempt
 */
export function authenticated(exchange: Exchange, deps: DeviceDeps): MaybePromise<FoundApp> {
  const hash = credentialHashOf(exchange);
  const asked = andThen(readerFor(hash, deps), (reader) => foundAppOf(reader, hash, deps));
  return andThen(exchange.inTimeIfLate(asked), (found) => {
    exchange.authenticated(found.account.id);
    const waitSeconds = deps.rate.refuse(found.app.id);
    if (waitSeconds !== undefined) throw rateLimited(waitSeconds, deps.jitter());
    return found.app.isProvisional ? exchange.inTime(confirmed(deps, hash, found)) : found;
  });
}

function credentialHashOf({ request }: Exchange): string {
  const hash = bearerOf(request).credentialHash;
  if (hash === undefined) throw refused('malformed');
  return hash;
}

/**
 * A daemon that was refused before, and that memory does not know as active, retries with a rejected credential: it
 * waits for a read that others ask for, and costs none. Its refusal, like every other, rests on what the store said
 * after the request came.
 */
function readerFor(hash: string, deps: DeviceDeps): MaybePromise<FleetReader> {
  const isRetry = deps.recentlyRejected.has(hash) && deps.fleet.memory.appOfCredential(hash)?.app.status !== 'active';
  const reader = isRetry ? deps.fleet.currentDeferred() : deps.fleet.current();
  return reader instanceof Promise ? inPieces(reader, deps) : reader;
}

/** One answer of the store lets all requests go on that waited for it: they do so in pieces. */
async function inPieces(asked: Promise<FleetReader>, { turns }: DeviceDeps): Promise<FleetReader> {
  const reader = await asked;
  await turns.turn();
  return reader;
}

/**
 * As `authenticated`, without the rate, for a request that was authenticated before and has waited since: thousands may
 * have.
 * @throws Refusal `invalid_credential` or `account_disabled`; HttpRefusal `overloaded`; StoreUnavailable; Busy
 */
export async function authenticatedAgain(exchange: Exchange, deps: DeviceDeps): Promise<FoundApp> {
  const reader = await inPieces(Promise.resolve(deps.fleet.current()), deps);
  const hash = credentialHashOf(exchange);
  const found = reader.atOnce ? await authenticateDevice(reader, hash) : await fromStore(reader, hash, deps);
  // The app may be another one than before: it was deleted, and one that was enrolled since has the same credential.
  return found.app.isProvisional ? await confirmed(deps, hash, found) : found;
}

function foundAppOf(reader: FleetReader, hash: string, deps: DeviceDeps): MaybePromise<FoundApp> {
  const rememberRefusal = (error: unknown): never => {
    if (!(error instanceof Refusal) || error.code !== 'invalid_credential') throw error;
    deps.recentlyRejected.add(hash);
    throw refused('unknown');
  };
  if (!reader.atOnce) return fromStore(reader, hash, deps).catch(rememberRefusal);
  try {
    return authenticateDevice(reader, hash);
  } catch (error) {
    return rememberRefusal(error);
  }
}

const refused = (reason: 'malformed' | 'unknown'): NotAuthenticated =>
  new NotAuthenticated('invalid_credential', { credential: 'device_credential', reason });

/**
 * While memory is behind, every daemon of a herd would read the store: only a bounded number may do so at once, and the
 * others are told to retry.
 */
async function fromStore(reader: FleetReader, hash: string, { storeReads }: DeviceDeps): Promise<FoundApp> {
  const found = storeReads.tryRun(async () => authenticateDevice(reader, hash));
  if (!found) throw new HttpRefusal('overloaded');
  return await found;
}

/** The Retry-After is spread over a quarter more, so that daemons that were refused together do not return together. */
function rateLimited(waitSeconds: number, chance: number): HttpRefusal {
  return new HttpRefusal('rate_limited', [
    'Retry-After',
    String(waitSeconds + Math.floor(chance * (waitSeconds / 4 + 1))),
  ]);
}
