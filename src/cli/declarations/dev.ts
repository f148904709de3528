import type { Command } from 'commander';
import type { DevOptions } from '../commands/dev/dev.ts';
import type { EnvOptions } from '../commands/dev/env.ts';
import { addGlobals, wholeNumber, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

const DATA_DIR = 'where its data is; MUSTER_DATA_DIR, or ./.muster, by default';
const AGENTS_MAX = 500;

/** `muster dev` and `muster env`; the code that a command needs is loaded when it is called. */
export function addDev(program: Command, env: Environment): void {
  const dev = program
    .command('dev')
    .description('run the service with an account to begin with, and print the next commands to type')
    .option('--agents <number>', 'so many simulated daemons in the same process', wholeNumber('daemons', AGENTS_MAX))
    .option('--data-dir <folder>', DATA_DIR)
    .addHelpText(
      'after',
      '\nIt is configured as `muster serve` is; where nothing is set, it has an embedded store. Another one needs --yes.',
    );
  addGlobals(dev, ['quiet', 'yes']).action(async (options: DevOptions & GlobalOptions) => {
    const { dev } = await import('../commands/dev/dev.ts');
    await dev(invocation(env, options), options);
  });
  const environment = program.command('env');
  environment
    .description('print what a shell evaluates so that every command finds the service that its variables configure')
    .addOption(
      environment.createOption('--shell <name>', 'the shell that evaluates it').choices(['sh', 'fish']).default('sh'),
    )
    .option('--data-dir <folder>', DATA_DIR)
    .addHelpText('after', '\neval "$(muster env)" is how it is used. It prints names of files, and no secret.')
    .action(async (options: EnvOptions) => {
      const command = await import('../commands/dev/env.ts');
      await command.env(invocation(env, {}), options);
    });
}
