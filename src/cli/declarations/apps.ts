import type { Command } from 'commander';
import type { DeleteOptions } from '../commands/apps/change.ts';
import type { AdoptAppsOptions } from '../commands/apps/adopt.ts';
import type { ApplyOptions } from '../commands/apps/apply.ts';
import type { CodeOptions } from '../commands/apps/code.ts';
import type { CreateOptions } from '../commands/apps/create.ts';
import type { Selection } from '../commands/apps/list.ts';
import type { WatchOptions } from '../commands/apps/watch.ts';
import { addGlobals, CONNECTED, durationIn, wholeNumber, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';
import { IGNORE_MISSING } from './help.ts';
import { IN_NAMESPACE, NAMESPACE_UID, resourceName, YAML } from './manifests.ts';

/** `muster apps …`; the code that a command needs is loaded when it is called. */
export function addApps(program: Command, env: Environment): void {
  const apps = program.command('apps').description('the apps of an account, one a daemon');
  addCreate(apps, env);
  addApply(apps, env);
  addCode(apps, env);
  addReads(apps, env);
  addChanges(apps, env);
  addAdopt(apps, env);
}

const APPS_MAX = 1000;

function addCreate(apps: Command, env: Environment): void {
  addGlobals(
    apps
      .command('create')
      .description('create an app with its enrollment code, or many')
      .option('-n, --name <name>', 'the name of one app')
      .option('--count <number>', 'create so many, by --prefix', wholeNumber('apps', APPS_MAX))
      .option('--prefix <text>', 'what their names begin with, before a number')
      .option('--from <file>', 'create those of a CSV with a column `name`, or of one name a line; - is stdin')
      .option('--save-codes <file>', 'a new file for the codes, made readable for you alone')
      .option('--resume <file>', 'go on with a create of many that was interrupted')
      .option('--idempotency-key <key>', 'of one app: the same key creates one within 24 hours')
      .addHelpText(
        'after',
        '\nNo other command shows a code. A create of many keeps a resume file beside that of the codes, until all is done.',
      ),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: CreateOptions & GlobalOptions) => {
    const { createApps } = await import('../commands/apps/create.ts');
    await createApps(invocation(env, options), options);
  });
}

function addApply(apps: Command, env: Environment): void {
  addGlobals(
    apps
      .command('apply')
      .description('create the apps of a file that are missing, by name, and tell which are too many; none is deleted')
      .requiredOption('--from <file>', 'a CSV with a column `name`, or one name a line, each once; - is stdin')
      .option('--save-codes <file>', 'a new file for the codes of those that are created, made readable for you alone')
      .option('--dry-run', 'list what is missing and what is too much, and create nothing', false),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: ApplyOptions & GlobalOptions) => {
    const { applyApps } = await import('../commands/apps/apply.ts');
    await applyApps(invocation(env, options), options);
  });
}

function addCode(apps: Command, env: Environment): void {
  const code = apps
    .command('code')
    .description('issue further enrollment codes, which no other command shows, for one app or many')
    .argument('[id...]');
  addGlobals(
    addSelection(code)
      .option('--save-code <file>', 'a new file for the code of one app, made readable for you alone')
      .option('--save-codes <file>', 'a new file for the codes of many, which is a CSV')
      .option('--resume <file>', 'go on with the codes of many that were interrupted')
      .option('--idempotency-key <key>', 'of one app: the same key issues one code within 24 hours'),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (ids: readonly string[], options: CodeOptions & GlobalOptions) => {
    const { issueCodes } = await import('../commands/apps/code.ts');
    await issueCodes(invocation(env, options), ids, options);
  });
}

/** The options by which apps are chosen, other than by their ids. */
const addSelection = (command: Command): Command =>
  command
    .addOption(
      command.createOption('--status <status>', 'of this status alone').choices(['pending', 'active', 'revoked']),
    )
    .option('--name <glob>', 'whose name fits: * is any text, ? is one character')
    .option('--stale <duration>', 'active, and not seen for so long, as in 90s, 5m, 1h or 30d', durationIn());

function addAdopt(apps: Command, env: Environment): void {
  addGlobals(
    apps
      .command('adopt')
      .description('let FleetApps adopt apps with their daemons, and print those FleetApps')
      .argument('[id...]')
      .requiredOption('-a, --account <account>', 'the account, by its id or its name')
      .requiredOption(...IN_NAMESPACE)
      .option(...NAMESPACE_UID)
      .option('--all', 'every app of the account that no FleetApp stands for')
      .option('--fleet-account <name>', 'the FleetAccount; by default the one that manages the account', resourceName)
      .option(...YAML),
    [...CONNECTED, 'quiet'],
  ).action(async (ids: readonly string[], options: AdoptAppsOptions & GlobalOptions) => {
    const { adoptApps } = await import('../commands/apps/adopt.ts');
    await adoptApps(invocation(env, options), ids, options);
  });
}

function addReads(apps: Command, env: Environment): void {
  const list = apps.command('list').description('list the apps, oldest first');
  addGlobals(addSelection(list), [...CONNECTED, 'output', 'limit', 'quiet']).action(
    async (options: Selection & GlobalOptions) => {
      const { listApps } = await import('../commands/apps/list.ts');
      await listApps(invocation(env, options), options);
    },
  );
  addGlobals(apps.command('get').description('show an app').argument('<id>'), [...CONNECTED, 'output']).action(
    async (id: string, options: GlobalOptions) => {
      const { getApp } = await import('../commands/apps/list.ts');
      await getApp(invocation(env, options), id);
    },
  );
  addGlobals(
    apps
      .command('watch')
      .description('show what is added, changed and removed, until you stop it')
      .option('--every <duration>', 'how often to look, 10s by default, and 2s at the least', durationIn('2s')),
    [...CONNECTED, 'output', 'limit', 'quiet'],
  ).action(async (options: WatchOptions & GlobalOptions) => {
    const { watchApps } = await import('../commands/apps/watch.ts');
    await watchApps(invocation(env, options), options);
  });
}

function addChanges(apps: Command, env: Environment): void {
  addGlobals(
    apps.command('revoke').description('cut daemons off at once, and void their open codes').argument('<id...>'),
    [...CONNECTED, 'output', 'quiet', 'yes'],
  ).action(async (ids: readonly string[], options: GlobalOptions) => {
    const { revokeApps } = await import('../commands/apps/change.ts');
    await revokeApps(invocation(env, options), ids);
  });
  addGlobals(
    apps
      .command('delete')
      .description('remove apps and all that belongs to them')
      .argument('<id...>')
      .option(...IGNORE_MISSING),
    [...CONNECTED, 'output', 'quiet', 'yes'],
  ).action(async (ids: readonly string[], options: DeleteOptions & GlobalOptions) => {
    const { deleteApps } = await import('../commands/apps/change.ts');
    await deleteApps(invocation(env, options), ids, { ignoreMissing: options.ignoreMissing === true });
  });
}
