import { Etcd3 } from 'etcd3';
import type { EtcdCluster } from './etcd.ts';

/**
 * Lets a user read and write under a prefix and do nothing else; from then on etcd lets nobody in without a password.
 */
export async function addUser(
  cluster: EtcdCluster,
  { username, password }: { readonly username: string; readonly password: string },
  prefix: `${string}/`,
): Promise<void> {
  const files = cluster.certificates;
  const credentials = files && { rootCertificate: files.ca, certChain: files.certificate, privateKey: files.key };
  const etcd = new Etcd3({ hosts: cluster.urls, ...(credentials && { credentials }) });
  const { auth } = etcd;
  await auth.userAdd({ name: 'root', password: 'root' });
  await auth.roleAdd({ name: 'root' });
  await auth.userGrantRole({ user: 'root', role: 'root' });
  await auth.userAdd({ name: username, password });
  await auth.roleAdd({ name: username });
  // "0" is what comes after "/".
  const range = { key: Buffer.from(prefix), range_end: Buffer.from(`${prefix.slice(0, -1)}0`) };
  await auth.roleGrantPermission({ name: username, perm: { permType: 'Readwrite', ...range } });
  await auth.userGrantRole({ user: username, role: username });
  await auth.authEnable();
  etcd.close();
}

/** Makes etcd forget every token that it gave, as when it is started again. */
export async function forgetTokens(cluster: EtcdCluster): Promise<void> {
  const etcd = new Etcd3({ hosts: cluster.urls, auth: { username: 'root', password: 'root' } });
  await etcd.auth.authDisable();
  await etcd.auth.authEnable();
  etcd.close();
}
