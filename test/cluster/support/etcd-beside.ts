import { findEtcd } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import type { Cluster } from './cluster.ts';

/** An etcd with mutual TLS on this machine, where the cluster's pods reach it. */
export async function etcdBeside(cluster: Cluster, members: 1 | 3 = 3): Promise<EtcdCluster> {
  const options = { binary: findEtcd() ?? '', members, tls: true, unsafeNoFsync: true, address: cluster.hostAddress };
  const etcd = await EtcdCluster.start(options);
  for (const { pid } of etcd.members) if (pid !== undefined) cluster.favour(pid);
  return etcd;
}
