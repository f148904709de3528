import { expectAbsent, expectUnchanged } from '../../store/port.ts';
import * as z from 'zod';
import type { Listed, PageOf } from '../../store/pages.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import { Secret } from '../credentials/secret.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { consentDetail, isSameOffer, offerOf, refuseUidAlone } from './offers.ts';
import { NO_PRECONDITION, type Precondition } from '../mutation/authority.ts';
import type { IdempotencyKey } from '../mutation/idempotency.ts';
import { mutate } from '../mutation/mutation.ts';
import type { Created, OperatorCreates } from '../mutation/operator-creates.ts';
import { withParts, type MutationDeps, type Origin, type Step, type Unchanged } from '../mutation/step.ts';
import { OPERATOR_AUDIT } from '../records/audit-records.ts';
import type { AccountStorage } from '../quota/account-quota.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type AccountRecord, NO_COUNTERS } from '../records/account-records.ts';
import { Refusal } from '../refusal.ts';
import { accountCreation, accountTransition, type TransitionDeps } from '../status-history/status-change.ts';

/** An account as the operator API shows it. Times are milliseconds since 1970. */
export interface Account extends Pick<
  AccountRecord,
  'name' | 'entitlement' | 'disabled' | 'createdAt' | 'quotaMb' | 'adoptableBy' | 'consent' | 'managedBy' | 'releasedBy'
> {
  readonly accountId: string;
}

/** The fields of an account that a change names; an absent field stays as it is. */
interface AccountPatch {
  readonly name?: string | undefined;
  readonly entitlement?: AccountRecord['entitlement'] | undefined;
  readonly disabled?: boolean | undefined;
  /** The quota in MiB, 0 for none; `null` is that of the installation (A16). */
  readonly quotaMb?: number | null | undefined;
  /**
   * `namespace/name` of the custom resource that may take the account over, once; `null` allows none. Either forgets
   * the resource that released the account.
   */
  readonly adoptableBy?: string | null | undefined;
  /** The UID of that namespace; without it the cluster is asked, where the operator of Kubernetes runs. */
  readonly namespaceUid?: string | undefined;
}

/** The operator's operations on accounts. Times are milliseconds since 1970. */
export interface Accounts {
  /**
   * Creates an account under a new id.
   * @throws Refusal `invalid_request` where the Idempotency-Key was used with another content (H19); StoreUnavailable,
   * Busy
   */
  create(
    origin: Origin,
    account: Pick<AccountRecord, 'name' | 'entitlement'>,
    idempotency?: IdempotencyKey,
  ): Promise<Created<Account>>;
  /** @throws Refusal `not_found`; StoreUnavailable */
  read(accountId: string): Promise<Account>;
  /** Lists accounts in the order of their ids. @throws StoreUnavailable also while memory is behind the store */
  list(page: PageOf): Promise<Listed<Account>>;
  /**
   * Changes the fields that the patch names; a patch that changes nothing writes nothing.
   * @throws Refusal `not_found`, `conflict`; StaleRead where the precondition does not hold; StoreUnavailable, Busy
   */
  change(origin: Origin, accountId: string, patch: AccountPatch, precondition?: Precondition): Promise<Account>;
  /** The bytes that an account stores of its own, and its quota: seconds behind. */
  storage(account: Pick<Account, 'accountId' | 'quotaMb'>): AccountStorage;
}

export interface AccountsDeps extends MutationDeps, Pick<TransitionDeps, 'clockWatch'> {
  readonly operatorCreates: OperatorCreates;
}

/** The answer to a create as it is kept (H19); it has neither of the bindings, which come later. */
const keptAccount = z.object({
  accountId: z.string(),
  name: z.string(),
  entitlement: z.enum(['standard', 'enterprise']),
  disabled: z.boolean(),
  createdAt: z.number(),
});

/** Creates the operations on accounts; see `Accounts`. */
export function createAccounts(deps: AccountsDeps): Accounts {
  return {
    create(origin, { name, entitlement }, idempotency) {
      const accountId = generateAccountId(deps.random);
      // Named one by one: a binding is not the operator's to set, whatever else the object that was handed over has.
      const account = { name, entitlement };
      const creation = {
        scope: OPERATOR_AUDIT,
        plan: (reader: FleetReader) => creationStep(deps, reader, accountId, account, origin.at),
        spell: (created: Account) => new Secret(JSON.stringify(created)),
        read: (kept: string): Account => keptAccount.parse(JSON.parse(kept)),
      };
      return deps.operatorCreates(origin, creation, idempotency);
    },
    async read(accountId) {
      return accountView(await existing(await deps.fleet.current(), accountId));
    },
    list: (page) => list(deps, page),
    change: (origin, accountId, patch, precondition = NO_PRECONDITION) =>
      change(deps, origin, accountId, patch, precondition),
    storage: (account) => deps.quotas.storage(account),
  };
}

