import type { ApiKey, CreatedApiKey } from '#client';
import { accountNamed } from '../../connection/accounts.ts';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import { createdOnce } from '../../connection/created-once.ts';
import type { Column } from '../../output/columns.ts';
import { printList, printOne } from '../../output/print.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { orMissing } from '../../terminal/missing.ts';
import { momentAfter, type Moment } from '../../terminal/moment.ts';
import { savedSecret } from '../../terminal/secret-file.ts';
import { printableName } from '../../output/printable-name.ts';

/* `muster api-keys`: what opens `/v1` to an account. A key is shown once, when it is created. */

type Shown = Omit<CreatedApiKey, 'apiKey'>;
const KEY: readonly Column<Shown>[] = [
  { head: 'KEY', field: 'keyId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'CREATED', field: 'createdAt', kind: 'time' },
  { head: 'EXPIRES', field: 'expiresAt', kind: 'time' },
];
const CREATED: readonly Column<CreatedApiKey>[] = [...KEY, { head: 'API KEY', field: 'apiKey' }];
const LISTED: readonly Column<ApiKey>[] = [...KEY, { head: 'LAST USED', field: 'lastUsedAt', kind: 'time' }];
const idOf = ({ keyId }: Pick<ApiKey, 'keyId'>): string => keyId;

export interface CreateApiKeyOptions {
  readonly account: string;
  readonly name?: string;
  readonly expires?: Moment;
  /** The path of a new file for the key. */
  readonly saveKey?: string;
  readonly idempotencyKey?: string;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function createApiKey(call: Invocation, options: CreateApiKeyOptions): Promise<void> {
  const { account, name, expires, saveKey, idempotencyKey } = options;
  if (saveKey === undefined && call.globals.output === 'id') {
    throw new CommandFault('-o id leaves the key out: save it with --save-key, or choose another form.', EXIT.usage);
  }
  const now = call.clock.now();
  const expiresAt = expires && momentAfter(expires, now);
  if (expiresAt !== undefined && expiresAt <= now) {
    throw new CommandFault('--expires is not in the future: the key would never be valid.', EXIT.usage);
  }
  const isReckoned = expires !== undefined && 'seconds' in expires;
  if (isReckoned && idempotencyKey !== undefined) {
    throw new CommandFault(
      'With --idempotency-key, --expires is a date: a duration would end at another instant each time.',
      EXIT.usage,
    );
  }
  // A key that nobody sees is lost.
  if (saveKey === undefined) requireWholeStdout();
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const body = {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
  const reckoned = isReckoned ? `--expires ${body.expiresAt}` : undefined;
  const unsaved = ({ keyId }: CreatedApiKey): string =>
    `The key ${keyId} was created, and its text could not be saved: \`muster api-keys revoke ${keyId} -a ${accountId}\` ` +
    'revokes it.';
  const item = await createdOnce({ what: 'The API key', idempotencyKey, reckoned }, (once) => {
    const create = () => operator.createApiKey(accountId, body, { ...requestOf(call), ...once });
    const secretOf = ({ apiKey }: CreatedApiKey): string => apiKey;
    return saveKey === undefined ? create() : savedSecret(saveKey, create, { secretOf, unsaved });
  });
  if (saveKey === undefined) {
    requireWholeStdout(unsaved(item));
    const again =
      idempotencyKey === undefined
        ? 'keep it now, no other command shows it.'
        : 'keep it now: for 24 hours the same --idempotency-key shows it again, and nothing else does.';
    call.say(`The key ${item.keyId} of the account ${accountId} is created; ${again}`);
    return await printOne(call, { columns: CREATED, id: idOf, item });
  }
  const { apiKey: _saved, ...shown } = item;
  call.say(`The key ${item.keyId} of the account ${accountId} is in ${saveKey}.`);
  await printOne(call, { columns: KEY, id: idOf, item: shown });
}

interface OfAccount {
  readonly account: string;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function listApiKeys(call: Invocation, { account }: OfAccount): Promise<void> {
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const { apiKeys: items } = await operator.listApiKeys(accountId, requestOf(call));
  await printList(call, { columns: LISTED, id: idOf, items, none: 'The account has no API key.' });
}

interface Revoked {
  readonly accountId: string;
  readonly keyId: string;
  readonly status: 'revoked';
}
const REVOKED: readonly Column<Revoked>[] = [
  { head: 'KEY', field: 'keyId' },
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'STATUS', field: 'status' },
];

/** Revokes a key, once a person has agreed. @throws CommandFault, ConfigError, MusterError */
export async function revokeApiKey(call: Invocation, keyId: string, { account }: OfAccount): Promise<void> {
  const operator = operatorOf(call);
  const { accountId, name } = await accountNamed(operator, account, requestOf(call));
  const what = `Revoke the API key ${keyId} of the account ${accountId} (${printableName(name)})`;
  await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  const missing = `There is no API key ${keyId} of the account ${accountId}`;
  await orMissing(missing, operator.revokeApiKey(accountId, keyId, requestOf(call)));
  call.say(`The key ${keyId} of the account ${accountId} is revoked.`);
  await printOne<Revoked>(call, { columns: REVOKED, id: idOf, item: { accountId, keyId, status: 'revoked' } });
}
