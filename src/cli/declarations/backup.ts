import type { Command } from 'commander';
import { matching, ONE } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf, EXIT_CODES } from './declare.ts';

const KEY_FILE = [
  '--key-file <path>',
  'the key file of the time of the backup, where the present one lacks its key',
] as const;

const sha256Of = matching(/^[0-9a-f]{64}$/i, 'It is the SHA-256 of the whole file, as `sha256sum` prints it.');
const UNSIGNED = '--allow-unsigned <sha256>';

/** `muster backup …`, `muster restore` and `muster init-store`: the store as a whole. */
export function addStoreCommands(program: Command, env: Environment): void {
  addBackup(program.command('backup').description('snapshots of the whole store'), env);
  commandsOf(program, env)(
    'restore',
    'write a backup into an empty store, with the service stopped',
    ['output', 'quiet'],
    () => import('../commands/backup/restore.ts').then(({ restore }) => restore),
  )
    .argument('<file>', 'a file that `muster backup create` wrote; it is checked as a whole before anything is written')
    .option('--keep-codes', 'leave enrollment codes open that were open when the backup was made', false)
    .option(...KEY_FILE)
    .option(UNSIGNED, 'restore the file with this SHA-256, though no key tells who made it', sha256Of)
    .option('--dry-run', 'check everything, say what would be done, and write nothing', false)
    .addHelpText(
      'after',
      '\nThe store is the one that MUSTER_STORE names, of either kind, whatever the backup was made of.',
    );
  commandsOf(program, env)(
    'init-store',
    'make an empty store ready for a new installation, and write its id to stdout',
    [],
    () => import('../commands/init-store.ts').then(({ initStore }) => initStore),
  ).addHelpText(
    'after',
    '\nThe id is that of MUSTER_STORE_ID, or a random one. A store that is in use keeps its records, and gets an id ' +
      'where it has none. Never run it on a store that has lost its data: restore that.',
  );
}

function addBackup(backup: Command, env: Environment): void {
  commandsOf(backup, env)('create', 'write a snapshot of the whole store, while the service runs', ONE, () =>
    import('../commands/backup/create.ts').then(({ createBackup }) => createBackup),
  )
    .argument('<file>', 'a new file, made readable for you alone; - is stdout')
    .option('-f, --force', 'replace the file if it is there', false)
    .addHelpText(
      'after',
      '\nSecrets are in it as they are in the store: hashed, or encrypted under the key file, which is not in it.',
    );
  commandsOf(backup, env)('verify', 'check a backup as a restore does, without a store', ['output', 'quiet'], () =>
    import('../commands/backup/verify.ts').then(({ verifyBackup }) => verifyBackup),
  )
    .argument('<file>', 'a file that `muster backup create` wrote')
    .option(...KEY_FILE)
    .option(UNSIGNED, 'take the file with this SHA-256, though no key tells who made it', sha256Of)
    .addHelpText(
      'after',
      `\nThe key file is that of MUSTER_KEY_FILE, or the one in the data directory.\n${EXIT_CODES}`,
    );
}
