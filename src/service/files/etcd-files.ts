import type { Config } from '../../config/config.ts';
import { configuredPair } from '../../config/files/configured-file.ts';
import { parsePassword, tlsOf, type EtcdAccess } from '../../config/etcd.ts';
import { authoritiesUse, certificateUse, type CertificateDeps } from './tls-certificate.ts';
import type { WatchedFiles } from './watched-file.ts';

/**
 * The access to etcd, as its files have it.
 * @param renewed is called with each new access
 * @returns the access at present; undefined with another store
 * @throws ConfigError
 */
export function watchedEtcdAccess(
  files: WatchedFiles,
  { store, files: configured }: Pick<Config, 'store' | 'files'>,
  { renewed, ...deps }: CertificateDeps & { readonly renewed: (access: EtcdAccess) => void },
): () => EtcdAccess | undefined {
  if (store.kind !== 'etcd') return () => undefined;
  const tell = (): void => renewed(present());
  const { MUSTER_ETCD_CA_FILE: caFile, MUSTER_ETCD_PASSWORD_FILE: passwordFile } = configured;
  const pair = configuredPair(configured, 'MUSTER_ETCD_CERT_FILE', 'MUSTER_ETCD_KEY_FILE');
  const ca = caFile && files.add(authoritiesUse(caFile, deps, tell));
  const certificate = pair && files.add(certificateUse(pair, deps, tell));
  const password =
    passwordFile &&
    files.add<string>({
      files: [passwordFile],
      parse: ([content]) => parsePassword(content),
      taken() {
        tell();
        return undefined;
      },
    });
  const { auth } = store;
  function present(): EtcdAccess {
    const { cert, key } = certificate?.current.pair ?? {};
    return {
      tls: tlsOf(ca?.current.pem, cert, key),
      auth: auth && { ...auth, password: password?.current ?? auth.password },
    };
  }
  return present;
}
