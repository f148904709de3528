import { join } from 'node:path';
import type { EtcdCluster } from '../../support/etcd/etcd.ts';
import type { Image } from './node/image.ts';

/** The nodes have the image already; two nodes share what this machine has. */
export function imageValues({ name }: Image): object {
  const [repository = '', tag = ''] = name.split(':');
  return { image: { repository, tag, pullPolicy: 'Never' }, resources: SMALL };
}

export const SMALL = { requests: { cpu: '20m', memory: '128Mi' }, limits: { memory: '1Gi' } };

/**
 * An etcd of this machine, by the client certificate in the Secret `etcd-tls`; resources are in the release's
 * namespace.
 */
export const etcdValues = (etcd: EtcdCluster): object => ({
  ...etcdValuesBefore(etcd),
  operator: { watchReleaseNamespace: true },
});

/** The same for a chart that always follows the release's namespace. */
export const etcdValuesBefore = (etcd: EtcdCluster): object => ({
  store: { type: 'etcd', etcd: { endpoints: etcd.urls, tls: { existingSecret: 'etcd-tls' } } },
});

/** The files of a Secret with etcd's authority and the client's certificate. */
export const etcdCertificates = ({ directory }: EtcdCluster): Readonly<Record<string, string>> => ({
  'ca.crt': join(directory, 'ca.crt'),
  'tls.crt': join(directory, 'client.crt'),
  'tls.key': join(directory, 'client.key'),
});
