import process from 'node:process';

const OF_AN_INSTALLATION = /^(?:MUSTER_|ETCDCTL_|KUBECONFIG$)/;

/** The caller's environment without what leads a program to an installation, a store or a cluster of the caller's. */
export const callerEnvironment = (): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !OF_AN_INSTALLATION.test(name)));
