import { expectUnchanged, type ChangeParts } from '../../store/port.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import type { AppRecord } from '../records/app-records.ts';
import { matchedSecret } from '../records/key-expiry.ts';
import { Refusal } from '../refusal.ts';

/**
 * The authority for a change of an account's records: an API key, the leader's precondition for a custom resource, or
 * the guard of the origin, which has judged a user of the panel.
 */
export type Authority = KeyAuthority | ResourceAuthority | { readonly guarded: true };
interface KeyAuthority {
  readonly keyId: string;
  /** The hash of the secret that the request had. */
  readonly secret: string;
}
interface ResourceAuthority {
  readonly precondition: Precondition;
  /**
   * Called with the app that is changed, as each plan reads it.
   * @throws StaleRead where the resource may not change it any more
   */
  readonly mayChange?: (app: AppRecord) => void;
}

/**
 * The expectations that a commit for a custom resource adds (the leader's fence, the binding as it was read) and the
 * writes (the binding as it then is), so that a change and the binding that records it are one commit.
 */
export interface Precondition extends ChangeParts {
  /**
   * A plan calls this first. A commit that conflicts is planned again; where the precondition itself does not hold, it
   * never will, and the attempts end here. The first call reads nothing.
   * @throws StaleRead where an expectation does not hold; StoreUnavailable
   */
  recheck(): Promise<void>;
}
/** The precondition of a change that is not made for a custom resource. */
export const NO_PRECONDITION: Precondition = { expect: [], write: [], recheck: async () => undefined };

/** An account that a change is allowed on, with the expectations and writes that the authority adds to the commit. */
export interface Authorised extends ChangeParts {
  readonly account: AccountReader;
}

/**
 * Checks the authority and the account as the reader has them.
 * @throws Refusal `invalid_key`, `account_disabled` for an API key, `not_found` for a precondition, `not_found` or
 * `account_disabled` for a guard; StaleRead; StoreUnavailable
 */
export async function authorisedBy(reader: FleetReader, accountId: string, authority: Authority): Promise<Authorised> {
  if ('keyId' in authority) return await authorisedByKey(reader, accountId, authority);
  if ('guarded' in authority) return await authorisedByGuard(reader, accountId);
  return await authorisedByPrecondition(reader, accountId, authority.precondition);
}

/** The guard adds its expectations itself (`Origin`). */
async function authorisedByGuard(reader: FleetReader, accountId: string): Promise<Authorised> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  if (account.record.disabled) throw new Refusal('account_disabled');
  return { account, expect: [expectUnchanged(account)], write: [] };
}

/** A disabled account may be changed for its custom resources: they may take access away, too. */
async function authorisedByPrecondition(
  reader: FleetReader,
  accountId: string,
  precondition: Precondition,
): Promise<Authorised> {
  await precondition.recheck();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  const expectAccount = expectUnchanged(account);
  return { account, expect: [expectAccount, ...precondition.expect], write: precondition.write };
}

async function authorisedByKey(
  reader: FleetReader,
  accountId: string,
  { keyId, secret }: KeyAuthority,
): Promise<Authorised> {
  const found = await reader.accountOfKey(keyId);
  if (!found || found.account.id !== accountId) throw new Refusal('invalid_key');
  // A rotation may have ended this secret since.
  if (matchedSecret(found.key.record, (hash) => hash === secret) === undefined) throw new Refusal('invalid_key');
  if (found.account.record.disabled) throw new Refusal('account_disabled');
  return {
    account: found.account,
    expect: [expectUnchanged(found.key), expectUnchanged(found.account)],
    write: [],
  };
}
