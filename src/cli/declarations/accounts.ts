import type { Command, Option } from 'commander';
import type { AdoptAccountOptions } from '../commands/accounts/adopt.ts';
import type { CreateAccountOptions, UpdateAccountOptions } from '../commands/accounts/accounts.ts';
import type { CreateApiKeyOptions } from '../commands/accounts/api-keys.ts';
import type { DecideOptions, ListReviewOptions } from '../commands/accounts/review.ts';
import type { CreateUserOptions, DeleteUserOptions, UpdateUserOptions } from '../commands/accounts/users.ts';
import { addGlobals, CONNECTED, reading, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import { IGNORE_MISSING } from './help.ts';
import { IN_NAMESPACE, NAMESPACE_UID, resourceName, YAML } from './manifests.ts';
import { momentIn } from '../terminal/moment.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster accounts …`, `muster api-keys …`, `muster review …` and `muster users …`: what an operator does. */
export function addAccountNouns(program: Command, env: Environment): void {
  addAccounts(program.command('accounts').description('the owners of apps'), env);
  addApiKeys(program.command('api-keys').description('what opens /v1 to an account'), env);
  addReview(program.command('review').description("the detections of an account's daemons"), env);
  addUsers(program.command('users').description('the people who use the panel'), env);
}

const entitlement = (command: Command): Option =>
  command
    .createOption('--entitlement <entitlement>', 'what the account has bought')
    .choices(['standard', 'enterprise']);
/** `LIMITS.accountQuotaMbMax`; help and completion load nothing of the service. */
const QUOTA_MB_MAX = 1_000_000;
const quotaIn = reading((text): number | 'default' | undefined => {
  if (text === 'default') return text;
  return /^\d{1,7}$/.test(text) && Number(text) <= QUOTA_MB_MAX ? Number(text) : undefined;
}, `It is a whole number of MiB from 0 to ${QUOTA_MB_MAX}, or default.`);
const IDEMPOTENCY = ['--idempotency-key <key>', 'the same key creates once within 24 hours'] as const;
const ACCOUNT = ['-a, --account <account>', 'the account, by its id or its name'] as const;

const ONE = [...CONNECTED, 'output', 'quiet'] as const;
const LIST = [...CONNECTED, 'output', 'limit', 'quiet'] as const;

function addAccounts(accounts: Command, env: Environment): void {
  addGlobals(
    accounts
      .command('create')
      .description('create an account')
      .requiredOption('-n, --name <name>', 'the name for people; it need not be unique')
      .addOption(entitlement(accounts).default('standard'))
      .option(...IDEMPOTENCY),
    ONE,
  ).action(async (options: CreateAccountOptions & GlobalOptions) => {
    const { createAccount } = await import('../commands/accounts/accounts.ts');
    await createAccount(invocation(env, options), options);
  });
  addGlobals(accounts.command('list').description('list the accounts'), LIST).action(async (options: GlobalOptions) => {
    const { listAccounts } = await import('../commands/accounts/accounts.ts');
    await listAccounts(invocation(env, options));
  });
  addGlobals(accounts.command('get').description('show an account').argument('<account>'), ONE).action(
    async (account: string, options: GlobalOptions) => {
      const { getAccount } = await import('../commands/accounts/accounts.ts');
      await getAccount(invocation(env, options), account);
    },
  );
  addGlobals(
    accounts
      .command('update')
      .description('change an account')
      .argument('<account>')
      .option('-n, --name <name>', 'the new name')
      .addOption(entitlement(accounts))
      .option(
        '--quota-mb <mib>',
        'what it may store, in MiB: 0 is no quota, and default that of the installation',
        quotaIn,
      )
      .option('--adoptable-by <resource>', 'the FleetAccount, as namespace/name, that may take it over, once')
      .option(...NAMESPACE_UID)
      .option('--no-adoptable-by', 'no FleetAccount may take it over'),
    [...ONE, 'yes'],
  ).action(async (account: string, options: UpdateAccountOptions & GlobalOptions) => {
    const { updateAccount } = await import('../commands/accounts/accounts.ts');
    await updateAccount(invocation(env, options), account, options);
  });
  addGlobals(
    accounts
      .command('adopt')
      .description('let a FleetAccount adopt an account, and print that FleetAccount')
      .argument('<account>')
      .requiredOption(...IN_NAMESPACE)
      .option(...NAMESPACE_UID)
      .option(
        '-n, --name <name>',
        'the name of the FleetAccount; by default one like that of the account',
        resourceName,
      )
      .option(...YAML),
    [...CONNECTED, 'quiet'],
  ).action(async (account: string, options: AdoptAccountOptions & GlobalOptions) => {
    const { adoptAccount } = await import('../commands/accounts/adopt.ts');
    await adoptAccount(invocation(env, options), account, options);
  });
  addGlobals(
    accounts.command('disable').description('refuse all keys and daemons of an account').argument('<account>'),
    [...ONE, 'yes'],
  ).action(async (account: string, options: GlobalOptions) => {
    const { disableAccount } = await import('../commands/accounts/accounts.ts');
    await disableAccount(invocation(env, options), account);
  });
  addGlobals(accounts.command('enable').description('take them again').argument('<account>'), ONE).action(
    async (account: string, options: GlobalOptions) => {
      const { enableAccount } = await import('../commands/accounts/accounts.ts');
      await enableAccount(invocation(env, options), account);
    },
  );
}

function addApiKeys(keys: Command, env: Environment): void {
  addGlobals(
    keys
      .command('create')
      .description('create an API key, which no other command shows')
      .requiredOption(...ACCOUNT)
      .option('-n, --name <name>', 'the name for people')
      .option('--expires <when>', 'when it ends to be valid: 90d, or a date', momentIn)
      .option('--save-key <file>', 'write it to a new file for your eyes alone, in place of stdout')
      .option(...IDEMPOTENCY),
    ONE,
  ).action(async (options: CreateApiKeyOptions & GlobalOptions) => {
    const { createApiKey } = await import('../commands/accounts/api-keys.ts');
    await createApiKey(invocation(env, options), options);
  });
  addGlobals(
    keys
      .command('list')
      .description('list the API keys of an account, without their text')
      .requiredOption(...ACCOUNT),
    LIST,
  ).action(async (options: { account: string } & GlobalOptions) => {
    const { listApiKeys } = await import('../commands/accounts/api-keys.ts');
    await listApiKeys(invocation(env, options), options);
  });
  addGlobals(
    keys
      .command('revoke')
      .description('refuse an API key from now on')
      .argument('<key>')
      .requiredOption(...ACCOUNT),
    [...ONE, 'yes'],
  ).action(async (keyId: string, options: { account: string } & GlobalOptions) => {
    const { revokeApiKey } = await import('../commands/accounts/api-keys.ts');
    await revokeApiKey(invocation(env, options), keyId, options);
  });
}

function addReview(review: Command, env: Environment): void {
  addGlobals(
    review
      .command('list')
      .description('list the review queue of an account')
      .requiredOption(...ACCOUNT)
      .addOption(
        review.createOption('--status <status>', 'of this status alone').choices(['open', 'confirmed', 'dismissed']),
      ),
    LIST,
  ).action(async (options: ListReviewOptions & GlobalOptions) => {
    const { listReview } = await import('../commands/accounts/review.ts');
    await listReview(invocation(env, options), options);
  });
  addGlobals(
    review
      .command('show')
      .description('show an entry with its evidence')
      .argument('<entry>')
      .requiredOption(...ACCOUNT),
    ONE,
  ).action(async (entryId: string, options: { account: string } & GlobalOptions) => {
    const { showReview } = await import('../commands/accounts/review.ts');
    await showReview(invocation(env, options), entryId, options);
  });
  for (const [verb, status] of [
    ['confirm', 'confirmed'],
    ['dismiss', 'dismissed'],
  ] as const) {
    addGlobals(
      review
        .command(verb)
        .description(`decide that an entry is ${status}`)
        .argument('<entry>')
        .requiredOption(...ACCOUNT)
        .option('--note <text>', 'a note, at most 500 characters; an empty one removes the stored one'),
      ONE,
    ).action(async (entryId: string, options: DecideOptions & GlobalOptions) => {
      const { decideReview } = await import('../commands/accounts/review.ts');
      await decideReview(invocation(env, options), entryId, status, options);
    });
  }
}

function addUsers(users: Command, env: Environment): void {
  addGlobals(
    users
      .command('create')
      .description('create a user, and print the link for the first sign-in, which no other command shows')
      .requiredOption('-n, --name <name>', 'the name by which others see the user')
      .requiredOption('-l, --login <login>', 'the name to sign in with, such as an e-mail address')
      .option('--operator', 'make the user an operator'),
    ONE,
  ).action(async (options: CreateUserOptions & GlobalOptions) => {
    const { createUser } = await import('../commands/accounts/users.ts');
    await createUser(invocation(env, options), options);
  });
  addGlobals(users.command('list').description('list the users'), LIST).action(async (options: GlobalOptions) => {
    const { listUsers } = await import('../commands/accounts/users.ts');
    await listUsers(invocation(env, options));
  });
  addGlobals(
    users
      .command('update')
      .description('change a user')
      .argument('<user>', 'the id or the login')
      .option('-n, --name <name>', 'the new name')
      .option('--operator', 'make the user an operator')
      .option('--no-operator', 'take the role of an operator away')
      .addOption(users.createOption('--disable', 'refuse the user, and end all sessions').conflicts('enable'))
      .option('--enable', 'let the user sign in again')
      .option('--keep-key <key...>', 'an API key that the user made, and that goes on'),
    [...ONE, 'yes'],
  ).action(async (user: string, options: UpdateUserOptions & GlobalOptions) => {
    const { updateUser } = await import('../commands/accounts/users.ts');
    await updateUser(invocation(env, options), user, options);
  });
  addGlobals(
    users
      .command('delete')
      .description('delete a user, with all sessions, memberships and API keys')
      .argument('<user>', 'the id or the login')
      .option('--keep-key <key...>', 'an API key that the user made, and that goes on')
      .option(...IGNORE_MISSING),
    [...CONNECTED, 'quiet', 'yes'],
  ).action(async (user: string, options: DeleteUserOptions & GlobalOptions) => {
    const { deleteUser } = await import('../commands/accounts/users.ts');
    await deleteUser(invocation(env, options), user, options);
  });
  addGlobals(
    users
      .command('keys')
      .description('list the API keys that a user made, and those of nobody known')
      .argument('<user>', 'the id or the login'),
    LIST,
  ).action(async (user: string, options: GlobalOptions) => {
    const { listUserKeys } = await import('../commands/accounts/users.ts');
    await listUserKeys(invocation(env, options), user);
  });
  addGlobals(
    users
      .command('reset')
      .description('print a link by which a user sets a new password; it is valid for an hour')
      .argument('<user>', 'the id or the login'),
    ONE,
  ).action(async (user: string, options: GlobalOptions) => {
    const { resetUser } = await import('../commands/accounts/users.ts');
    await resetUser(invocation(env, options), user);
  });
}
