import type { Store } from '../../store/port.ts';
import { creationStep, existing, type Account, type AccountsDeps, type NewAccount } from '../accounts/accounts.ts';
import { relyingOn, type Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Origin } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import { accountTransition } from '../status-history/status-change.ts';

/** The custom resource that an account follows. */
export type Owner = NonNullable<AccountRecord['managedBy']>;

/**
 * The operations on accounts for custom resources, beside `Accounts`. Each is one commit with the binding of
 * the resource; each throws StaleRead where the precondition does not hold, StoreUnavailable, and Busy.
 */
export interface BoundAccounts {
  /**
   * Creates an account that follows a custom resource.
   * @param accountId generated before, and in the binding
   */
  create(origin: Origin, accountId: string, account: BoundAccount, precondition: Precondition): Promise<Account>;
  /**
   * Lets an account follow a resource from now on.
   * @throws Refusal `not_found` where the account does not exist, or is not adoptable by this resource
   */
  adopt(origin: Origin, accountId: string, owner: Owner, precondition: Precondition): Promise<void>;
  /**
   * Ends the relation to a resource that is deleted. The account stays; it is disabled where `disable` is set and it
   * follows this resource. An account that follows another resource keeps doing so.
   * @throws Refusal `not_found`
   */
  release(origin: Origin, accountId: string, owner: Owner, disable: boolean, precondition: Precondition): Promise<void>;
}

/** An account that is yet to be created for the custom resource `managedBy`. */
export interface BoundAccount extends NewAccount {
  readonly managedBy: Owner;
}

export interface BoundAccountsDeps extends Omit<AccountsDeps, 'operatorCreates'> {
  readonly store: Store;
}

/** Creates the operations on accounts for custom resources; see `BoundAccounts`. */
export function createBoundAccounts(deps: BoundAccountsDeps): BoundAccounts {
  return {
    create: (origin, accountId, account, precondition) =>
      mutate<Account>(deps, origin, async (reader) => {
        await precondition.recheck();
        return relyingOn(precondition, await creationStep(deps, reader, accountId, account, origin.at));
      }),
    adopt: (origin, accountId, owner, precondition) => adopt(deps, origin, accountId, owner, precondition),
    release: (origin, accountId, owner, disable, precondition) =>
      release(deps, origin, accountId, { owner, disable }, precondition),
  };
}

async function adopt(
  deps: BoundAccountsDeps,
  origin: Origin,
  accountId: string,
  owner: Owner,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const { record, revision } = await existing(reader, accountId);
    if (record.adoptableBy !== `${owner.namespace}/${owner.name}`) throw new Refusal('not_found');
    const { adoptableBy: _once, ...rest } = record;
    return relyingOn<void>(precondition, {
      accountId,
      action: 'account.adopted',
      detail: { by: `${owner.namespace}/${owner.name}` },
      expect: [{ key: KEYS.account(accountId), revision }],
      write: [put(KEYS.account(accountId), { ...rest, managedBy: owner })],
      result: undefined,
    });
  });
}

async function release(
  deps: BoundAccountsDeps,
  origin: Origin,
  accountId: string,
  { owner, disable }: { owner: Owner; disable: boolean },
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const own = account.record.managedBy?.uid === owner.uid;
    const disables = own && disable && !account.record.disabled;
    const changes = disables ? await accountTransition(deps, reader, account, true, origin.at) : undefined;
    const { managedBy, ...rest } = account.record;
    const record = {
      ...rest,
      disabled: rest.disabled || changes !== undefined,
      ...(!own && managedBy && { managedBy }),
    };
    return relyingOn<void>(precondition, {
      accountId,
      action: 'account.released',
      detail: { disabled: record.disabled },
      withdraws: disables,
      ...(changes && { countsAt: changes.at }),
      expect: [{ key: KEYS.account(accountId), revision: account.revision }, ...(changes?.expect ?? [])],
      write: [put(KEYS.account(accountId), record), ...(changes?.write ?? [])],
      result: undefined,
    });
  });
}
