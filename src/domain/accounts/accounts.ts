import { ABSENT } from '../../store/port.ts';
import { generateAccountId } from '../credentials/random-ids.ts';
import type { Secret } from '../credentials/secret.ts';
import { generateApiKey, tokenHash } from '../credentials/tokens.ts';
import type { FleetReader } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { NO_PRECONDITION, type Precondition } from '../mutation/authority.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { auditSchema, NO_COUNTERS, type AccountRecord, type AuditRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';
import { accountCreation, accountTransition, type TransitionDeps } from '../status-history/status-change.ts';

export interface Account extends Pick<
  AccountRecord,
  'name' | 'entitlement' | 'disabled' | 'createdAt' | 'adoptableBy' | 'managedBy'
> {
  readonly accountId: string;
}

export interface ApiKey {
  readonly keyId: string;
  readonly name: string;
  readonly createdAt: number;
}

/** A page, and where the next one begins. */
export interface Listed<T> {
  readonly items: readonly T[];
  readonly next: string | undefined;
}

export interface PageOf {
  readonly limit: number;
  readonly after: string | undefined;
}

export interface AccountPatch {
  readonly name?: string | undefined;
  readonly entitlement?: AccountRecord['entitlement'] | undefined;
  readonly disabled?: boolean | undefined;
  /** `namespace/name` of the custom resource that may take the account over, once; `null`: none may. */
  readonly adoptableBy?: string | null | undefined;
}

/** What the operator does with accounts and their keys. Each refuses with `not_found` for what does not exist. */
export interface Accounts {
  create(origin: Origin, account: Pick<AccountRecord, 'name' | 'entitlement'>): Promise<Account>;
  read(accountId: string): Promise<Account>;
  /** By account id. */
  list(page: PageOf): Promise<Listed<Account>>;
  change(origin: Origin, accountId: string, patch: AccountPatch, precondition?: Precondition): Promise<Account>;
  /** The key is shown this once. Refuses with `invalid_request` beyond 200 keys. */
  createKey(origin: Origin, accountId: string, name: string): Promise<ApiKey & { readonly apiKey: Secret }>;
  /** Oldest first. */
  listKeys(accountId: string): Promise<readonly ApiKey[]>;
  revokeKey(origin: Origin, accountId: string, keyId: string, precondition?: Precondition): Promise<void>;
  /** Oldest first. */
  audit(accountId: string, page: PageOf): Promise<Listed<AuditRecord>>;
}

export interface AccountsDeps extends MutationDeps, Pick<TransitionDeps, 'clockWatch'> {}

export function createAccounts(deps: AccountsDeps): Accounts {
  return {
    create: (origin, account) => create(deps, origin, account),
    async read(accountId) {
      return accountView(await existing(await deps.fleet.current(), accountId));
    },
    list: (page) => list(deps, page),
    change: (origin, accountId, patch, precondition = NO_PRECONDITION) =>
      change(deps, origin, accountId, patch, precondition),
    createKey: (origin, accountId, name) => createKey(deps, origin, accountId, name),
    async listKeys(accountId) {
      const account = await existing(await deps.fleet.current(), accountId);
      const keys = (await account.apiKeys()).map(({ id, record }) => ({
        keyId: id,
        name: record.name,
        createdAt: record.createdAt,
      }));
      return keys.sort((a, b) => a.createdAt - b.createdAt || (a.keyId < b.keyId ? -1 : 1));
    },
    revokeKey: (origin, accountId, keyId, precondition = NO_PRECONDITION) =>
      revokeKey(deps, origin, accountId, keyId, precondition),
    audit: (accountId, page) => audit(deps, accountId, page),
  };
}

export function accountView({ id, record }: { id: string; record: AccountRecord }): Account {
  const { name, entitlement, disabled, createdAt, adoptableBy, managedBy } = record;
  return { accountId: id, name, entitlement, disabled, createdAt, adoptableBy, managedBy };
}

export type Existing = NonNullable<Awaited<ReturnType<FleetReader['account']>>>;

export async function existing(reader: FleetReader, accountId: string): Promise<Existing> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return account;
}

async function create(
  deps: AccountsDeps,
  origin: Origin,
  { name, entitlement }: Pick<AccountRecord, 'name' | 'entitlement'>,
): Promise<Account> {
  const accountId = generateAccountId(deps.random);
  return await mutate<Account>(deps, origin, async (reader) => {
    const creation = await accountCreation(deps, reader, origin.at);
    const record: AccountRecord = { name, entitlement, disabled: false, createdAt: creation.at };
    return {
      accountId,
      action: 'account.created',
      detail: { entitlement },
      countsAt: creation.at,
      expect: [{ key: KEYS.account(accountId), revision: ABSENT }, ...creation.expect],
      write: [
        put(KEYS.account(accountId), record),
        put(KEYS.counters(accountId), NO_COUNTERS.record),
        ...creation.write,
      ],
      grows: true,
      result: accountView({ id: accountId, record }),
    };
  });
}

