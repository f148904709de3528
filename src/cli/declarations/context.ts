import type { Command } from 'commander';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

/** `muster context …`; the code that a command needs is loaded when it is called. */
export function addContext(program: Command, env: Environment): void {
  const context = program.command('context').description('named services, with the files of their secrets');
  const add = commandsOf(context, env);
  const code = async () => {
    const { addContext, useContext, listContexts, removeContext, currentContext } =
      await import('../commands/contexts.ts');
    return { addContext, useContext, listContexts, removeContext, currentContext };
  };
  const naming = 'name a service; secrets stay in the files that are named';
  add('add <name>', naming, ['quiet'], async () => (await code()).addContext)
    .option('--url <url>', 'its API listener')
    .option('--ops-url <url>', 'its ops listener')
    .option('--device-url <url>', 'its device listener')
    .option('--api-key-file <file>', 'the API key of an account')
    .option('--operator-token-file <file>', "the operator's token")
    .option('--ca-file <file>', 'PEM: an authority to trust beside those that Node knows');
  add('use <name>', 'make a context the current one', ['quiet'], async () => (await code()).useContext);
  add('list', 'list the contexts', ['output', 'limit', 'quiet'], async () => (await code()).listContexts);
  const removing = 'remove a context; the files that it names stay';
  add('remove <name>', removing, ['quiet'], async () => (await code()).removeContext);
  add('current', 'show the current context', ['output'], async () => (await code()).currentContext);
}
