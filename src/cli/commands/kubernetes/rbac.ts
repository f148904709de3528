import { stringify } from 'yaml';
import { isNamespace, namespacedName } from '../../../config/kubernetes-names.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';

export interface RbacOptions {
  /** The operator's service account, as NAMESPACE/NAME; by default of the environment of its pod. */
  readonly serviceAccount?: string;
  /** The release, as NAMESPACE/NAME; by default of the environment of its pod. */
  readonly release?: string;
}

/**
 * `muster kubernetes rbac NAMESPACE`: prints the Role and the RoleBinding that the operator needs in a namespace, as
 * YAML for `kubectl apply -f -`. The chart makes the same for the namespaces that it is told by name.
 * @throws CommandFault with the exit code of wrong usage
 */
export function printRbac({ env }: Pick<Invocation, 'env'>, namespace: string, options: RbacOptions): void {
  if (!isNamespace(namespace)) {
    throw new CommandFault('The namespace is lower-case letters, digits and hyphens, at most 63.', EXIT.usage);
  }
  const release = partsOf(options.release ?? env['MUSTER_KUBERNETES_RELEASE'], '--release');
  const account = partsOf(options.serviceAccount ?? env['MUSTER_KUBERNETES_SERVICE_ACCOUNT'], '--service-account');
  // A colon is in no name of a namespace: two releases have different Roles in one namespace.
  const metadata = {
    name: `${release.namespace}:${release.name}-operator`,
    namespace,
    labels: { 'app.kubernetes.io/part-of': 'muster' },
  };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name };
  const subjects = [{ kind: 'ServiceAccount', name: account.name, namespace: account.namespace }];
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const objects = [
    { apiVersion, kind: 'Role', metadata, rules: RULES },
    { apiVersion, kind: 'RoleBinding', metadata, roleRef, subjects },
  ];
  process.stdout.write(objects.map((object) => `---\n${stringify(object, YAML)}`).join(''));
}

/** Sorted, with the quotes of the chart's file; a name is text for readers of YAML 1.1, as Go's are, and of 1.2. */
const YAML = {
  version: '1.1',
  compat: 'core',
  sortMapEntries: true,
  singleQuote: true,
  aliasDuplicateObjects: false,
} as const;

/** The rules of the chart's Role for an operator with a ClusterRole. */
const RULES = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['create'] },
];

function partsOf(value: string | undefined, option: string): { namespace: string; name: string } {
  const [namespace, name] = namespacedName.safeParse(value).data?.split('/') ?? [];
  if (namespace === undefined || name === undefined) {
    throw new CommandFault(`${option}: it is NAMESPACE/NAME; outside of Muster's pod it must be given.`, EXIT.usage);
  }
  return { namespace, name };
}
