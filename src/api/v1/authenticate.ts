import type { IncomingMessage } from 'node:http';
import { andThen, type MaybePromise } from '../../concurrency/maybe-promise.ts';
import type { ApiKeyRecord } from '../../domain/records/account-records.ts';
import { isExpiredSecret, matchedSecret } from '../../domain/key-validity/key-expiry.ts';
import type { AttemptReason } from '../../domain/access-audit/failed-attempts.ts';
import type { Fleet } from '../../domain/fleet/fleet.ts';
import type { AccountReader, FleetReader } from '../../domain/fleet/reader.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Clock } from '../../time/clock.ts';
import { bearerOf } from '../http/request-headers.ts';
import { NotAuthenticated } from '../http/errors.ts';

/** The caller of a request of `/v1`, and the reader that found it. */
export interface Authenticated {
  readonly account: AccountReader;
  readonly keyId: string;
  readonly key: ApiKeyRecord;
  /** The hash of the key's secret that the request had. */
  readonly secret: string;
  readonly reader: FleetReader;
}

/**
 * Section 5: finds the account of the request's API key, as of now or later: no key that was revoked before passes
 * (A12). A key of a wrong shape or checksum costs no read.
 * @throws Refusal `invalid_key` or `account_disabled`; StoreUnavailable, since authentication fails closed (H15)
 */
export function authenticate(
  request: IncomingMessage,
  { fleet, clock }: { readonly fleet: Fleet; readonly clock: Pick<Clock, 'now'> },
): MaybePromise<Authenticated> {
  const bearer = bearerOf(request);
  const { keyId } = bearer;
  if (keyId === undefined) throw refused('malformed');
  return andThen(fleet.current(), (reader) =>
    andThen(reader.accountOfKey(keyId), (found) => {
      if (!found) throw refused('unknown');
      const { record } = found.key;
      const secret = matchedSecret(record, (hash) => bearer.matches(hash));
      if (secret === undefined) throw refused('wrong_secret', found.account.id, keyId);
      if (isExpiredSecret(record, secret, clock.now())) throw refused('expired', found.account.id, keyId);
      if (found.account.record.disabled) throw new Refusal('account_disabled');
      return { account: found.account, keyId, key: record, secret, reader };
    }),
  );
}

/** To the client all of them are alike. */
const refused = (reason: AttemptReason, accountId?: string, keyId?: string): NotAuthenticated =>
  new NotAuthenticated('invalid_key', {
    credential: 'api_key',
    reason,
    ...(accountId !== undefined && { accountId }),
    ...(keyId !== undefined && { keyId }),
  });
