import type { Command } from 'commander';
import type { SecretsOptions } from '../commands/kubernetes/secrets.ts';
import type { TeardownOptions } from '../commands/kubernetes/teardown.ts';
import { matching } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';

const NAMESPACE = 'default';
const wholeOf = matching(/^\d{1,5}$/, 'It is a whole number of seconds.');
const secondsOf = (text: string): number => Number(wholeOf(text));

/** `muster kubernetes …`; the code that a command needs is loaded when it is called. */
export function addKubernetes(program: Command, env: Environment): void {
  const kubernetes = program.command('kubernetes').description('the commands that the Helm chart runs in a cluster');
  const where = '\nThe cluster is that of KUBECONFIG; in a pod its own.';
  kubernetes
    .command('secrets')
    .description('make the Secret with an operator token and a key file, where there is none')
    .requiredOption('--name <name>', 'name of the Secret')
    .option('-n, --namespace <name>', 'its namespace', NAMESPACE)
    .option('--token-key <key>', 'its key for the token', 'operator-token')
    .option('--keys-key <key>', 'its key for the key file', 'keys')
    .option('--store-id-key <key>', 'make the store as well, and put its id under this key')
    .addHelpText('after', `${where} A Secret that is there is neither read nor changed, and the store is left alone.`)
    .action(async (options: SecretsOptions) => {
      const { makeSecrets } = await import('../commands/kubernetes/secrets.ts');
      await makeSecrets(options, env);
    });
  kubernetes
    .command('teardown')
    .description('delete every custom resource, and wait until the operator has cleaned up behind it')
    .option('--timeout-seconds <n>', 'how long to wait', secondsOf, 240)
    .option('--no-resources', 'leave the custom resources alone')
    .option('--secret <name>', 'delete this Secret in the end')
    .option('-n, --namespace <name>', 'namespace of that Secret', NAMESPACE)
    .addHelpText('after', `${where} Run it before an uninstall that removes the definitions, too.`)
    .action(async (options: TeardownOptions) => {
      const { teardown } = await import('../commands/kubernetes/teardown.ts');
      await teardown(options);
    });
}
