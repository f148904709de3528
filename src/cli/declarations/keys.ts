import type { Command } from 'commander';
import { LIST, ONE } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

/** `muster keys …`: the key-encryption keys. */
export function addKeys(program: Command, env: Environment): void {
  const keys = program.command('keys').description('the key-encryption keys of the key file');
  const showing = 'show how much each key seals, which replicas know it, and which lines may be removed';
  commandsOf(keys, env, () => import('../commands/keys/status.ts'))('status', showing, LIST, (code) => code.keyStatus);
  const adding = 'add a new random key to the key file on this machine';
  commandsOf(keys, env, () => import('../commands/keys/add.ts'))(
    'add',
    adding,
    ['output', 'quiet'],
    (code) => (call) => code.addKey(call),
  ).addHelpText('after', '\nThe file is that of MUSTER_KEY_FILE, or the one in the data directory.');
  const rotating = 'make the newest key of the key file the active one, once every replica knows it';
  commandsOf(keys, env, () => import('../commands/keys/rotate.ts'))('rotate', rotating, ONE, (code) => code.rotateKeys)
    .option('--wait', 'until nothing is sealed under an older key; so it is by default', true)
    .option('--no-wait', 'end once the key is active');
}
