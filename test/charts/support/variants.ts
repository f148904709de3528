import { join } from 'node:path';
import { ON_ETCD, render, ROOT, type KubeObject, type RenderOptions, type Values } from './render.ts';

const example = (name: string): RenderOptions => ({ file: join(ROOT, 'examples', name, 'values.yaml') });

const everywhere: Values = {
  ...ON_ETCD,
  split: { enabled: true },
  autoscaling: { enabled: true },
  networkPolicy: { enabled: true },
  operator: { namespaces: ['fleet', 'edge'], watchReleaseNamespace: true, namespaceSelector: 'team' },
  crds: { keep: false },
  secrets: { keep: false },
  ingress: { api: { enabled: true, hosts: ['a.b'] }, device: { enabled: true, hosts: ['c.d'] } },
  opamp: { template: 'a: $(MUSTER_ENDPOINT)\nb: $(MUSTER_HEADERS)\n', ca: '-----BEGIN CERTIFICATE-----\n' },
  tls: { api: { existingSecret: 'api' }, device: { existingSecret: 'device' }, ops: { existingSecret: 'ops' } },
  metrics: {
    serviceMonitor: { enabled: true },
    prometheusRule: { enabled: true },
    dashboards: { enabled: true },
    alertmanagerConfig: { enabled: true },
  },
};

/** Values that together reach every template: what must hold always is asked of each. */
export const VARIANTS: Readonly<Record<string, RenderOptions>> = {
  'the default': {},
  'a laptop': example('laptop'),
  'an etcd that is there': example('external-etcd'),
  GitOps: example('gitops'),
  'all that can be turned on': { values: everywhere },
  'all that can be turned off': {
    values: {
      operator: { enabled: false },
      crds: { install: false },
      serviceAccount: { create: false },
      rbac: { create: false },
    },
  },
  'the platform OpenShift': { values: ON_ETCD, apiVersions: ['security.openshift.io/v1'] },
};

const rendered = new Map<string, Promise<KubeObject[]>>();

/** Each is rendered once. */
export function variant(name: string): Promise<KubeObject[]> {
  const known = rendered.get(name);
  if (known) return known;
  const objects = render(VARIANTS[name]);
  rendered.set(name, objects);
  return objects;
}