/** The account of a record, as the operator API shows it. */
function accountView({ id, record }: { id: string; record: AccountRecord }): Account {
  const { name, entitlement, disabled, createdAt, quotaMb, adoptableBy, consent, managedBy, releasedBy } = record;
  const bindings = { adoptableBy, consent, managedBy, releasedBy };
  return { accountId: id, name, entitlement, disabled, createdAt, quotaMb, ...bindings };
}

/** @throws Refusal `not_found` where there is no such account; StoreUnavailable */
export async function existing(reader: FleetReader, accountId: string): Promise<AccountReader> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return account;
}

/** An account that is yet to be created; `managedBy` names the custom resource that it follows, if any. */
export type NewAccount = Pick<AccountRecord, 'name' | 'entitlement' | 'managedBy'>;

/**
 * The step that creates an account with its counters.
 * @param at the instant of the request, in milliseconds since 1970
 * @throws StoreUnavailable
 */
export async function creationStep(
  deps: TransitionDeps,
  reader: FleetReader,
  accountId: string,
  { name, entitlement, managedBy }: NewAccount,
  at: number,
): Promise<Step<Account>> {
  const creation = await accountCreation(deps, reader, at);
  const record: AccountRecord = {
    name,
    entitlement,
    disabled: false,
    createdAt: creation.at,
    ...(managedBy && { managedBy }),
  };
  return {
    accountId,
    action: 'account.created',
    detail: { entitlement },
    countsAt: creation.at,
    expect: [expectAbsent(KEYS.account(accountId)), ...creation.expect],
    write: [put(KEYS.account(accountId), record), put(KEYS.counters(accountId), NO_COUNTERS), ...creation.write],
    result: accountView({ id: accountId, record }),
  };
}

async function list(deps: MutationDeps, { limit, after = '' }: PageOf): Promise<Listed<Account>> {
  // Accounts are listed from memory alone: an account that is missing there would be reported as not existing.
  const memory = await deps.fleet.whole();
  const later = [...memory.accounts()].filter((account) => account.id > after);
  const page = later.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, limit);
  return { items: page.map(accountView), next: later.length > limit ? page.at(-1)?.id : undefined };
}

async function change(
  deps: AccountsDeps,
  origin: Origin,
  accountId: string,
  patch: AccountPatch,
  precondition: Precondition,
): Promise<Account> {
  refuseUidAlone(patch);
  return await mutate<Account>(deps, origin, async (reader): Promise<Step<Account> | Unchanged<Account>> => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const before = account.record;
    const record = patched(before, patch, origin.at);
    const result = accountView({ id: accountId, record });
    const { name, entitlement, disabled } = record;
    const sameQuota = before.quotaMb === record.quotaMb;
    const same =
      before.name === name && before.entitlement === entitlement && before.disabled === disabled && sameQuota;
    const isKept = isSameOffer(before, record) && before.releasedBy === record.releasedBy;
    if (same && isKept) return { unchanged: result };
    const changes =
      before.disabled === disabled ? undefined : await accountTransition(deps, reader, account, disabled, origin.at);
    const step: Step<Account> = {
      accountId,
      action: 'account.changed',
      detail: {
        entitlement,
        disabled,
        renamed: before.name !== name,
        ...(!sameQuota && { quotaMb: record.quotaMb ?? 'default' }),
        ...(!isKept && consentDetail(record)),
      },
      ...(changes && { countsAt: changes.at }),
      withdraws: disabled && !before.disabled,
      expect: [expectUnchanged(account)],
      write: [put(KEYS.account(accountId), record)],
      result,
    };
    return withParts(step, changes, precondition);
  });
}

function patched(before: AccountRecord, patch: AccountPatch, at: number): AccountRecord {
  const record: AccountRecord = {
    ...before,
    name: patch.name ?? before.name,
    entitlement: patch.entitlement ?? before.entitlement,
    disabled: patch.disabled ?? before.disabled,
  };
  if (patch.quotaMb === null) delete record.quotaMb;
  else if (patch.quotaMb !== undefined) record.quotaMb = patch.quotaMb;
  if (patch.adoptableBy === undefined) return record;
  const { adoptableBy: _before, consent: _former, releasedBy: _released, ...rest } = record;
  const { adoptableBy, namespaceUid } = patch;
  return { ...rest, ...offerOf({ adoptableBy, namespaceUid }, at) };
}
