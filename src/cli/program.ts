import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../time/clock.ts';
import { VERSION } from '../version.ts';
import { backup } from './commands/backup.ts';
import type { SecretsOptions } from './commands/kubernetes/secrets.ts';
import type { TeardownOptions } from './commands/kubernetes/teardown.ts';
import type { RestoreOptions } from './commands/restore.ts';
import type { LimitsOptions } from './commands/limits.ts';
import type { UsageOptions } from './commands/usage.ts';
import { EXIT } from './terminal/exit.ts';

const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}  done
  ${EXIT.failed}  failed
  ${EXIT.usage}  wrong usage or configuration
  ${EXIT.bad}  done, and what was checked is not as it should be (audit verify, doctor)`;

const CONNECTION = `
Asks the running service: its ops listener at MUSTER_OPS_URL (default: where MUSTER_OPS_LISTEN says), with the token of
MUSTER_OPERATOR_TOKEN, MUSTER_OPERATOR_TOKEN_FILE or the embedded store's data directory.`;

/** Every command with its description; the code that a command needs is loaded when it is called. */
export function muster(env: NodeJS.ProcessEnv): Command {
  const program = new Command('muster')
    .description('The control plane of a fleet of daemons. Configured by the environment (docs/CONFIGURATION.md).')
    .version(VERSION)
    .showHelpAfterError('(muster --help tells more)')
    .exitOverride()
    .addHelpText('after', EXIT_CODES);
  addServe(program, env);
  addBackup(program, env);
  addRestore(program, env);
  addInitStore(program, env);
  addUsage(program, env);
  addAudit(program, env);
  addLimits(program, env);
  addKeys(program, env);
  addDoctor(program, env);
  addKubernetes(program, env);
  return program;
}

function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .action(async () => {
      const { configured, run } = await import('../service/run.ts');
      const config = configured(env);
      if (config) await run(config);
    });
}

function addBackup(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('backup')
    .description('write a snapshot of the whole store, while the service runs')
    .argument('<file>', 'a new file, made readable for you alone; - is stdout')
    .option('-f, --force', 'replace the file if it is there', false)
    .addHelpText(
      'after',
      `${CONNECTION}\nSecrets are in it as they are in the store: hashed, or encrypted under the key file, which is not in it.`,
    )
    .action((file: string, options: { force: boolean }) => backup(env, file, options));
}

function addRestore(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('restore')
    .description('write a backup into an empty store, with the service stopped')
    .argument('<file>', 'a file that `muster backup` wrote; it is checked as a whole before anything is written')
    .option('--keep-codes', 'leave enrollment codes open that were open when the backup was made', false)
    .option('--key-file <path>', 'the key file of the time of the backup, where the present one lacks its key')
    .option(
      '--allow-unsigned <sha256>',
      'restore the file with this SHA-256, though no key tells who made it',
      sha256Of,
    )
    .addHelpText(
      'after',
      '\nThe store is the one that MUSTER_STORE names, of either kind, whatever the backup was made of.',
    )
    .action(async (file: string, options: RestoreOptions) => {
      const { restore } = await import('./commands/restore.ts');
      await restore(env, file, options);
    });
}

function addInitStore(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('init-store')
    .description('make an empty store ready for a new installation, and write its id to stdout')
    .addHelpText(
      'after',
      '\nThe id is that of MUSTER_STORE_ID, or a random one. A store that is in use keeps its records, and gets an id ' +
        'where it has none. Never run it on a store that has lost its data: restore that.',
    )
    .action(async () => {
      const { initStore } = await import('./commands/init-store.ts');
      await initStore(env);
    });
}

function sha256Of(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text;
  throw new InvalidArgumentError('It is the SHA-256 of the whole file, as `sha256sum` prints it.');
}

const output = (...formats: readonly string[]): Option =>
  new Option('-o, --output <format>', 'the format of stdout').choices(formats).default('table');

function addUsage(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('usage')
    .description('show the metered usage of a month, by account')
    .option('-m, --month <YYYY-MM>', 'which month; this one (UTC) by default', monthOf, thisMonth())
    .option('-a, --account <id>', 'of this account alone', idOf)
    .addOption(output('table', 'json', 'csv'))
    .addHelpText('after', `${CONNECTION}\nIn JSON amounts are in minor units (cents); csv has one row a night.`)
    .action(async (options: UsageOptions) => {
      const { usage } = await import('./commands/usage.ts');
      await usage(env, options);
    });
}

const thisMonth = (): string => new Date(systemClock.now()).toISOString().slice(0, 7);

function monthOf(text: string): string {
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('It is written YYYY-MM, as in 2026-01.');
}

/** @param text the id of an account, or `operator` */
const auditOf = (text: string): string => (text === 'operator' ? text : idOf(text));

