import type { Command } from 'commander';
import { CONNECTED } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf, EXIT_CODES } from './declare.ts';

/** `muster doctor`, `muster config …` and `muster version`: what this installation is, and whether it is well. */
export function addDoctor(program: Command, env: Environment): void {
  commandsOf(program, env)(
    'doctor',
    'check configuration, store, clock, keys, disk and the running service, and say what to do',
    ['url', 'context', 'output'],
    () => import('../commands/doctor/doctor.ts').then(({ doctor }) => doctor),
  )
    .option('--running', 'a service that cannot be reached is a fault', false)
    .option('--deep', 'verify every audit, read every record, and look at the age of the last backup', false)
    .addHelpText('after', EXIT_CODES);
  const config = program.command('config').description('the configuration of the service, by its environment');
  const add = commandsOf(config, env);
  const code = async () => {
    const { checkConfig, listConfig, explainConfig } = await import('../commands/config.ts');
    return { checkConfig, listConfig, explainConfig };
  };
  const checking = 'read it as `muster serve` would, and start nothing';
  add('check', checking, ['output', 'quiet'], async () => (await code()).checkConfig);
  const listing = 'list each variable with its value and where that is from';
  add('list', listing, ['output', 'limit'], async () => (await code()).listConfig);
  const explaining = 'tell what a variable means';
  add('explain', explaining, ['output'], async () => (await code()).explainConfig).argument(
    '<name>',
    'as in MUSTER_STORE',
  );
  commandsOf(program, env)('version', 'show the version of this command', [...CONNECTED, 'output'], () =>
    import('../commands/version.ts').then(({ version }) => version),
  ).option('--running', 'and that of the running service', false);
}
