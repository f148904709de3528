import type { Account, ChangeAccountRequest } from '#client';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import { createdOnce } from '../../connection/created-once.ts';
import type { Column } from '../../output/columns.ts';
import { printList, printOne } from '../../output/print.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { printableName } from '../../output/printable-name.ts';

/* `muster accounts`: the owners of apps. */

const COLUMNS: readonly Column<Account>[] = [
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'ENTITLEMENT', field: 'entitlement' },
  { head: 'DISABLED', field: 'disabled', tone: ({ disabled }) => (disabled ? 'bad' : 'faint') },
  { head: 'CREATED', field: 'createdAt', kind: 'time' },
  { head: 'STORED BYTES', field: 'storedBytes', kind: 'number', minor: true },
  { head: 'QUOTA MIB', field: 'quotaMb', kind: 'number', minor: true },
  { head: 'MANAGED BY', field: 'managedBy', kind: 'text', minor: true },
  { head: 'ADOPTABLE BY', field: 'adoptableBy', kind: 'text', minor: true },
  {
    head: 'ADOPTABLE UNTIL',
    field: 'adoptableUntil',
    kind: 'time',
    minor: true,
  },
];
const idOf = ({ accountId }: Account): string => accountId;

/** The largest page that the service gives. */
export const PAGE_MAX = 1000;

export interface CreateAccountOptions {
  readonly name: string;
  readonly entitlement: Account['entitlement'];
  readonly idempotencyKey?: string;
}

/** @throws ConfigError, MusterError */
export async function createAccount(call: Invocation, options: CreateAccountOptions): Promise<void> {
  const { name, entitlement, idempotencyKey } = options;
  const operator = operatorOf(call);
  const item = await createdOnce({ what: 'The account', idempotencyKey }, (once) =>
    operator.createAccount({ name, entitlement }, { ...requestOf(call), ...once }),
  );
  call.say(`The account ${item.accountId} is created.`);
  await printOne(call, { columns: COLUMNS, id: idOf, item });
}

/** @throws ConfigError, MusterError */
export async function listAccounts(call: Invocation): Promise<void> {
  const limit = Math.min(call.globals.limit ?? PAGE_MAX, PAGE_MAX);
  const items = operatorOf(call).accounts({ limit }, requestOf(call));
  await printList(call, { columns: COLUMNS, id: idOf, items, none: 'There is no account.' });
}

/** @param account its id or its name, as in all commands below. @throws CommandFault, ConfigError, MusterError */
export async function getAccount(call: Invocation, account: string): Promise<void> {
  const item = await accountNamed(operatorOf(call), account, requestOf(call));
  await printOne(call, { columns: COLUMNS, id: idOf, item });
}

export interface UpdateAccountOptions {
  readonly name?: string;
  readonly entitlement?: Account['entitlement'];
  /** In MiB; 0 is none. */
  readonly quotaMb?: number | 'default';
  /** The custom resource as `namespace/name`; `false` withdraws it. */
  readonly adoptableBy?: string | false;
  /** The UID of its namespace. */
  readonly namespaceUid?: string;
}

/**
 * Changes an account; where it takes the Enterprise entitlement away, once a person has agreed.
 * @throws CommandFault with exit code 2 where nothing is to be changed; ConfigError, MusterError
 */
export async function updateAccount(call: Invocation, account: string, options: UpdateAccountOptions): Promise<void> {
  const { name, entitlement, quotaMb, adoptableBy, namespaceUid } = options;
  const change = {
    ...(name !== undefined && { name }),
    ...(entitlement !== undefined && { entitlement }),
    ...(quotaMb !== undefined && { quotaMb: quotaMb === 'default' ? null : quotaMb }),
    ...(adoptableBy !== undefined && { adoptableBy: adoptableBy === false ? null : adoptableBy }),
    ...(namespaceUid !== undefined && { namespaceUid }),
  };
  if (Object.keys(change).length === 0) {
    throw new CommandFault(
      'Nothing is to be changed: give --name, --entitlement, --quota-mb, --adoptable-by or --no-adoptable-by.',
      EXIT.usage,
    );
  }
  await changed(call, account, change, 'changed');
}

/** Cuts an account off, once a person has agreed. @throws CommandFault, ConfigError, MusterError */
export const disableAccount = (call: Invocation, account: string): Promise<void> =>
  changed(call, account, { disabled: true }, 'disabled');

/** @throws CommandFault, ConfigError, MusterError */
export const enableAccount = (call: Invocation, account: string): Promise<void> =>
  changed(call, account, { disabled: false }, 'enabled');

async function changed(
  call: Invocation,
  account: string,
  change: ChangeAccountRequest,
  done: 'changed' | 'disabled' | 'enabled',
): Promise<void> {
  const operator = operatorOf(call);
  const before = await accountNamed(operator, account, requestOf(call));
  const { accountId } = before;
  const what = takenAway(before, change);
  if (what !== undefined) await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  const item = await operator.changeAccount(accountId, change, requestOf(call));
  call.say(`The account ${accountId} is ${done}.`);
  await printOne(call, { columns: COLUMNS, id: idOf, item });
}

/** The loss that a change brings to an account, as a question without its end; undefined where there is none. */
function takenAway(
  { accountId, name, entitlement }: Account,
  { disabled, entitlement: next }: ChangeAccountRequest,
): string | undefined {
  const which = `the account ${accountId} (${printableName(name)})`;
  if (disabled === true) return `Disable ${which}: all its keys and daemons are refused`;
  if (entitlement !== 'enterprise' || next !== 'standard') return undefined;
  return `Take the Enterprise entitlement from ${which}: its daemons are no longer configured, and export nothing`;
}
