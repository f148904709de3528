import type { Command } from 'commander';
import { choice, CONNECTED, durationIn, LIST, ONE, wholeNumber } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf, IGNORE_MISSING } from './declare.ts';
import { IN_NAMESPACE, NAMESPACE_UID, resourceName, YAML } from './manifests.ts';

const APPS_MAX = 1000;

/** `muster apps …`; the code that a command needs is loaded when it is called. */
export function addApps(program: Command, env: Environment): void {
  const apps = program.command('apps').description('the apps of an account, one a daemon');
  addCreate(apps, env);
  addCode(apps, env);
  addReads(apps, env);
  const change = commandsOf(apps, env);
  const code = async () => {
    const { revokeApps, deleteApps } = await import('../commands/apps/change.ts');
    return { revokeApps, deleteApps };
  };
  const cutting = 'cut daemons off at once, and void their open codes';
  change('revoke <id...>', cutting, [...ONE, 'yes'], async () => (await code()).revokeApps);
  const removing = 'remove apps and all that belongs to them';
  change('delete <id...>', removing, [...ONE, 'yes'], async () => (await code()).deleteApps).option(...IGNORE_MISSING);
  addAdopt(apps, env);
}

function addCreate(apps: Command, env: Environment): void {
  commandsOf(apps, env)('create', 'create an app with its enrollment code, or many', ONE, () =>
    import('../commands/apps/create.ts').then(({ createApps }) => createApps),
  )
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
    );
  commandsOf(apps, env)(
    'apply',
    'create the apps of a file that are missing, by name, and tell which are too many; none is deleted',
    ONE,
    () => import('../commands/apps/apply.ts').then(({ applyApps }) => applyApps),
  )
    .requiredOption('--from <file>', 'a CSV with a column `name`, or one name a line, each once; - is stdin')
    .option('--save-codes <file>', 'a new file for the codes of those that are created, made readable for you alone')
    .option('--dry-run', 'list what is missing and what is too much, and create nothing', false);
}

function addCode(apps: Command, env: Environment): void {
  const code = commandsOf(apps, env)(
    'code [id...]',
    'issue further enrollment codes, which no other command shows, for one app or many',
    ONE,
    () => import('../commands/apps/code.ts').then(({ issueCodes }) => issueCodes),
  );
  addSelection(code)
    .option('--save-code <file>', 'a new file for the code of one app, made readable for you alone')
    .option('--save-codes <file>', 'a new file for the codes of many, which is a CSV')
    .option('--resume <file>', 'go on with the codes of many that were interrupted')
    .option('--idempotency-key <key>', 'of one app: the same key issues one code within 24 hours');
}

/** The options by which apps are chosen, other than by their ids. */
const addSelection = (command: Command): Command =>
  command
    .addOption(choice('--status <status>', 'of this status alone', ['pending', 'active', 'revoked']))
    .option('--name <glob>', 'whose name fits: * is any text, ? is one character')
    .option('--stale <duration>', 'active, and not seen for so long, as in 90s, 5m, 1h or 30d', durationIn());

function addAdopt(apps: Command, env: Environment): void {
  commandsOf(apps, env)(
    'adopt [id...]',
    'let FleetApps adopt apps with their daemons, and print those FleetApps',
    [...CONNECTED, 'quiet'],
    () => import('../commands/apps/adopt.ts').then(({ adoptApps }) => adoptApps),
  )
    .requiredOption('-a, --account <account>', 'the account, by its id or its name')
    .requiredOption(...IN_NAMESPACE)
    .option(...NAMESPACE_UID)
    .option('--all', 'every app of the account that no FleetApp stands for')
    .option('--fleet-account <name>', 'the FleetAccount; by default the one that manages the account', resourceName)
    .option(...YAML);
}

function addReads(apps: Command, env: Environment): void {
  const add = commandsOf(apps, env);
  const code = async () => {
    const { listApps, getApp } = await import('../commands/apps/list.ts');
    return { listApps, getApp };
  };
  addSelection(add('list', 'list the apps, oldest first', LIST, async () => (await code()).listApps));
  add('get <id>', 'show an app', [...CONNECTED, 'output'], async () => (await code()).getApp);
  commandsOf(apps, env)('watch', 'show what is added, changed and removed, until you stop it', LIST, () =>
    import('../commands/apps/watch.ts').then(({ watchApps }) => watchApps),
  ).option('--every <duration>', 'how often to look, 10s by default, and 2s at the least', durationIn('2s'));
}
