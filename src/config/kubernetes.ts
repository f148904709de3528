import { ConfigError } from './files/config-error.ts';
import type { Environment } from './environment.ts';
import type { SecretTemplate } from './kubernetes-names.ts';

/** The settings of the role `kubernetes`. */
export interface KubernetesConfig {
  /** Paths of kubeconfig files, as KUBECONFIG has them; where undefined, the pod's own service account is used. */
  readonly kubeconfig: string | undefined;
  /** The namespaces that are followed by name. */
  readonly namespaces: readonly string[];
  /** A selector of labels: the namespaces that it selects are followed, too. */
  readonly namespaceSelector: string | undefined;
  /** Whether the operator may watch the kinds, Leases and namespaces of the whole cluster. */
  readonly scope: Environment['MUSTER_KUBERNETES_SCOPE'];
  /** The release that claims namespaces: its namespace and name. */
  readonly release: string;
  /** The URL of the device listener, as daemons reach it. */
  readonly deviceUrl: string;
  /** The labels and annotations of all Secrets that the operator makes. */
  readonly secretTemplate: SecretTemplate;
}

/** @param kubeconfig the one variable that is not Muster's own: every client of Kubernetes reads it */
export function kubernetesOf(values: Environment, kubeconfig: string | undefined): KubernetesConfig | undefined {
  if (!values.MUSTER_ROLES.has('kubernetes')) return undefined;
  if (!values.MUSTER_ROLES.has('controller')) {
    throw new ConfigError('MUSTER_ROLES: kubernetes needs the role controller beside it: it runs on the leader');
  }
  const deviceUrl = values.MUSTER_KUBERNETES_DEVICE_URL;
  if (deviceUrl === undefined) {
    throw new ConfigError('MUSTER_KUBERNETES_DEVICE_URL: with the role kubernetes it must be set');
  }
  const release = values.MUSTER_KUBERNETES_RELEASE;
  if (release === undefined) {
    throw new ConfigError('MUSTER_KUBERNETES_RELEASE: with the role kubernetes it must be set, as NAMESPACE/NAME');
  }
  const namespaceSelector = values.MUSTER_KUBERNETES_NAMESPACE_SELECTOR;
  const scope = values.MUSTER_KUBERNETES_SCOPE;
  if (scope === 'namespaces' && namespaceSelector !== undefined) {
    throw new ConfigError(
      'MUSTER_KUBERNETES_NAMESPACE_SELECTOR: it needs MUSTER_KUBERNETES_SCOPE=cluster; name the namespaces instead',
    );
  }
  const own = kubeconfig === undefined || kubeconfig === '' ? undefined : kubeconfig;
  const namespaces = values.MUSTER_KUBERNETES_NAMESPACES ?? [];
  const secretTemplate = values.MUSTER_KUBERNETES_SECRET_TEMPLATE ?? {};
  return { kubeconfig: own, deviceUrl, secretTemplate, namespaces, namespaceSelector, scope, release };
}
