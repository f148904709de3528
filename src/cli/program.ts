import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { addAccountNouns } from './declarations/accounts.ts';
import { addAgent } from './declarations/agent.ts';
import { addApps } from './declarations/apps.ts';
import { addStoreCommands } from './declarations/backup.ts';
import { addCompletion } from './declarations/completion.ts';
import { addContext } from './declarations/context.ts';
import { EXIT_CODES, giveGlobals } from './declarations/declare.ts';
import { addDev } from './declarations/dev.ts';
import { addDoctor } from './declarations/doctor.ts';
import { addKeys } from './declarations/keys.ts';
import { addKubernetes } from './declarations/kubernetes.ts';
import { addOtel, addRollout } from './declarations/otel.ts';
import { addReports } from './declarations/reports.ts';
import { addService } from './declarations/service.ts';
import { globalsBehindNames } from './terminal/globals.ts';

/**
 * Runs one command.
 * @param args the words after `muster`
 * @throws CommanderError for wrong usage, which it has told by then; whatever the command throws
 */
export async function runMuster(env: NodeJS.ProcessEnv, args: readonly string[]): Promise<void> {
  const program = muster(env, args);
  await program.parseAsync(globalsBehindNames(program, args), { from: 'user' });
}

/**
 * Every command with its description; the code that a command needs is loaded when it is called.
 * @param args the words after `muster`, where one is called
 */
export function muster(env: NodeJS.ProcessEnv, args: readonly string[] = []): Command {
  const program = new Command('muster')
    .description('The control plane of a fleet of daemons. Configured by the environment (docs/CONFIGURATION.md).')
    .version(VERSION)
    .exitOverride()
    .addHelpText('after', EXIT_CODES);
  addServe(program, env);
  addDev(program, env);
  addService(program, env);
  addApps(program, env);
  addOtel(program, env);
  addRollout(program, env);
  addAgent(program, env, args);
  addAccountNouns(program, env);
  addReports(program, env);
  addStoreCommands(program, env);
  addKeys(program, env);
  addDoctor(program, env);
  addContext(program, env);
  addKubernetes(program, env);
  addCompletion(program, env);
  hintOwnHelp(program, program.name());
  giveGlobals(program, program.name());
  return program;
}

/** After wrong usage each command names its own help, which has the words that it takes. */
function hintOwnHelp(command: Command, path: string): void {
  command.showHelpAfterError(`(${path} --help tells more)`);
  for (const sub of command.commands) hintOwnHelp(sub, `${path} ${sub.name()}`);
}

function addServe(program: Command, env: NodeJS.ProcessEnv): void {
  program
    .command('serve')
    .description('run the service until SIGTERM, SIGINT or SIGHUP')
    .action(async () => {
      const { configured, run } = await import('../service/run.ts');
      const config = configured(env);
      if (config) await run(config);
    });
}
