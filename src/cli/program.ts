import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../clock.ts';
import { VERSION } from '../version.ts';
import { backup } from './backup.ts';
import { EXIT } from './outcome.ts';
import type { UsageOptions } from './usage.ts';

const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}  done
  ${EXIT.failed}  failed
  ${EXIT.usage}  wrong usage or configuration
  ${EXIT.bad}  done, and what was checked is not as it should be (audit verify, doctor)`;

const CONNECTION = `
Asks the running service: its ops listener at MUSTER_OPS_URL (default: where MUSTER_OPS_LISTEN says), with the token of
MUSTER_OPERATOR_TOKEN, MUSTER_OPERATOR_TOKEN_FILE or the embedded store's data directory.`;

/** Every command with its words; what each needs is loaded when it is called. */
export function muster(env: NodeJS.ProcessEnv): Command {
  const program = new Command('muster')
    .description('The control plane of a fleet of daemons. Configured by the environment (README.md).')
    .version(VERSION)
    .showHelpAfterError('(muster --help tells more)')
    .exitOverride()
    .addHelpText('after', EXIT_CODES);
  addServe(program, env);
  addBackup(program, env);
  addRestore(program, env);
  addUsage(program, env);
  addAudit(program, env);
  addKeys(program, env);
  addDoctor(program, env);
  return program;
}

function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('serve')
    .description('run the service until SIGTERM or SIGINT')
    .action(async () => {
      const { configured, run } = await import('../run.ts');
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
    .argument('<file>', 'what `muster backup` wrote; it is checked as a whole before anything is written')
    .option('--keep-codes', 'leave enrollment codes open that were open when the backup was made', false)
    .addHelpText(
      'after',
      '\nThe store is the one that MUSTER_STORE names, of either kind, whatever the backup was made of.',
    )
    .action(async (file: string, options: { keepCodes: boolean }) => {
      const { restore } = await import('./restore.ts');
      await restore(env, file, options);
    });
}

const output = (...formats: readonly string[]): Option =>
  new Option('-o, --output <format>', 'how stdout is written').choices(formats).default('table');

function addUsage(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('usage')
    .description('what was metered in a month, by account')
    .option('-m, --month <YYYY-MM>', 'which month; this one (UTC) by default', monthOf, thisMonth())
    .option('-a, --account <id>', 'of this account alone', idOf)
    .addOption(output('table', 'json', 'csv'))
    .addHelpText('after', `${CONNECTION}\nIn JSON amounts are in minor units (cents); csv has one row a night.`)
    .action(async (options: UsageOptions) => {
      const { usage } = await import('./usage.ts');
      await usage(env, options);
    });
}

const thisMonth = (): string => new Date(systemClock.now()).toISOString().slice(0, 7);

function monthOf(text: string): string {
  if (/^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)) return text;
  throw new InvalidArgumentError('It is written YYYY-MM, as in 2026-01.');
}

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
    .description('who did what, oldest first')
    .requiredOption('-a, --account <id>', 'of this account', idOf)
    .addOption(output('table', 'json'))
    .addHelpText('after', `${CONNECTION}\njson is one object a line.`)
    .action(async (options: AuditOptions) => {
      const { listAudit } = await import('./audit.ts');
      await listAudit(env, options);
    });
  audit
    .command('verify')
    .description('find entries that were removed, added or changed')
    .option('-a, --account <id>', 'of this account alone', idOf)
    .addOption(output('table', 'json'))
    .addHelpText(
      'after',
      `${CONNECTION}\nWho can write the store can write the chain anew: keep the heads elsewhere, and compare.${EXIT_CODES}`,
    )
    .action(async (options: AuditOptions) => {
      const { verifyAudit } = await import('./audit.ts');
      await verifyAudit(env, options);
    });
}

function addKeys(program: Command, env: NodeJS.ProcessEnv): void {
  const keys = program.command('keys').description('the key-encryption keys of the key file');
  keys
    .command('status')
    .description('what each key seals, who knows it, and which lines may be removed')
    .addOption(output('table', 'json'))
    .addHelpText('after', CONNECTION)
    .action(async (options: { output: 'table' | 'json' }) => {
      const { keyStatus } = await import('./keys.ts');
      await keyStatus(env, options);
    });
  keys
    .command('rotate')
    .description('let the newest key of the key file write, once every replica knows it')
    .addHelpText('after', CONNECTION)
    .action(async () => {
      const { rotateKeys } = await import('./keys.ts');
      await rotateKeys(env);
    });
}

function addDoctor(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('doctor')
    .description('look at configuration, store, clock, keys, disk and the running service: what is wrong, what to do')
    .addHelpText('after', EXIT_CODES)
    .action(async () => {
      const { doctor } = await import('./doctor.ts');
      await doctor(env);
    });
}
