import type { Command } from 'commander';
import type { NewContext } from '../commands/contexts.ts';
import { addGlobals, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster context …`; the code that a command needs is loaded when it is called. */
export function addContext(program: Command, env: Environment): void {
  const context = program.command('context').description('named services, with the files of their secrets');
  const add = context.command('add').description('name a service; secrets stay in the files that are named');
  add
    .argument('<name>')
    .option('--url <url>', 'its API listener')
    .option('--ops-url <url>', 'its ops listener')
    .option('--device-url <url>', 'its device listener')
    .option('--api-key-file <file>', 'the API key of an account')
    .option('--operator-token-file <file>', "the operator's token")
    .option('--ca-file <file>', 'PEM: an authority to trust beside those that Node knows');
  addGlobals(add, ['quiet']).action(async (name: string, options: NewContext & GlobalOptions) => {
    const { addContext } = await import('../commands/contexts.ts');
    await addContext(invocation(env, options), name, options);
  });
  addGlobals(context.command('use').description('make a context the current one').argument('<name>'), ['quiet']).action(
    async (name: string, options: GlobalOptions) => {
      const { useContext } = await import('../commands/contexts.ts');
      await useContext(invocation(env, options), name);
    },
  );
  addGlobals(context.command('list').description('list the contexts'), ['output', 'limit', 'quiet']).action(
    async (options: GlobalOptions) => {
      const { listContexts } = await import('../commands/contexts.ts');
      await listContexts(invocation(env, options));
    },
  );
  addGlobals(
    context.command('remove').description('remove a context; the files that it names stay').argument('<name>'),
    ['quiet'],
  ).action(async (name: string, options: GlobalOptions) => {
    const { removeContext } = await import('../commands/contexts.ts');
    await removeContext(invocation(env, options), name);
  });
  addGlobals(context.command('current').description('show the current context'), ['output']).action(
    async (options: GlobalOptions) => {
      const { currentContext } = await import('../commands/contexts.ts');
      await currentContext(invocation(env, options));
    },
  );
}
