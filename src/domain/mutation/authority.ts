import { expectUnchanged, type ChangeParts } from '../../store/port.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import type { AppRecord } from '../records/app-records.ts';
import { matchedSecret } from '../key-validity/key-expiry.ts';
import { refuseBeyond, scopeOf, type KeyAsked } from '../key-validity/key-restriction.ts';
import { Refusal } from '../refusal.ts';

/**
 * The authority for a change of an account's records: an API key, the leader's precondition for a custom resource, or
 * the guard of the origin, which has judged a user of the panel.
 */
export type Authority = KeyAuthority | ResourceAuthority | { readonly guarded: true };
interface KeyAuthority extends KeyAsked {
  readonly keyId: string;
  /** The hash of the secret that the request had. */
  readonly secret: string;
}
interface ResourceAuthority {
  readonly precondition: Precondition;
  readonly mayChange?: MayChange;
}
/**
 * Called with the app that is changed, as each plan reads it.
 * @throws StaleRead where the resource may not change it any more; Refusal `not_found` where the key may not
 */
type MayChange = (app: AppRecord) => void;

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
  readonly mayChange?: MayChange | undefined;
  /** H23: the key of access `enroll`, or the first one that it follows: an app that it creates notes it. */
  readonly createdByKey?: string | undefined;
  /** H23: the key of less access or of some addresses, or the first one that it follows: it has answers of its own. */
  readonly restrictedKeyId?: string | undefined;
}

/**
 * Checks the authority and the account as the reader has them.
 * @throws Refusal `invalid_key`, `account_disabled`, `forbidden` for an API key, `not_found` for a precondition,
 * `not_found` or `account_disabled` for a guard; StaleRead; StoreUnavailable
 */
export async function authorisedBy(reader: FleetReader, accountId: string, authority: Authority): Promise<Authorised> {
  if ('keyId' in authority) return await authorisedByKey(reader, accountId, authority);
  if ('guarded' in authority) return await authorisedByGuard(reader, accountId);
  return await authorisedByPrecondition(reader, accountId, authority);
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
  { precondition, mayChange }: ResourceAuthority,
): Promise<Authorised> {
  await precondition.recheck();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  const expectAccount = expectUnchanged(account);
  return { account, expect: [expectAccount, ...precondition.expect], write: precondition.write, mayChange };
}

async function authorisedByKey(
  reader: FleetReader,
  accountId: string,
  { keyId, secret, ...asked }: KeyAuthority,
): Promise<Authorised> {
  const found = await reader.accountOfKey(keyId);
  if (!found || found.account.id !== accountId) throw new Refusal('invalid_key');
  const { account, key } = found;
  // A rotation may have ended this secret since.
  if (matchedSecret(key.record, (hash) => hash === secret) === undefined) throw new Refusal('invalid_key');
  if (account.record.disabled) throw new Refusal('account_disabled');
  // So may a change have narrowed the key.
  refuseBeyond(key.record, asked);
  const expect = [expectUnchanged(key), expectUnchanged(account)];
  const restrictedKeyId = key.record.restriction && keyId;
  const authorised = { account, expect, write: [], restrictedKeyId };
  if (scopeOf(key.record).access !== 'enroll') return authorised;
  return { ...authorised, mayChange: (app) => refuseOthersOf(keyId, app), createdByKey: keyId };
}

/** H23: with a code for another app, or for one that a daemon has, the key would reach a daemon that runs. */
function refuseOthersOf(keyId: string, { createdByKey, status }: AppRecord): void {
  if (createdByKey !== keyId || status !== 'pending') throw new Refusal('not_found');
}
