import type { Command } from 'commander';
import type { RbacOptions } from '../commands/kubernetes/rbac.ts';
import type { SecretsOptions } from '../commands/kubernetes/secrets.ts';
import type { StatusOptions } from '../commands/kubernetes/status.ts';
import type { TeardownOptions } from '../commands/kubernetes/teardown.ts';
import { addGlobals, durationIn, matching, refusedArgument, type GlobalOptions } from '../terminal/globals.ts';
import { invocation } from '../terminal/invocation.ts';
import type { Environment } from '../terminal/terminal.ts';

const NAMESPACE = 'default';
const namespaceOf = matching(/^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/, 'It is the name of a namespace.');
const releaseOf = matching(/^[^/\s]+\/[^/\s]+$/, 'It is NAMESPACE/NAME.');
const NAMESPACES_MAX = 1000;
const oneMore = (name: string, names: readonly string[]): readonly string[] => {
  if (names.length === NAMESPACES_MAX) throw refusedArgument(`It is given at most ${NAMESPACES_MAX} times.`);
  return [...names, namespaceOf(name)];
};

/** `muster kubernetes …`; the code that a command needs is loaded when it is called. */
export function addKubernetes(program: Command, env: Environment): void {
  const kubernetes = program.command('kubernetes').description('what concerns a cluster of Kubernetes');
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
    .action(async (options: SecretsOptions & GlobalOptions) => {
      const { makeSecrets } = await import('../commands/kubernetes/secrets.ts');
      await makeSecrets(invocation(env, options), options);
    });
  kubernetes
    .command('rbac')
    .argument('<namespace>', 'namespace that the operator is to follow')
    .description('print the Role and RoleBinding that the operator needs in a namespace, for kubectl apply -f -')
    .option('--service-account <namespace/name>', "the operator's account; in its pod it is known")
    .option('--release <namespace/name>', 'the release; in its pod it is known')
    .addHelpText('after', '\nNo cluster is asked. The chart makes the same for the namespaces in operator.namespaces.')
    .action(async (namespace: string, options: RbacOptions) => {
      const { printRbac } = await import('../commands/kubernetes/rbac.ts');
      printRbac(namespace, options, env);
    });
  const remove = kubernetes.command('teardown');
  remove
    .description('delete every custom resource, and wait until the operator has cleaned up behind it')
    .option('--timeout <duration>', 'how long to wait; 4m by default', durationIn('1s', '1d'))
    .option('--no-resources', 'leave the custom resources alone')
    .option('--secret <name>', 'delete this Secret in the end')
    .option('-n, --namespace <name>', 'namespace of that Secret', NAMESPACE)
    .option('--release <namespace/name>', 'give up the namespaces that this release holds', releaseOf)
    .addHelpText('after', `${where} Run it before an uninstall that removes the definitions, too.`);
  addGlobals(remove, ['yes']).action(async (options: TeardownOptions & GlobalOptions) => {
    const { teardown } = await import('../commands/kubernetes/teardown.ts');
    await teardown(invocation(env, options), options);
  });
  addGlobals(
    kubernetes
      .command('status')
      .description('show the custom resources of all namespaces, and what keeps them from being ready')
      .option('-n, --namespace <name>', 'of this namespace alone; may be repeated', oneMore, [])
      .option('--not-ready', 'only those that are not ready')
      .addHelpText('after', `${where} Exit code 3: one is not ready. 5: some may not be listed.`),
    ['output', 'limit', 'quiet', 'timeout'],
  ).action(async (options: StatusOptions & GlobalOptions) => {
    const { kubernetesStatus } = await import('../commands/kubernetes/status.ts');
    await kubernetesStatus(invocation(env, options), options);
  });
}
