import type { Command } from 'commander';
import { choice, wholeNumber } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

const DATA_DIR = 'where its data is; MUSTER_DATA_DIR, or ./.muster, by default';
const AGENTS_MAX = 500;

/** `muster dev` and `muster env`; the code that a command needs is loaded when it is called. */
export function addDev(program: Command, env: Environment): void {
  commandsOf(program, env)(
    'dev',
    'run the service with an account to begin with, and print the next commands to type',
    ['quiet', 'yes'],
    () => import('../commands/dev/dev.ts').then(({ dev }) => dev),
  )
    .option('--agents <number>', 'so many simulated daemons in the same process', wholeNumber('daemons', AGENTS_MAX))
    .option('--data-dir <folder>', DATA_DIR)
    .addHelpText(
      'after',
      '\nIt is configured as `muster serve` is; where nothing is set, it has an embedded store. Another one needs --yes.',
    );
  commandsOf(program, env)(
    'env',
    'print what a shell evaluates so that every command finds the service that its variables configure',
    [],
    () => import('../commands/dev/env.ts').then(({ env: run }) => run),
  )
    .addOption(choice('--shell <name>', 'the shell that evaluates it', ['sh', 'fish']).default('sh'))
    .option('--data-dir <folder>', DATA_DIR)
    .addHelpText('after', '\neval "$(muster env)" is how it is used. It prints names of files, and no secret.');
}
