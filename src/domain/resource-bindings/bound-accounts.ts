import { expectUnchanged, type Store } from '../../store/port.ts';
import { creationStep, existing, type Account, type AccountsDeps, type NewAccount } from '../accounts/accounts.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import { withParts, type Origin, type Step } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountRecord } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { accountTransition } from '../status-history/status-change.ts';
import { adoptedBy, isOfferedTo, resourceNameOf, wasAccountOf, type Owner } from './adoption.ts';

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
   * @throws Refusal `not_found` where the account does not exist, or is neither offered to this resource nor was that
   * of the resource that it replaces
   */
  adopt(origin: Origin, accountId: string, owner: Owner, precondition: Precondition): Promise<void>;
  /**
   * Finds the account of the resource that this one replaces; undefined where there is none. Of several it is the one
   * that was followed last.
   * @throws StoreUnavailable also while memory is behind the store
   */
  formerOf(owner: Owner): Promise<string | undefined>;
  /**
   * Ends the relation to a resource that is deleted. The account stays, and remembers the resource where the UID of its
   * namespace is known; it is disabled where `disable` is set and it follows this resource. An account that follows
   * another resource keeps doing so.
   * @throws Refusal `not_found`
   */
  release(origin: Origin, accountId: string, owner: Owner, disable: boolean, precondition: Precondition): Promise<void>;
}

/** An account that is yet to be created for the custom resource `managedBy`. */
interface BoundAccount extends NewAccount {
  readonly managedBy: Owner;
}

interface BoundAccountsDeps extends Omit<AccountsDeps, 'operatorCreates'> {
  readonly store: Store;
}

/** Creates the operations on accounts for custom resources; see `BoundAccounts`. */
export function createBoundAccounts(deps: BoundAccountsDeps): BoundAccounts {
  return {
    create: (origin, accountId, account, precondition) =>
      mutate<Account>(deps, origin, async (reader) => {
        await precondition.recheck();
        return withParts(await creationStep(deps, reader, accountId, account, origin.at), precondition);
      }),
    adopt: (origin, accountId, owner, precondition) => adopt(deps, origin, accountId, owner, precondition),
    formerOf: (owner) => formerOf(deps, owner),
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
    const account = await existing(reader, accountId);
    const { record } = account;
    const again = wasAccountOf(record, owner);
    if (!again && !isOfferedTo(record, owner, deps.clock.now())) throw new Refusal('not_found');
    const step: Step<void> = {
      accountId,
      action: 'account.adopted',
      detail: { by: resourceNameOf(owner), ...(again && { again }) },
      expect: [expectUnchanged(account)],
      write: [put(KEYS.account(accountId), adoptedBy(record, owner))],
      result: undefined,
    };
    return withParts(step, precondition);
  });
}

async function formerOf({ fleet }: BoundAccountsDeps, owner: Owner): Promise<string | undefined> {
  if (owner.namespaceUid === undefined) return undefined;
  // An account that is not found here gets a new one beside it: only memory that is whole may say so.
  const memory = await fleet.whole();
  const former = [...memory.accounts()].filter(({ record }) => wasAccountOf(record, owner));
  const since = ({ record }: { record: AccountRecord }): number =>
    record.managedBy ? Infinity : (record.releasedBy?.at ?? 0);
  return former.toSorted((a, b) => since(b) - since(a) || (a.id < b.id ? -1 : 1))[0]?.id;
}

async function release(
  deps: BoundAccountsDeps,
  origin: Origin,
  accountId: string,
  { owner, disable }: { owner: Owner; disable: boolean },
  precondition: Precondition,
): Promise<void> {
  const { uid, namespace, name, namespaceUid } = owner;
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const own = account.record.managedBy?.uid === uid;
    const disables = own && disable && !account.record.disabled;
    const changes = disables ? await accountTransition(deps, reader, account, true, origin.at) : undefined;
    const { managedBy, releasedBy, ...rest } = account.record;
    const record: AccountRecord = {
      ...rest,
      disabled: rest.disabled || changes !== undefined,
      ...(!own && managedBy && { managedBy }),
      ...(!own && releasedBy && { releasedBy }),
      ...(own && namespaceUid !== undefined && { releasedBy: { uid, namespace, name, namespaceUid, at: origin.at } }),
    };
    const step: Step<void> = {
      accountId,
      action: 'account.released',
      detail: { disabled: record.disabled },
      ...(changes && { countsAt: changes.at }),
      expect: [expectUnchanged(account)],
      write: [put(KEYS.account(accountId), record)],
      result: undefined,
    };
    return withParts(step, changes, precondition);
  });
}
