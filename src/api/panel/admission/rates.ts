import type { DeviceRate } from '../../../domain/devices/device-rate-limit.ts';
import type { Method } from '../../contract/operation.ts';
import { HttpRefusal } from '../../http/errors.ts';
import type { RouteOptions } from '../../serve/route.ts';

/** P9: guards an account against a user of its own who asks without pause; each replica counts for itself. */
export interface PanelRates {
  /** The rate of a user's changes in an account. */
  readonly changes: DeviceRate;
  /** Batches of apps, of a user in an account. */
  readonly batches: DeviceRate;
  /**
   * Reads of a session or of an access token: the pages read again by themselves, and this must not keep their user
   * from a change.
   */
  readonly reads: DeviceRate;
}

/** Those who are charged with a request. */
interface Charged {
  /** The session or the access token. */
  readonly reader: string;
  readonly userId: string;
  /** `''` for a request on no account: a user has a rate in each account, and one in none. */
  readonly accountId: string;
}

/** @throws HttpRefusal `rate_limited` */
export function chargeFor(
  rates: PanelRates,
  { method, charged }: RouteOptions & { readonly method: Method },
  { reader, userId, accountId }: Charged,
): void {
  if (method === 'get' && charged === undefined) return charge(rates.reads, reader);
  charge(charged === 'batch' ? rates.batches : rates.changes, `${userId}/${accountId}`);
}

/** @throws HttpRefusal `rate_limited` */
export function charge(rate: DeviceRate, whose: string): void {
  const seconds = rate.refuse(whose);
  if (seconds !== undefined) throw new HttpRefusal('rate_limited', ['Retry-After', String(seconds)]);
}
