import type { Expectation, Write } from '../../store/port.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import type { Step } from './step.ts';

/** On whose word an account's own things are changed: an API key's, or that of the leader for a custom resource. */
export type Authority = { readonly keyId: string } | { readonly precondition: Precondition };

/**
 * What else a commit for a custom resource relies on (the leader's fence, the resource's binding as it was read) and
 * leaves (the binding as it then is), so that what was done and the memory of it cannot part.
 */
export interface Precondition {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
  /**
   * For the plan to call first: a commit that conflicts is planned again, and where it was the precondition that did not hold, it
   * never will. It looks from the second attempt on.
   * @throws StaleRead, StoreUnavailable
   */
  recheck(): Promise<void>;
}
export const NO_PRECONDITION: Precondition = { expect: [], write: [], recheck: async () => undefined };

/** The step with what the precondition adds to its commit. */
export const relyingOn = <T>(precondition: Precondition, step: Step<T>): Step<T> => ({
  ...step,
  expect: [...step.expect, ...precondition.expect],
  write: [...step.write, ...precondition.write],
});

export interface Authorised {
  readonly account: AccountReader;
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

/** What a mutation relies on: who asks, and the account, as they are now. Throws a Refusal otherwise. */
export async function authorisedBy(reader: FleetReader, accountId: string, authority: Authority): Promise<Authorised> {
  return 'keyId' in authority
    ? await authorisedByKey(reader, accountId, authority.keyId)
    : await authorisedByPrecondition(reader, accountId, authority.precondition);
}

/** A disabled account does not keep its custom resources from being carried out: they may take access away, too. */
async function authorisedByPrecondition(
  reader: FleetReader,
  accountId: string,
  precondition: Precondition,
): Promise<Authorised> {
  await precondition.recheck();
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  const expectAccount = { key: KEYS.account(accountId), revision: account.revision };
  return { account, expect: [expectAccount, ...precondition.expect], write: precondition.write };
}

async function authorisedByKey(reader: FleetReader, accountId: string, keyId: string): Promise<Authorised> {
  const found = await reader.accountOfKey(keyId);
  if (!found || found.account.id !== accountId) throw new Refusal('invalid_key');
  if (found.account.record.disabled) throw new Refusal('account_disabled');
  return {
    account: found.account,
    expect: [
      { key: KEYS.apiKey(accountId, keyId), revision: found.key.revision },
      { key: KEYS.account(accountId), revision: found.account.revision },
    ],
    write: [],
  };
}
