import { ConfigError, named } from './files/config-error.ts';
import type { Environment } from './environment.ts';
import { contentAtStart, type ConfiguredFiles, type FileVariable } from './files/configured-file.ts';

/** The means of reaching etcd: PEM, and a user. */
export interface EtcdAccess {
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
  readonly auth: { readonly username: string; readonly password: string } | undefined;
}

/** The access to etcd as the files have it at the start. @throws ConfigError */
export function etcdAccess(values: Environment, files: ConfiguredFiles, urls: readonly string[]): EtcdAccess {
  const contentOf = (name: FileVariable): Buffer | undefined => files[name] && contentAtStart(files[name]);
  const ca = contentOf('MUSTER_ETCD_CA_FILE');
  const certificate = contentOf('MUSTER_ETCD_CERT_FILE');
  const key = contentOf('MUSTER_ETCD_KEY_FILE');
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ConfigError('MUSTER_ETCD_CERT_FILE and MUSTER_ETCD_KEY_FILE: set both or neither');
  }
  if ((ca ?? certificate) && urls.some((url) => url.startsWith('http:'))) {
    const name = ca ? 'MUSTER_ETCD_CA_FILE' : 'MUSTER_ETCD_CERT_FILE';
    throw new ConfigError(`${name}: certificates need https:// URLs in MUSTER_STORE`);
  }
  return { tls: tlsOf(ca, certificate, key), auth: etcdAuth(values, contentOf('MUSTER_ETCD_PASSWORD_FILE')) };
}

/** The certificates of a connection to etcd; undefined where there are none. */
export const tlsOf = (
  ca: Buffer | undefined,
  certificate: Buffer | undefined,
  key: Buffer | undefined,
): EtcdAccess['tls'] =>
  ca || certificate ? { ...(ca && { ca }), ...(certificate && { certificate }), ...(key && { key }) } : undefined;

/** @throws ConfigError without the name of the file */
export function parsePassword(content: Buffer): string {
  const password = content.toString().trimEnd();
  if (password === '') throw new ConfigError('no password in it');
  return password;
}

function etcdAuth(values: Environment, content: Buffer | undefined): EtcdAccess['auth'] {
  const username = values.MUSTER_ETCD_USERNAME;
  if (values.MUSTER_ETCD_PASSWORD !== undefined && content !== undefined) {
    throw new ConfigError('MUSTER_ETCD_PASSWORD and MUSTER_ETCD_PASSWORD_FILE: set one of them, not both');
  }
  const fromFile = content && named('MUSTER_ETCD_PASSWORD_FILE', () => parsePassword(content));
  const password = values.MUSTER_ETCD_PASSWORD ?? fromFile;
  if ((username === undefined) !== (password === undefined)) {
    throw new ConfigError(
      'MUSTER_ETCD_USERNAME: set it together with MUSTER_ETCD_PASSWORD or MUSTER_ETCD_PASSWORD_FILE',
    );
  }
  return username !== undefined && password !== undefined ? { username, password } : undefined;
}
