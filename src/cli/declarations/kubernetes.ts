import type { Command } from 'commander';
import { durationIn, matching, ONE, refusedArgument } from '../terminal/globals.ts';
import type { Environment } from '../terminal/terminal.ts';
import { commandsOf } from './declare.ts';
import { NAMESPACE_UID } from './manifests.ts';

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
  commandsOf(kubernetes, env)(
    'secrets',
    'make the Secret with an operator token and a key file, where there is none',
    [],
    () => import('../commands/kubernetes/secrets.ts').then(({ makeSecrets }) => makeSecrets),
  )
    .requiredOption('--name <name>', 'name of the Secret')
    .option('-n, --namespace <name>', 'its namespace', NAMESPACE)
    .option('--token-key <key>', 'its key for the token', 'operator-token')
    .option('--keys-key <key>', 'its key for the key file', 'keys')
    .option('--store-id-key <key>', 'make the store as well, and put its id under this key')
    .addHelpText('after', `${where} A Secret that is there is neither read nor changed, and the store is left alone.`);
  commandsOf(kubernetes, env)(
    'rbac',
    'print the Role and RoleBinding that the operator needs in a namespace, for kubectl apply -f -',
    [],
    () => import('../commands/kubernetes/rbac.ts').then(({ printRbac }) => printRbac),
  )
    .argument('<namespace>', 'namespace that the operator is to follow')
    .option('--service-account <namespace/name>', "the operator's account; in its pod it is known")
    .option('--release <namespace/name>', 'the release; in its pod it is known')
    .addHelpText('after', '\nNo cluster is asked. The chart makes the same for the namespaces in operator.namespaces.');
  commandsOf(kubernetes, env)(
    'teardown',
    'delete every custom resource, and wait until the operator has cleaned up behind it',
    ['yes'],
    () => import('../commands/kubernetes/teardown.ts').then(({ teardown }) => teardown),
  )
    .option('--timeout <duration>', 'how long to wait; 4m by default', durationIn('1s', '1d'))
    .option('--no-resources', 'leave the custom resources alone')
    .option('--secret <name>', 'delete this Secret in the end')
    .option('-n, --namespace <name>', 'namespace of that Secret', NAMESPACE)
    .option('--release <namespace/name>', 'give up the namespaces that this release holds', releaseOf)
    .addHelpText('after', `${where} Run it before an uninstall that removes the definitions, too.`);
  commandsOf(kubernetes, env)(
    'status',
    'show the custom resources of all namespaces, and what keeps them from being ready',
    ['output', 'limit', 'quiet', 'timeout'],
    () => import('../commands/kubernetes/status.ts').then(({ kubernetesStatus }) => kubernetesStatus),
  )
    .option('-n, --namespace <name>', 'of this namespace alone; may be repeated', oneMore, [])
    .option('--not-ready', 'only those that are not ready')
    .addHelpText('after', `${where} Exit code 3: one is not ready. 5: some may not be listed.`);
  commandsOf(kubernetes, env)(
    'recover',
    'let the restored resources of a namespace take up what was bound to their former UIDs',
    [...ONE, 'limit', 'yes'],
    () => import('../commands/kubernetes/recover.ts').then(({ recover }) => recover),
  )
    .argument('<namespace>', 'namespace that was restored', namespaceOf)
    .option('--dry-run', 'show what would be taken up, and consent to nothing', false)
    .option(
      NAMESPACE_UID[0],
      'the UID of the namespace; no cluster is asked then, and no new UID shown',
      NAMESPACE_UID[2],
    )
    .addHelpText('after', `${where} The consent is for this namespace by its UID, and ends after 7 days.`);
}
