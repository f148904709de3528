import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { backup } from './backup.ts';
import { EXIT } from './outcome.ts';

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
