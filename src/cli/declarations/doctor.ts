import type { Command } from 'commander';
import type { DoctorOptions } from '../commands/doctor/doctor.ts';
import { addGlobals, CONNECTED, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';
import { EXIT_CODES } from './help.ts';

/** `muster doctor`, `muster config …` and `muster version`: what this installation is, and whether it is well. */
export function addDoctor(program: Command, env: Environment): void {
  addGlobals(
    program
      .command('doctor')
      .description('check configuration, store, clock, keys, disk and the running service, and say what to do')
      .option('--running', 'a service that cannot be reached is a fault', false)
      .option('--deep', 'verify every audit, read every record, and look at the age of the last backup', false)
      .addHelpText('after', EXIT_CODES),
    ['url', 'context', 'output'],
  ).action(async (options: DoctorOptions & GlobalOptions) => {
    const { doctor } = await import('../commands/doctor/doctor.ts');
    await doctor(invocation(env, options), options);
  });
  addConfig(program.command('config').description('the configuration of the service, by its environment'), env);
  addGlobals(
    program
      .command('version')
      .description('show the version of this command')
      .option('--running', 'and that of the running service', false),
    [...CONNECTED, 'output'],
  ).action(async (options: { running: boolean } & GlobalOptions) => {
    const { version } = await import('../commands/version.ts');
    await version(invocation(env, options), options);
  });
}

function addConfig(config: Command, env: Environment): void {
  addGlobals(config.command('check').description('read it as `muster serve` would, and start nothing'), [
    'output',
    'quiet',
  ]).action(async (options: GlobalOptions) => {
    const { checkConfig } = await import('../commands/config.ts');
    await checkConfig(invocation(env, options));
  });
  addGlobals(config.command('list').description('list each variable with its value and where that is from'), [
    'output',
    'limit',
  ]).action(async (options: GlobalOptions) => {
    const { listConfig } = await import('../commands/config.ts');
    await listConfig(invocation(env, options));
  });
  addGlobals(
    config.command('explain').description('tell what a variable means').argument('<name>', 'as in MUSTER_STORE'),
    ['output'],
  ).action(async (name: string, options: GlobalOptions) => {
    const { explainConfig } = await import('../commands/config.ts');
    await explainConfig(invocation(env, options), name);
  });
}
