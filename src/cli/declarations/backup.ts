import type { Command } from 'commander';
import type { RestoreOptions } from '../commands/backup/restore.ts';
import type { TrustOptions } from '../commands/backup/trust.ts';
import { addGlobals, CONNECTED, matching, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';
import { EXIT_CODES } from './help.ts';

/** `muster backup …`, `muster restore` and `muster init-store`: the store as a whole. */
export function addStoreCommands(program: Command, env: Environment): void {
  addBackup(program.command('backup').description('snapshots of the whole store'), env);
  addRestore(program, env);
  addInitStore(program, env);
}

const KEY_FILE = [
  '--key-file <path>',
  'the key file of the time of the backup, where the present one lacks its key',
] as const;

const sha256Of = matching(/^[0-9a-f]{64}$/i, 'It is the SHA-256 of the whole file, as `sha256sum` prints it.');

function addBackup(backup: Command, env: Environment): void {
  addGlobals(
    backup
      .command('create')
      .description('write a snapshot of the whole store, while the service runs')
      .argument('<file>', 'a new file, made readable for you alone; - is stdout')
      .option('-f, --force', 'replace the file if it is there', false)
      .addHelpText(
        'after',
        '\nSecrets are in it as they are in the store: hashed, or encrypted under the key file, which is not in it.',
      ),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (file: string, options: GlobalOptions & { force: boolean }) => {
    const { createBackup } = await import('../commands/backup/create.ts');
    await createBackup(invocation(env, options), file, options);
  });
  addGlobals(
    backup
      .command('verify')
      .description('check a backup as a restore does, without a store')
      .argument('<file>', 'a file that `muster backup create` wrote')
      .option(...KEY_FILE)
      .option('--allow-unsigned <sha256>', 'take the file with this SHA-256, though no key tells who made it', sha256Of)
      .addHelpText(
        'after',
        `\nThe key file is that of MUSTER_KEY_FILE, or the one in the data directory.\n${EXIT_CODES}`,
      ),
    ['output', 'quiet'],
  ).action(async (file: string, options: TrustOptions & GlobalOptions) => {
    const { verifyBackup } = await import('../commands/backup/verify.ts');
    await verifyBackup(invocation(env, options), file, options);
  });
}

function addRestore(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('restore')
      .description('write a backup into an empty store, with the service stopped')
      .argument(
        '<file>',
        'a file that `muster backup create` wrote; it is checked as a whole before anything is written',
      )
      .option('--keep-codes', 'leave enrollment codes open that were open when the backup was made', false)
      .option(...KEY_FILE)
      .option(
        '--allow-unsigned <sha256>',
        'restore the file with this SHA-256, though no key tells who made it',
        sha256Of,
      )
      .option('--dry-run', 'check everything, say what would be done, and write nothing', false)
      .addHelpText(
        'after',
        '\nThe store is the one that MUSTER_STORE names, of either kind, whatever the backup was made of.',
      ),
    ['output', 'quiet'],
  ).action(async (file: string, options: RestoreOptions & GlobalOptions) => {
    const { restore } = await import('../commands/backup/restore.ts');
    await restore(invocation(env, options), file, options);
  });
}

function addInitStore(program: Command, env: Environment): void {
  program
    .command('init-store')
    .description('make an empty store ready for a new installation, and write its id to stdout')
    .addHelpText(
      'after',
      '\nThe id is that of MUSTER_STORE_ID, or a random one. A store that is in use keeps its records, and gets an id ' +
        'where it has none. Never run it on a store that has lost its data: restore that.',
    )
    .action(async (options: GlobalOptions) => {
      const { initStore } = await import('../commands/init-store.ts');
      await initStore(invocation(env, options));
    });
}
