import type { Command, Option } from 'commander';
import { KEY_ACCESSES } from '../../domain/records/key-access.ts';
import { choice, CONNECTED, durationIn, LIST, ONE, reading } from '../terminal/globals.ts';
import { momentIn } from '../terminal/moment.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf, IGNORE_MISSING } from './declare.ts';
import { IN_NAMESPACE, NAMESPACE_UID, resourceName, YAML } from './manifests.ts';

/** `muster accounts …`, `muster api-keys …`, `muster review …` and `muster users …`: what an operator does. */
export function addAccountNouns(program: Command, env: Environment): void {
  addAccounts(program.command('accounts').description('the owners of apps'), env);
  addApiKeys(program.command('api-keys').description('what opens /v1 to an account'), env);
  addReview(program.command('review').description("the detections of an account's daemons"), env);
  addUsers(program.command('users').description('the people who use the panel'), env);
}

const entitlement = (): Option =>
  choice('--entitlement <entitlement>', 'what the account has bought', ['standard', 'enterprise']);
/** A person has one of them. */
const INSTALLATION_ROLES = ['operator', 'support', 'auditor', 'none'];
/** `LIMITS.accountQuotaMbMax`; help and completion load nothing of the service. */
const QUOTA_MB_MAX = 1_000_000;
const quotaIn = reading((text): number | 'default' | undefined => {
  if (text === 'default') return text;
  return /^\d{1,7}$/.test(text) && Number(text) <= QUOTA_MB_MAX ? Number(text) : undefined;
}, `It is a whole number of MiB from 0 to ${QUOTA_MB_MAX}, or default.`);
const QUOTA = 'what it may store, in MiB: 0 is no quota, and default that of the installation';
const IDEMPOTENCY = ['--idempotency-key <key>', 'the same key creates once within 24 hours'] as const;
const SAVE_KEY = ['--save-key <file>', 'write it to a new file for your eyes alone, in place of stdout'] as const;
const ACCOUNT = ['-a, --account <account>', 'the account, by its id or its name'] as const;

function addAccounts(accounts: Command, env: Environment): void {
  const add = commandsOf(accounts, env);
  const code = async () => {
    const { createAccount, listAccounts, getAccount, updateAccount, disableAccount, enableAccount } =
      await import('../commands/accounts/accounts.ts');
    return { createAccount, listAccounts, getAccount, updateAccount, disableAccount, enableAccount };
  };
  add('create', 'create an account', ONE, async () => (await code()).createAccount)
    .requiredOption('-n, --name <name>', 'the name for people; it need not be unique')
    .addOption(entitlement().default('standard'))
    .option(...IDEMPOTENCY);
  add('list', 'list the accounts', LIST, async () => (await code()).listAccounts);
  add('get <account>', 'show an account', ONE, async () => (await code()).getAccount);
  add('update <account>', 'change an account', [...ONE, 'yes'], async () => (await code()).updateAccount)
    .option('-n, --name <name>', 'the new name')
    .addOption(entitlement())
    .option('--quota-mb <mib>', QUOTA, quotaIn)
    .option('--adoptable-by <resource>', 'the FleetAccount, as namespace/name, that may take it over, once')
    .option(...NAMESPACE_UID)
    .option('--no-adoptable-by', 'no FleetAccount may take it over');
  commandsOf(accounts, env)(
    'adopt <account>',
    'let a FleetAccount adopt an account, and print that FleetAccount',
    [...CONNECTED, 'quiet'],
    () => import('../commands/accounts/adopt.ts').then(({ adoptAccount }) => adoptAccount),
  )
    .requiredOption(...IN_NAMESPACE)
    .option(...NAMESPACE_UID)
    .option('-n, --name <name>', 'the name of the FleetAccount; by default one like that of the account', resourceName)
    .option(...YAML);
  const refusing = 'refuse all keys and daemons of an account';
  add('disable <account>', refusing, [...ONE, 'yes'], async () => (await code()).disableAccount);
  add('enable <account>', 'take them again', ONE, async () => (await code()).enableAccount);
}

const keyAccess = () => choice('--access <access>', 'what it may do', KEY_ACCESSES);
const CIDR = ['--cidr <range...>', 'the addresses from which it may be used, as in 192.0.2.0/24'] as const;

