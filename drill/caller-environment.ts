import { environmentWithout } from '../test/support/etcd/environment-without.ts';

/** The caller's environment without what leads a program to an installation, a store or a cluster of the caller's. */
export const callerEnvironment = (): Readonly<Record<string, string | undefined>> =>
  environmentWithout(/^(?:MUSTER_|ETCD_|ETCDCTL_|KUBECONFIG$)/);
