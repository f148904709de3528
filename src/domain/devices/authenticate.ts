import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { AppEntry, FleetReader, FoundApp } from '../fleet/reader.ts';
import { Refusal } from '../refusal.ts';

/**
 * Finds the app whose current credential this is.
 * @param hash of the credential (`tokenHash`)
 * @throws Refusal `invalid_credential` or `account_disabled`; StoreUnavailable
 */
export function authenticateDevice(reader: FleetReader, hash: string): MaybePromise<FoundApp> {
  return andThen(reader.appOfCredential(hash), (found) => {
    if (found?.app.status !== 'active') throw new Refusal('invalid_credential');
    if (found.account.record.disabled) throw new Refusal('account_disabled');
    return found;
  });
}

/**
 * Checks the credential of a request again after its body has arrived, which may take long: a write relies on the
 * credential that is current now (A12).
 * @throws Refusal `invalid_credential` or `account_disabled`; StoreUnavailable
 */
export async function stillBound(reader: FleetReader, app: AppEntry): Promise<FoundApp> {
  const now = await reader.appById(app.id);
  if (!now || now.app.status !== 'active' || now.app.record.credential !== app.record.credential) {
    throw new Refusal('invalid_credential');
  }
  if (now.account.record.disabled) throw new Refusal('account_disabled');
  return now;
}
