import type { Command } from 'commander';
import { addGlobals, CONNECTED, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

/** `muster keys …`: the key-encryption keys. */
export function addKeys(program: Command, env: Environment): void {
  const keys = program.command('keys').description('the key-encryption keys of the key file');
  addGlobals(
    keys
      .command('status')
      .description('show how much each key seals, which replicas know it, and which lines may be removed'),
    [...CONNECTED, 'output', 'limit', 'quiet'],
  ).action(async (options: GlobalOptions) => {
    const { keyStatus } = await import('../commands/keys/status.ts');
    await keyStatus(invocation(env, options));
  });
  addGlobals(
    keys
      .command('add')
      .description('add a new random key to the key file on this machine')
      .addHelpText('after', '\nThe file is that of MUSTER_KEY_FILE, or the one in the data directory.'),
    ['output', 'quiet'],
  ).action(async (options: GlobalOptions) => {
    const { addKey } = await import('../commands/keys/add.ts');
    await addKey(invocation(env, options));
  });
  addGlobals(
    keys
      .command('rotate')
      .description('make the newest key of the key file the active one, once every replica knows it')
      .option('--wait', 'until nothing is sealed under an older key; so it is by default', true)
      .option('--no-wait', 'end once the key is active'),
    [...CONNECTED, 'output', 'quiet'],
  ).action(async (options: GlobalOptions & { wait: boolean }) => {
    const { rotateKeys } = await import('../commands/keys/rotate.ts');
    await rotateKeys(invocation(env, options), options);
  });
}
