import { ABSENT, type Store } from '../../store/port.ts';
import { accountView, existing, type Account, type AccountsDeps, type Existing } from '../accounts/accounts.ts';
import type { Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Origin, Step, Unchanged } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { NO_COUNTERS, type AccountRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import { accountCreation, accountTransition } from '../status-history/status-change.ts';

/** The custom resource that an account follows. */
export type Owner = NonNullable<AccountRecord['managedBy']>;

/** What the operator of custom resources does with accounts, beside `Accounts`; each in one commit with its binding. */
export interface BoundAccounts {
  /** @param accountId drawn before, and in the binding */
  create(origin: Origin, accountId: string, wish: NewAccount, precondition: Precondition): Promise<Account>;
  /** Refuses with `not_found` where the account does not exist, or is not adoptable by this resource. */
  adopt(origin: Origin, accountId: string, owner: Owner, precondition: Precondition): Promise<void>;
  /** The resource goes; the account stays, disabled where that is wished. What another resource follows stays as it is. */
  release(origin: Origin, accountId: string, owner: Owner, disable: boolean, precondition: Precondition): Promise<void>;
}

export interface NewAccount extends Pick<AccountRecord, 'name' | 'entitlement'> {
  readonly owner: Owner;
}

export interface BoundAccountsDeps extends AccountsDeps {
  readonly store: Store;
}

export function createBoundAccounts(deps: BoundAccountsDeps): BoundAccounts {
  return {
    create: (origin, accountId, wish, precondition) => create(deps, origin, accountId, wish, precondition),
    adopt: (origin, accountId, owner, precondition) => adopt(deps, origin, accountId, owner, precondition),
    release: (origin, accountId, owner, disable, precondition) =>
      release(deps, origin, accountId, { owner, disable }, precondition),
  };
}

async function create(
  deps: BoundAccountsDeps,
  origin: Origin,
  accountId: string,
  { name, entitlement, owner }: NewAccount,
  precondition: Precondition,
): Promise<Account> {
  return await mutate<Account>(deps, origin, async (reader) => {
    await precondition.recheck();
    const creation = await accountCreation(deps, reader, origin.at);
    const record: AccountRecord = { name, entitlement, disabled: false, createdAt: creation.at, managedBy: owner };
    return {
      accountId,
      action: 'account.created',
      detail: { entitlement },
      countsAt: creation.at,
      expect: [{ key: KEYS.account(accountId), revision: ABSENT }, ...creation.expect, ...precondition.expect],
      write: [
        put(KEYS.account(accountId), record),
        put(KEYS.counters(accountId), NO_COUNTERS.record),
        ...creation.write,
        ...precondition.write,
      ],
      grows: true,
      result: accountView({ id: accountId, record }),
    };
  });
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
    return {
      accountId,
      action: 'account.adopted',
      detail: { by: `${owner.namespace}/${owner.name}` },
      expect: [{ key: KEYS.account(accountId), revision }, ...precondition.expect],
      write: [put(KEYS.account(accountId), { ...rest, managedBy: owner }), ...precondition.write],
      result: undefined,
    };
  });
}

async function release(
  deps: BoundAccountsDeps,
  origin: Origin,
  accountId: string,
  { owner, disable }: { owner: Owner; disable: boolean },
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader): Promise<Step<void> | Unchanged<void>> => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const own = account.record.managedBy?.uid === owner.uid;
    const changes = own && disable ? await disabling(deps, reader, account, origin.at) : undefined;
    const { managedBy, ...rest } = account.record;
    const record = {
      ...rest,
      disabled: rest.disabled || changes !== undefined,
      ...(!own && managedBy && { managedBy }),
    };
    return {
      accountId,
      action: 'account.released',
      detail: { disabled: record.disabled },
      ...(changes && { countsAt: changes.at }),
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        ...(changes?.expect ?? []),
        ...precondition.expect,
      ],
      write: [put(KEYS.account(accountId), record), ...(changes?.write ?? []), ...precondition.write],
      result: undefined,
    };
  });
}

async function disabling(
  deps: BoundAccountsDeps,
  reader: Parameters<typeof accountTransition>[1],
  account: Existing,
  at: number,
): Promise<Awaited<ReturnType<typeof accountTransition>> | undefined> {
  return account.record.disabled ? undefined : await accountTransition(deps, reader, account, true, at);
}
