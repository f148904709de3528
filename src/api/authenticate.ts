import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Fleet } from '../domain/fleet.ts';
import type { AccountReader, FleetReader } from '../domain/fleet-reader.ts';
import { Refusal } from '../domain/refusal.ts';
import { andThen, type MaybePromise } from '../maybe-promise.ts';
import { apiKeyId, bearerToken, tokenHash } from '../domain/tokens.ts';
import { fieldsOf } from './exchange.ts';

export interface Authenticated {
  readonly account: AccountReader;
  readonly keyId: string;
  readonly reader: FleetReader;
}

/** The token of the request's one Authorization field, if that is what it has (H16). */
export const tokenOf = (request: IncomingMessage): string | undefined =>
  bearerToken(fieldsOf(request, 'authorization'));

/**
 * Section 5: whose key this is, as of now or later: no key that was revoked before passes (A12). A key of a wrong shape
 * or checksum costs no read.
 * @throws Refusal `invalid_key` or `account_disabled`; StoreUnavailable: authentication fails closed (H15)
 */
export function authenticate(request: IncomingMessage, fleet: Fleet): MaybePromise<Authenticated> {
  const token = tokenOf(request);
  const keyId = token === undefined ? undefined : apiKeyId(token);
  if (token === undefined || keyId === undefined) throw new Refusal('invalid_key');
  return andThen(fleet.current(), (reader) =>
    andThen(reader.accountOfKey(keyId), (found) => {
      if (!found || !isSame(found.key.record.hash, tokenHash(token))) throw new Refusal('invalid_key');
      if (found.account.record.disabled) throw new Refusal('account_disabled');
      return { account: found.account, keyId, reader };
    }),
  );
}

/** In constant time; both are hashes of one length. */
function isSame(stored: string, given: string): boolean {
  const [a, b] = [Buffer.from(stored), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
