import type { Command } from 'commander';
import { LIST, ONE } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';

/** `muster keys …`: the key-encryption keys. */
export function addKeys(program: Command, env: Environment): void {
  const keys = program.command('keys').description('the key-encryption keys of the key file');
  const add = commandsOf(keys, env);
  const showing = 'show how much each key seals, which replicas know it, and which lines may be removed';
  add('status', showing, LIST, () => import('../commands/keys/status.ts').then(({ keyStatus }) => keyStatus));
  add('add', 'add a new random key to the key file on this machine', ['output', 'quiet'], async () => {
    const { addKey } = await import('../commands/keys/add.ts');
    return (call) => addKey(call);
  }).addHelpText('after', '\nThe file is that of MUSTER_KEY_FILE, or the one in the data directory.');
  const rotating = 'make the newest key of the key file the active one, once every replica knows it';
  add('rotate', rotating, ONE, () => import('../commands/keys/rotate.ts').then(({ rotateKeys }) => rotateKeys))
    .option('--wait', 'until nothing is sealed under an older key; so it is by default', true)
    .option('--no-wait', 'end once the key is active');
}
