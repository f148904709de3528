import type { AccessToken, ChangeUserRequest, ListedUser, MadeApiKey, OperatorClient, User, UserLink } from '#client';
import { operatorOf, requestOf } from '../../connection/clients.ts';
import type { Column } from '../../output/columns.ts';
import { printList, printOne } from '../../output/print.ts';
import { confirmed } from '../../terminal/confirmation.ts';
import { comparableLogin } from '../../../text/logins.ts';
import { printableName } from '../../output/printable-name.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { isMissing } from '../../terminal/missing.ts';

/* `muster users`: the people who use the panel. A link for one of them is shown once, on stdout alone. */

const COLUMNS: readonly Column<User>[] = [
  { head: 'USER', field: 'userId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'LOGIN', field: 'login', kind: 'text' },
  { head: 'ROLE', field: 'role', tone: ({ role }) => (role === 'none' ? 'faint' : undefined) },
  { head: 'BY GROUPS', field: 'mappedRole', minor: true },
  { head: 'DISABLED', field: 'disabled', tone: ({ disabled }) => (disabled ? 'bad' : 'faint') },
  { head: 'PASSWORD', field: 'hasPassword', minor: true },
  { head: 'PASSKEYS', field: 'passkeys', minor: true },
  { head: 'IDENTITIES', field: 'identities', minor: true },
  { head: 'CREATED', field: 'createdAt', kind: 'time' },
];
const LISTED: readonly Column<ListedUser>[] = [
  ...COLUMNS,
  { head: 'KEYS', field: 'apiKeys' },
  { head: 'KEYS USED', field: 'apiKeysLastUsedAt', kind: 'time' },
  { head: 'TOKENS', field: 'accessTokens' },
  { head: 'TOKENS USED', field: 'accessTokensLastUsedAt', kind: 'time' },
  { head: 'SESSIONS', field: 'sessions' },
  { head: 'SESSIONS USED', field: 'sessionsLastUsedAt', kind: 'time' },
  { head: 'REFUSED', field: 'providerRefusedAt', kind: 'time' },
];
const idOf = ({ userId }: Pick<User, 'userId'>): string => userId;

/** A link with the user whom it is for. */
interface LinkShown extends UserLink {
  readonly userId: string;
}
const LINK: readonly Column<LinkShown>[] = [
  { head: 'USER', field: 'userId' },
  { head: 'EXPIRES', field: 'expiresAt', kind: 'time' },
  { head: 'LINK', field: 'url' },
];

/** A link that nobody sees is of no use. @throws CommandFault with exit code 2 */
function refuseUnseen({ globals }: Invocation): void {
  if (globals.output === 'id') throw new CommandFault('-o id leaves the link out: choose another form.', EXIT.usage);
  requireWholeStdout();
}

export interface CreateUserOptions {
  readonly name: string;
  readonly login: string;
  readonly role?: User['role'];
  readonly operator?: boolean;
}

/** Creates a user, and prints the link for his first sign-in. @throws CommandFault, ConfigError, MusterError */
export async function createUser(call: Invocation, { name, login, operator, role }: CreateUserOptions): Promise<void> {
  refuseUnseen(call);
  const { user, link } = await operatorOf(call).createUser(
    { name, login, ...givenRole({ role, operator }) },
    requestOf(call),
  );
  const again = `\`muster users reset ${user.userId}\` makes another link.`;
  requireWholeStdout(`The user ${user.userId} is created, and the link could not be shown: ${again}`);
  call.say(`The user ${user.userId} is created; send him the link, which no other command shows: it works once.`);
  await printOne(call, { columns: LINK, id: idOf, item: { userId: user.userId, ...link } });
}

/** @throws ConfigError, MusterError */
export async function listUsers(call: Invocation): Promise<void> {
  const { users: items } = await operatorOf(call).listUsers(requestOf(call));
  await printList(call, { columns: LISTED, id: idOf, items, none: 'There is no user.' });
}

/** The fields of a request that give a role; the service refuses two that differ. */
const givenRole = ({
  role,
  operator,
}: {
  readonly role: User['role'] | undefined;
  readonly operator: boolean | undefined;
}) => ({
  ...(role !== undefined && { role }),
  ...(operator !== undefined && { operator }),
});

export interface UpdateUserOptions {
  readonly name?: string;
  readonly role?: User['role'];
  readonly operator?: boolean;
  readonly disable?: true;
  readonly enable?: true;
  readonly keepKey?: readonly string[];
}

/**
 * Changes a user; where it takes something away, once a person has agreed.
 * @param user his id or his login, as in the command below
 * @throws CommandFault with exit code 2 where nothing is to be changed; ConfigError, MusterError
 */
export async function updateUser(call: Invocation, user: string, options: UpdateUserOptions): Promise<void> {
  const { name, role, operator, disable, enable, keepKey = [] } = options;
  const change: ChangeUserRequest = {
    ...(name !== undefined && { name }),
    ...givenRole({ role, operator }),
    ...((disable ?? enable) && { disabled: disable === true }),
  };
  if (Object.keys(change).length === 0) {
    const choices = '--name, --role, --operator, --no-operator, --disable or --enable';
    throw new CommandFault(`Nothing is to be changed: give ${choices}.`, EXIT.usage);
  }
  const client = operatorOf(call);
  const userId = await userNamed(client, user, call);
  if (disable === true) {
    const keys = await endingKeys(client, userId, keepKey, call);
    const what = `Disable the user ${userId} and end all sessions${alsoKeys(keys)}`;
    await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  } else if (operator === false || (role !== undefined && role !== 'operator')) {
    const keys = await endingKeys(client, userId, keepKey, call);
    const what =
      operator === false
        ? `Take the rights of an operator from the user ${userId}, who loses by it those of them that no membership gives${alsoKeys(keys)}`
        : `Give the user ${userId} the role ${role ?? 'none'} in the place of the present one${alsoKeys(keys)}`;
    await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  }
  const kept = keepKey.length > 0 && { keepKeys: [...keepKey] };
  const item = await client.changeUser(userId, { ...change, ...kept }, requestOf(call));
  call.say(`The user ${userId} is changed.`);
  await printOne(call, { columns: COLUMNS, id: idOf, item });
}

export interface DeleteUserOptions {
  readonly keepKey?: readonly string[];
  /** A user who is not there is no failure. */
  readonly ignoreMissing?: boolean;
}

/** Deletes a user, once a person has agreed. @throws CommandFault, ConfigError, MusterError */
export async function deleteUser(
  call: Invocation,
  user: string,
  { keepKey = [], ignoreMissing = false }: DeleteUserOptions = {},
): Promise<void> {
  const client = operatorOf(call);
  const userId = await userNamed(client, user, call).catch((error: unknown) => {
    if (!ignoreMissing || !isMissing(error)) throw error;
  });
  if (userId === undefined) return call.say(`The user ${user} is not there.`);
  const keys = await endingKeys(client, userId, keepKey, call);
  const what = `Delete the user ${userId} with all sessions and memberships${alsoKeys(keys)}`;
  await confirmed({ what, count: 1, yes: call.globals.yes }, call.terminal);
  await client.deleteUser(userId, requestOf(call), keepKey);
  call.say(`The user ${userId} is deleted.`);
}

const alsoKeys = (count: number): string => (count === 0 ? '' : `, and ${count} API ${count === 1 ? 'key' : 'keys'}`);

/** Says which API keys end with their maker, and which go on since nobody knows who made them. @throws MusterError */
async function endingKeys(
  client: OperatorClient,
  userId: string,
  keepKey: readonly string[],
  call: Invocation,
): Promise<number> {
  const { apiKeys, accessTokens, ofNobodyKnown, more } = await client.listUserApiKeys(userId, requestOf(call));
  const ending = apiKeys.filter(({ keyId }) => !keepKey.includes(keyId));
  const spelled = ({ keyId, name, accountId, accountName }: MadeApiKey): string =>
    `  ${keyId} "${printableName(name)}" of the account ${accountId} "${printableName(accountName)}"`;
  const told = (key: MadeApiKey): string =>
    key.createdBy === `user:${userId}` ? spelled(key) : `${spelled(key)}: its former secret alone`;
  if (ending.length > 0) call.say(['These API keys end with the user who made them:', ...ending.map(told)].join('\n'));
  sayTokens(call, accessTokens);
  if (more) call.say('There are more keys than these: `muster users keys` lists as many.');
  if (ofNobodyKnown.length > 0) {
    call.say(['Nobody knows who made these API keys, which go on:', ...ofNobodyKnown.map(spelled)].join('\n'));
  }
  return ending.length;
}

/** Says which access tokens a user has: nobody keeps one, and the commands list keys. */
function sayTokens(call: Invocation, tokens: readonly AccessToken[] = []): void {
  if (tokens.length === 0) return;
  const spelled = tokens.map(
    ({ tokenId, name, accountId, role }) =>
      `  ${tokenId} "${printableName(name)}" of the account ${accountId}: ${role}`,
  );
  call.say(['These access tokens of the user end with the last role on their account:', ...spelled].join('\n'));
}

/** A key with who is known to have made it. */
const KEY_COLUMNS: readonly Column<MadeApiKey>[] = [
  { head: 'KEY', field: 'keyId' },
  { head: 'NAME', field: 'name', kind: 'text' },
  { head: 'ACCOUNT', field: 'accountId' },
  { head: 'ACCOUNT NAME', field: 'accountName', kind: 'text' },
  { head: 'MADE BY', name: 'createdBy', of: ({ createdBy }) => createdBy ?? 'unknown' },
  { head: 'CREATED', field: 'createdAt', kind: 'time' },
  { head: 'LAST USED', field: 'lastUsedAt', kind: 'time' },
];

/**
 * Lists the living API keys that a user made, and those of nobody known. @throws CommandFault, ConfigError, MusterError
 */
export async function listUserKeys(call: Invocation, user: string): Promise<void> {
  const client = operatorOf(call);
  const userId = await userNamed(client, user, call);
  const { apiKeys, accessTokens, ofNobodyKnown } = await client.listUserApiKeys(userId, requestOf(call));
  sayTokens(call, accessTokens);
  const items = [...apiKeys, ...ofNobodyKnown];
  const none = 'The user made no API key that is valid.';
  await printList(call, { columns: KEY_COLUMNS, id: ({ keyId }) => keyId, items, none });
}

/** Makes a link that resets the sign-in of a user. @throws CommandFault, ConfigError, MusterError */
export async function resetUser(call: Invocation, user: string): Promise<void> {
  refuseUnseen(call);
  const client = operatorOf(call);
  const userId = await userNamed(client, user, call);
  const link = await client.resetUser(userId, requestOf(call));
  requireWholeStdout(`The link of the user ${userId} could not be shown: repeat the command, which makes another one.`);
  call.say(
    `Send the user ${userId} the link within the hour: it sets a new password, removes his passkeys and ends his sessions.`,
  );
  await printOne(call, { columns: LINK, id: idOf, item: { userId, ...link } });
}

const USER_ID = /^[a-z0-9]{16}$/;

/**
 * The id of a user by the id, by the login as it is, or as logins are compared at a sign-in.
 * @throws CommandFault with exit code 4 where nobody has it, and 2 where several users of an earlier version have;
 * MusterError
 */
async function userNamed(client: OperatorClient, user: string, call: Invocation): Promise<string> {
  const { users } = await client.listUsers(requestOf(call));
  const byId = USER_ID.test(user) ? users.find(({ userId }) => userId === user) : undefined;
  const exact = byId ?? users.find(({ login }) => login !== '' && login === user);
  if (exact) return exact.userId;
  const compared = comparableLogin(user);
  const [found, ...others] = users.filter(({ login }) => login !== '' && comparableLogin(login) === compared);
  if (!found) throw new CommandFault(`There is no user with the id or the login ${user}.`, EXIT.notFound);
  if (others.length === 0) return found.userId;
  const ids = [found, ...others].map(({ userId }) => userId).join(', ');
  throw new CommandFault(`Several users have a login like ${user}: say which by the id, of ${ids}.`, EXIT.usage);
}