function addApiKeys(keys: Command, env: Environment): void {
  const add = commandsOf(keys, env);
  const code = async () => {
    const { createApiKey, listApiKeys, rotateApiKey, endOverlap, updateApiKey, revokeApiKey } =
      await import('../commands/accounts/api-keys.ts');
    return { createApiKey, listApiKeys, rotateApiKey, endOverlap, updateApiKey, revokeApiKey };
  };
  add('create', 'create an API key, which no other command shows', ONE, async () => (await code()).createApiKey)
    .requiredOption(...ACCOUNT)
    .option('-n, --name <name>', 'the name for people')
    .option('--expires <when>', 'when it ends to be valid: 90d, or a date', momentIn)
    .addOption(keyAccess())
    .option(...CIDR)
    .option(...SAVE_KEY)
    .option(...IDEMPOTENCY);
  const listing = 'list the API keys of an account, without their text';
  add('list', listing, LIST, async () => (await code()).listApiKeys).requiredOption(...ACCOUNT);
  const rotating = 'give an API key another secret, which no other command shows';
  add('rotate <key>', rotating, ONE, async () => (await code()).rotateApiKey)
    .requiredOption(...ACCOUNT)
    .option('--grace <duration>', 'how long the secret before it works on: a day without this', durationIn('0s', '7d'))
    .option(...SAVE_KEY)
    .option(...IDEMPOTENCY);
  const ending = 'refuse the secret before the last rotation from now on';
  add('end-overlap <key>', ending, [...ONE, 'yes'], async () => (await code()).endOverlap).requiredOption(...ACCOUNT);
  add('update <key>', 'let an API key end earlier, or do less', ONE, async () => (await code()).updateApiKey)
    .requiredOption(...ACCOUNT)
    .option('--expires <when>', 'when it ends to be valid: 90d, or a date', momentIn)
    .addOption(keyAccess())
    .option(...CIDR);
  const refusing = 'refuse an API key from now on';
  add('revoke <key>', refusing, [...ONE, 'yes'], async () => (await code()).revokeApiKey).requiredOption(...ACCOUNT);
}

function addReview(review: Command, env: Environment): void {
  const add = commandsOf(review, env);
  const code = async () => {
    const { listReview, showReview, confirmReview, dismissReview } = await import('../commands/accounts/review.ts');
    return { listReview, showReview, confirmReview, dismissReview };
  };
  add('list', 'list the review queue of an account', LIST, async () => (await code()).listReview)
    .requiredOption(...ACCOUNT)
    .addOption(choice('--status <status>', 'of this status alone', ['open', 'confirmed', 'dismissed']));
  add('show <entry>', 'show an entry with its evidence', ONE, async () => (await code()).showReview).requiredOption(
    ...ACCOUNT,
  );
  const note = 'a note, at most 500 characters; an empty one removes the stored one';
  add('confirm <entry>', 'decide that an entry is confirmed', ONE, async () => (await code()).confirmReview)
    .requiredOption(...ACCOUNT)
    .option('--note <text>', note);
  add('dismiss <entry>', 'decide that an entry is dismissed', ONE, async () => (await code()).dismissReview)
    .requiredOption(...ACCOUNT)
    .option('--note <text>', note);
}

function addUsers(users: Command, env: Environment): void {
  const add = commandsOf(users, env);
  const code = async () => {
    const { createUser, listUsers, updateUser, deleteUser, listUserKeys, resetUser } =
      await import('../commands/accounts/users.ts');
    return { createUser, listUsers, updateUser, deleteUser, listUserKeys, resetUser };
  };
  const user = ['<user>', 'the id or the login'] as const;
  const keepKey = ['--keep-key <key...>', 'an API key that the user made, and that goes on'] as const;
  const operator = ['--operator', 'make the user an operator, as --role operator does'] as const;
  const role = () => choice('--role <role>', 'the role on the installation', INSTALLATION_ROLES);
  const creating = 'create a user, and print the link for the first sign-in, which no other command shows';
  add('create', creating, ONE, async () => (await code()).createUser)
    .requiredOption('-n, --name <name>', 'the name by which others see the user')
    .requiredOption('-l, --login <login>', 'the name to sign in with, such as an e-mail address')
    .addOption(role())
    .option(...operator);
  add('list', 'list the users', LIST, async () => (await code()).listUsers);
  const update = add('update', 'change a user', [...ONE, 'yes'], async () => (await code()).updateUser).argument(
    ...user,
  );
  update
    .option('-n, --name <name>', 'the new name')
    .addOption(role())
    .option(...operator)
    .option('--no-operator', 'take the role of an operator away')
    .addOption(update.createOption('--disable', 'refuse the user, and end all sessions').conflicts('enable'))
    .option('--enable', 'let the user sign in again')
    .option(...keepKey);
  const deleting = 'delete a user, with all sessions, memberships and API keys';
  add('delete', deleting, [...CONNECTED, 'quiet', 'yes'], async () => (await code()).deleteUser)
    .argument(...user)
    .option(...keepKey)
    .option(...IGNORE_MISSING);
  const making = 'list the API keys that a user made, and those of nobody known';
  add('keys', making, LIST, async () => (await code()).listUserKeys).argument(...user);
  const resetting = 'print a link by which a user sets a new password; it is valid for an hour';
  add('reset', resetting, ONE, async () => (await code()).resetUser).argument(...user);
}