function idOf(text: string): string {
  if (/^[a-z0-9]{16}$/.test(text)) return text;
  throw new InvalidArgumentError('An account id is 16 small letters and digits.');
}

interface AuditOptions {
  readonly account: string;
  readonly output: 'table' | 'json';
}

function addAudit(program: Command, env: NodeJS.ProcessEnv): void {
  const audit = program.command('audit').description('the audit of accounts');
  audit
    .command('list')
    .description('list the entries of an account, oldest first')
    .requiredOption('-a, --account <id>', 'of this account; `operator` is what concerns no single one', auditOf)
    .addOption(output('table', 'json'))
    .addHelpText('after', `${CONNECTION}\njson is one object a line.`)
    .action(async (options: AuditOptions) => {
      const { listAudit } = await import('./commands/audit.ts');
      await listAudit(env, options);
    });
  audit
    .command('verify')
    .description('find entries that were removed, added or changed')
    .option('-a, --account <id>', 'of this account alone; `operator` is what concerns no single one', auditOf)
    .addOption(output('table', 'json'))
    .addHelpText(
      'after',
      `${CONNECTION}\nAnyone who can write the store can rewrite the chain: keep the heads elsewhere, and compare them.${EXIT_CODES}`,
    )
    .action(async (options: AuditOptions) => {
      const { verifyAudit } = await import('./commands/audit.ts');
      await verifyAudit(env, options);
    });
}

function addLimits(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('limits')
    .description('show which accounts are limited, or near it, and by which key and operation')
    .option('-t, --top <number>', 'so many accounts, 1 to 20', '20')
    .addOption(output('table', 'json'))
    .addHelpText('after', `${CONNECTION}\nRequests are those of the last minute, over all replicas.`)
    .action(async (options: LimitsOptions) => {
      const { limits } = await import('./commands/limits.ts');
      await limits(env, options);
    });
}

function addKeys(program: Command, env: NodeJS.ProcessEnv): void {
  const keys = program.command('keys').description('the key-encryption keys of the key file');
  keys
    .command('status')
    .description('show how much each key seals, which replicas know it, and which lines may be removed')
    .addOption(output('table', 'json'))
    .addHelpText('after', CONNECTION)
    .action(async (options: { output: 'table' | 'json' }) => {
      const { keyStatus } = await import('./commands/keys.ts');
      await keyStatus(env, options);
    });
  keys
    .command('rotate')
    .description('make the newest key of the key file the active one, once every replica knows it')
    .addHelpText('after', CONNECTION)
    .action(async () => {
      const { rotateKeys } = await import('./commands/keys.ts');
      await rotateKeys(env);
    });
}

function addDoctor(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('doctor')
    .description('check configuration, store, clock, keys, disk and the running service, and say what to do')
    .option('--running', 'a service that cannot be reached is a fault', false)
    .addHelpText('after', EXIT_CODES)
    .action(async (options: { running: boolean }) => {
      const { doctor } = await import('./commands/doctor/doctor.ts');
      await doctor(env, options);
    });
}

const NAMESPACE = 'default';

function addKubernetes(program: Command, env: NodeJS.ProcessEnv): void {
  const kubernetes = program.command('kubernetes').description('the commands that the Helm chart runs in a cluster');
  const where = '\nThe cluster is that of KUBECONFIG; in a pod its own.';
  kubernetes
    .command('secrets')
    .description('make the Secret with an operator token and a key file, where there is none')
    .requiredOption('--name <name>', 'name of the Secret')
    .option('-n, --namespace <name>', 'its namespace', NAMESPACE)
    .option('--token-key <key>', 'its key for the token', 'operator-token')
    .option('--keys-key <key>', 'its key for the key file', 'keys')
    .option('--store-id-key <key>', 'make the store as well, and put its id under this key')
    .addHelpText('after', `${where} A Secret that is there is neither read nor changed, and the store is left alone.`)
    .action(async (options: SecretsOptions) => {
      const { makeSecrets } = await import('./commands/kubernetes/secrets.ts');
      await makeSecrets(options, env);
    });
  kubernetes
    .command('teardown')
    .description('delete every custom resource, and wait until the operator has cleaned up behind it')
    .option('--timeout-seconds <n>', 'how long to wait', secondsOf, 240)
    .option('--no-resources', 'leave the custom resources alone')
    .option('--secret <name>', 'delete this Secret in the end')
    .option('-n, --namespace <name>', 'namespace of that Secret', NAMESPACE)
    .addHelpText('after', `${where} Run it before an uninstall that removes the definitions, too.`)
    .action(async (options: TeardownOptions) => {
      const { teardown } = await import('./commands/kubernetes/teardown.ts');
      await teardown(options);
    });
}

function secondsOf(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It is a whole number of seconds.');
}