async function list(deps: MutationDeps, { limit, after = '' }: PageOf): Promise<Listed<Account>> {
  // Accounts are listed from memory alone, and one that is missing there would be told as not existing.
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
  return await mutate<Account>(deps, origin, async (reader): Promise<Step<Account> | Unchanged<Account>> => {
    await precondition.recheck();
    const account = await existing(reader, accountId);
    const before = account.record;
    const record: AccountRecord = {
      ...before,
      name: patch.name ?? before.name,
      entitlement: patch.entitlement ?? before.entitlement,
      disabled: patch.disabled ?? before.disabled,
    };
    if (patch.adoptableBy === null) delete record.adoptableBy;
    else if (patch.adoptableBy !== undefined) record.adoptableBy = patch.adoptableBy;
    const result = accountView({ id: accountId, record });
    const { name, entitlement, disabled } = record;
    const same = before.name === name && before.entitlement === entitlement && before.disabled === disabled;
    if (same && before.adoptableBy === record.adoptableBy) {
      return { unchanged: result };
    }
    const changes =
      before.disabled === disabled ? undefined : await accountTransition(deps, reader, account, disabled, origin.at);
    return {
      accountId,
      action: 'account.changed',
      detail: {
        entitlement,
        disabled,
        renamed: before.name !== name,
        ...(before.adoptableBy !== record.adoptableBy && { adoptableBy: record.adoptableBy ?? '' }),
      },
      ...(changes && { countsAt: changes.at }),
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        ...(changes?.expect ?? []),
        ...precondition.expect,
      ],
      write: [put(KEYS.account(accountId), record), ...(changes?.write ?? []), ...precondition.write],
      result,
    };
  });
}

async function createKey(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  name: string,
): Promise<ApiKey & { readonly apiKey: Secret }> {
  const { keyId, token } = generateApiKey(deps.random);
  const record = { name, hash: tokenHash(token.reveal()), createdAt: origin.at };
  return await mutate<ApiKey & { readonly apiKey: Secret }>(deps, origin, async (reader) => {
    const account = await existing(reader, accountId);
    if ((await account.apiKeys()).length >= LIMITS.apiKeysPerAccountMax) {
      throw new Refusal(
        'invalid_request',
        `The account has ${LIMITS.apiKeysPerAccountMax} API keys; revoke one first.`,
      );
    }
    // Written as it was read, so that two creates racing for the last place collide on its revision.
    const counters = await account.counters();
    return {
      accountId,
      action: 'key.created',
      detail: { keyId },
      expect: [
        { key: KEYS.account(accountId), revision: account.revision },
        { key: KEYS.counters(accountId), revision: counters.revision },
        { key: KEYS.keyLocator(keyId), revision: ABSENT },
      ],
      write: [
        put(KEYS.apiKey(accountId, keyId), record),
        put(KEYS.keyLocator(keyId), { accountId }),
        put(KEYS.counters(accountId), counters.record),
      ],
      grows: true,
      result: { keyId, name, apiKey: token, createdAt: origin.at },
    };
  });
}

async function revokeKey(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  keyId: string,
  precondition: Precondition,
): Promise<void> {
  await mutate<void>(deps, origin, async (reader) => {
    await precondition.recheck();
    const key = await (await existing(reader, accountId)).apiKey(keyId);
    if (!key) throw new Refusal('not_found');
    return {
      accountId,
      action: 'key.revoked',
      detail: { keyId },
      expect: [{ key: KEYS.apiKey(accountId, keyId), revision: key.revision }, ...precondition.expect],
      write: [{ remove: KEYS.apiKey(accountId, keyId) }, ...precondition.write],
      result: undefined,
    };
  });
}

async function audit(deps: MutationDeps, accountId: string, page: PageOf): Promise<Listed<AuditRecord>> {
  await existing(await deps.fleet.current(), accountId);
  const prefix = KEYS.audits(accountId);
  const { entries, next } = await deps.store.list({
    prefix,
    limit: page.limit,
    ...(page.after !== undefined && { after: prefix + page.after }),
  });
  return {
    items: entries.map((entry) => parseRecord(auditSchema, entry).record),
    next: next?.slice(prefix.length),
  };
}
