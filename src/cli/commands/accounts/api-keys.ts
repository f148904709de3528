import type { ApiKey, CreatedApiKey, RotatedApiKey } from '#client';
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

/* `muster api-keys`: what opens `/v1` to an account. The text of a key is shown once, when it is created or rotated. */

type Shown = Omit<CreatedApiKey, 'apiKey'>;
const KEY: readonly Column<Shown>[] = [
  { head: 'KEY', field: 'keyId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'CREATED', field: 'createdAt', kind: 'time' },
  { head: 'EXPIRES', field: 'expiresAt', kind: 'time' },
];
const SCOPE: readonly Column<Pick<ApiKey, 'access' | 'allowedCidrs'>>[] = [
  { head: 'ACCESS', field: 'access' },
  { head: 'FROM', name: 'allowedCidrs', of: ({ allowedCidrs }) => allowedCidrs.join(',') },
];
const TEXT = { head: 'API KEY', field: 'apiKey' } as const;
const FORMER = { head: 'FORMER UNTIL', field: 'formerExpiresAt', kind: 'time' } as const;
const ROTATED: readonly Column<Omit<RotatedApiKey, 'apiKey'>>[] = [...KEY, FORMER];
const LISTED: readonly Column<ApiKey>[] = [
  ...KEY,
  ...SCOPE,
  FORMER,
  { head: 'LAST USED', field: 'lastUsedAt', kind: 'time' },
  { head: 'CALLS 7D', field: 'calls7d', kind: 'number' },
];
const idOf = ({ keyId }: Pick<ApiKey, 'keyId'>): string => keyId;

interface OnceOptions {
  /** The path of a new file for the key. */
  readonly saveKey?: string;
  readonly idempotencyKey?: string;
}

interface ScopeOptions {
  readonly access?: ApiKey['access'];
  readonly cidr?: readonly string[];
}
const scopeOf = ({ access, cidr }: ScopeOptions) => ({
  ...(access && { access }),
  ...(cidr && { allowedCidrs: cidr }),
});

export interface CreateApiKeyOptions extends OnceOptions, ScopeOptions {
  readonly account: string;
  readonly name?: string;
  readonly expires?: Moment;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function createApiKey(call: Invocation, options: CreateApiKeyOptions): Promise<void> {
  const { account, name, expires, idempotencyKey } = options;
  refuseUnseen(call, options);
  const expiresAt = expires && futureInstant(call, expires);
  const isReckoned = expires !== undefined && 'seconds' in expires;
  if (isReckoned && idempotencyKey !== undefined) {
    throw new CommandFault(
      'With --idempotency-key, --expires is a date: a duration would end at another instant each time.',
      EXIT.usage,
    );
  }
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const body = {
    ...(name !== undefined && { name }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    ...scopeOf(options),
  };
  await shownOnce(call, options, {
    what: 'The API key',
    reckoned: isReckoned ? `--expires ${body.expiresAt}` : undefined,
    make: (once) => operator.createApiKey(accountId, body, { ...requestOf(call), ...once }),
    columns: [...KEY, TEXT],
    withoutText: KEY,
    says: ({ keyId }) => `The key ${keyId} of the account ${accountId} is`,
    done: 'created',
    unsaved: ({ keyId }) =>
      `The key ${keyId} was created, and its text could not be saved: \`muster api-keys revoke ${keyId} -a ${accountId}\` ` +
      'revokes it.',
  });
}

/** @returns milliseconds since 1970 @throws CommandFault */
function futureInstant(call: Invocation, expires: Moment): number {
  const now = call.clock.now();
  const expiresAt = momentAfter(expires, now);
  if (expiresAt > now) return expiresAt;
  throw new CommandFault('--expires is not in the future: the key would never be valid.', EXIT.usage);
}

/** A key that nobody sees is lost. @throws CommandFault */
function refuseUnseen(call: Invocation, { saveKey }: OnceOptions): void {
  if (saveKey !== undefined) return;
  if (call.globals.output === 'id') {
    throw new CommandFault('-o id leaves the key out: save it with --save-key, or choose another form.', EXIT.usage);
  }
  requireWholeStdout();
}

interface WithText extends Shown {
  readonly apiKey: string;
}

/** The text of a key that one answer alone shows. */
interface Making<Made extends WithText> {
  readonly what: string;
  readonly reckoned?: string | undefined;
  readonly make: (once: { readonly idempotencyKey: string; readonly signal: AbortSignal }) => Promise<Made>;
  readonly columns: readonly Column<Made>[];
  /** The same without the text. */
  readonly withoutText: readonly Column<Omit<Made, 'apiKey'>>[];
  /** Names the key, for what is said of it. */
  readonly says: (made: Made) => string;
  readonly done: string;
  /** The advice for somebody who has lost the text. */
  readonly unsaved: (made: Made) => string;
}

/** Makes a key's text, and shows it once, or writes it to a file. @throws CommandFault, MusterError */
async function shownOnce<Made extends WithText>(
  call: Invocation,
  { saveKey, idempotencyKey }: OnceOptions,
  { what, reckoned, make, columns, withoutText, says, done, unsaved }: Making<Made>,
): Promise<void> {
  const item = await createdOnce({ what, idempotencyKey, reckoned }, (once) => {
    const create = () => make(once);
    const secretOf = ({ apiKey }: Made): string => apiKey;
    return saveKey === undefined ? create() : savedSecret(saveKey, create, { secretOf, unsaved });
  });
  if (saveKey === undefined) {
    requireWholeStdout(unsaved(item));
    const again =
      idempotencyKey === undefined
        ? 'keep it now, no other command shows it.'
        : 'keep it now: for 24 hours the same --idempotency-key shows it again, and nothing else does.';
    call.say(`${says(item)} ${done}; ${again}`);
    return await printOne(call, { columns, id: idOf, item });
  }
  const { apiKey: _saved, ...shown } = item;
  call.say(`${says(item)} in ${saveKey}.`);
  await printOne(call, { columns: withoutText, id: idOf, item: shown });
}

export interface RotateApiKeyOptions extends OnceOptions {
  readonly account: string;
  /** Seconds for which the secret before works on; undefined: so long as the service says. */
  readonly grace?: number;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function rotateApiKey(call: Invocation, keyId: string, options: RotateApiKeyOptions): Promise<void> {
  const { account, grace } = options;
  refuseUnseen(call, options);
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const body = grace === undefined ? {} : { graceSeconds: grace };
  await shownOnce<RotatedApiKey>(call, options, {
    what: 'The new secret',
    make: (once) =>
      orMissing(
        `There is no API key ${keyId} of the account ${accountId}`,
        operator.rotateApiKey(accountId, keyId, body, { ...requestOf(call), ...once }),
      ),
    columns: [...KEY, FORMER, TEXT],
    withoutText: ROTATED,
    says: () => `The new secret of the key ${keyId} of the account ${accountId} is`,
    done: 'made',
    unsaved: () =>
      `The key ${keyId} has a new secret, and its text could not be saved: rotate it again, or revoke it with ` +
      `\`muster api-keys revoke ${keyId} -a ${accountId}\`.`,
  });
}

export interface UpdateApiKeyOptions extends OfAccount, ScopeOptions {
  readonly expires?: Moment;
}

/** @throws CommandFault, ConfigError, MusterError */
export async function updateApiKey(
  call: Invocation,
  keyId: string,
  { account, expires, ...scope }: UpdateApiKeyOptions,
): Promise<void> {
  const expiresAt = expires && new Date(futureInstant(call, expires)).toISOString();
  const change = { ...(expiresAt !== undefined && { expiresAt }), ...scopeOf(scope) };
  if (Object.keys(change).length === 0) {
    throw new CommandFault('Say what is to change: --expires, --access or --cidr.', EXIT.usage);
  }
  const operator = operatorOf(call);
  const { accountId } = await accountNamed(operator, account, requestOf(call));
  const missing = `There is no API key ${keyId} of the account ${accountId}`;
  const item = await orMissing(missing, operator.changeApiKey(accountId, keyId, change, requestOf(call)));
  call.say(`The key ${keyId} of the account ${accountId} is changed.`);
  await printOne(call, { columns: LISTED, id: idOf, item });
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

interface Ended {
  readonly accountId: string;
  readonly keyId: string;
  readonly status: 'revoked' | 'overlap-ended';
}
const ENDED: readonly Column<Ended>[] = [
  { head: 'KEY', field: 'keyId' },
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'STATUS', field: 'status' },
];

/** An end of a key or of a secret of it, and what is said of it. */
interface Ending {
  readonly asks: string;
  readonly end: (accountId: string) => Promise<void>;
  readonly missing: string;
  readonly status: Ended['status'];
  readonly done: string;
}

/** Revokes a key, once a person has agreed. @throws CommandFault, ConfigError, MusterError */
export async function revokeApiKey(call: Invocation, keyId: string, options: OfAccount): Promise<void> {
  await ended(call, keyId, options, {
    asks: `Revoke the API key ${keyId}`,
    end: (accountId) => operatorOf(call).revokeApiKey(accountId, keyId, requestOf(call)),
    missing: `There is no API key ${keyId}`,
    status: 'revoked',
    done: 'is revoked',
  });
}

/**
 * Ends the secret before the last rotation, once a person has agreed.
 * @throws CommandFault, ConfigError, MusterError
 */
export async function endOverlap(call: Invocation, keyId: string, options: OfAccount): Promise<void> {
  await ended(call, keyId, options, {
    asks: `End the former secret of the API key ${keyId}`,
    end: async (accountId) => {
      const operator = operatorOf(call);
      const { apiKeys } = await operator.listApiKeys(accountId, requestOf(call));
      const formerExpiresAt = apiKeys.find((key) => key.keyId === keyId)?.formerExpiresAt;
      if (!formerExpiresAt) throw new CommandFault('Its present secret alone works.', EXIT.notFound);
      await operator.endFormerSecret(accountId, keyId, { formerExpiresAt }, requestOf(call));
    },
    missing: `There is no API key ${keyId} with a former secret that works`,
    status: 'overlap-ended',
    done: 'works with its present secret alone',
  });
}

async function ended(call: Invocation, keyId: string, { account }: OfAccount, ending: Ending): Promise<void> {
  const { accountId, name } = await accountNamed(operatorOf(call), account, requestOf(call));
  const what = `${ending.asks} of the account ${accountId} (${printableName(name)})`;
  await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  await orMissing(`${ending.missing} of the account ${accountId}`, ending.end(accountId));
  call.say(`The key ${keyId} of the account ${accountId} ${ending.done}.`);
  await printOne<Ended>(call, { columns: ENDED, id: idOf, item: { accountId, keyId, status: ending.status } });
}
