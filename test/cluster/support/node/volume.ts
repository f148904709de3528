import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../cluster.ts';

/**
 * A volume on the disk of the first node for one claim, as an administrator makes one where no StorageClass does. A pod
 * with the claim goes to that node.
 */
export async function makeVolume(cluster: Cluster, namespace: string, claim: string): Promise<void> {
  const name = `${namespace}-${claim}`;
  const path = join(cluster.plane.directory, name);
  mkdirSync(path);
  const [node] = cluster.nodes;
  const here = { key: 'kubernetes.io/hostname', operator: 'In', values: [node?.name] };
  const spec = {
    capacity: { storage: '2Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    local: { path },
    nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [here] }] } },
    claimRef: { namespace, name: claim },
  };
  const volume = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name }, spec };
  await cluster.kubectl(['create', '--filename=-'], JSON.stringify(volume));
}
