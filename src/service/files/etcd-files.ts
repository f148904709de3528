import type { Config } from '../../config/config.ts';
import { configuredPair } from '../../config/files/configured-file.ts';
import { parsePassword, tlsOf, type EtcdAccess } from '../../config/etcd.ts';
import type { Log } from '../../log.ts';
import { authoritiesUse, certificateUse, type CertificateDeps } from './tls-certificate.ts';
import type { WatchedFiles } from './watched-file.ts';

type Tls = EtcdAccess['tls'];

/** The open connections to etcd. */
export interface EtcdConnections {
  renew(access: EtcdAccess): void;
  /** Whether etcd takes this user's password; undefined where it does not answer. */
  takes(user: NonNullable<EtcdAccess['auth']>): Promise<boolean | undefined>;
}

interface EtcdFilesDeps extends CertificateDeps {
  readonly log: Pick<Log, 'error' | 'warn'>;
  /** Undefined until the store is open. */
  readonly connections: () => EtcdConnections | undefined;
  /** The fault in words that keeps this endpoint from being used; undefined where it can be. */
  readonly faultOf: (url: string, tls: Tls, answerMs: number) => Promise<string | undefined>;
}

/** A busy member is not to pass for one that refuses. */
const ANSWER_MS = 3000;

/**
 * The access to etcd, as its files have it. Of each file that changes etcd itself is asked: content that it refuses
 * while it takes the former one is not used. Where it takes neither, it may have been changed first, and the new one is
 * used.
 * @returns the access at present; undefined with another store
 * @throws ConfigError
 */
export function watchedEtcdAccess(
  files: WatchedFiles,
  { store, files: configured }: Pick<Config, 'store' | 'files'>,
  { connections, ...deps }: EtcdFilesDeps,
): () => EtcdAccess | undefined {
  if (store.kind !== 'etcd') return () => undefined;
  const { endpoints, auth } = store;
  const { MUSTER_ETCD_CA_FILE: caFile, MUSTER_ETCD_PASSWORD_FILE: passwordFile } = configured;
  const pair = configuredPair(configured, 'MUSTER_ETCD_CERT_FILE', 'MUSTER_ETCD_KEY_FILE');
  const tell = (): void => connections()?.renew(present());
  const unproven = (file: string): void =>
    deps.log.warn({ file }, 'no endpoint of etcd answers to the new content of a file, nor to the former one');

  const ca =
    caFile &&
    files.add({
      ...authoritiesUse(caFile, deps, tell),
      judge: async ({ pem }) => {
        const { cert, key } = certificate?.current.pair ?? {};
        await judgeTls(caFile.variable, tlsOf(pem, cert, key));
      },
    });
  const certificate =
    pair &&
    files.add({
      ...certificateUse(pair, deps, tell),
      judge: async ({ pair: { cert, key } }) => judgeTls(pair[0].variable, tlsOf(ca?.current.pem, cert, key)),
    });
  const password =
    passwordFile &&
    files.add<string>({
      files: [passwordFile],
      parse: ([content]) => parsePassword(content),
      judge: async (next) => judgePassword(passwordFile.variable, next),
      taken() {
        tell();
        return undefined;
      },
    });

  /** The fault of TLS that keeps every endpoint from being used; undefined where one can be. */
  async function faultAtAll(tls: Tls): Promise<string | undefined> {
    const faults = await Promise.all(endpoints.map(async (url) => deps.faultOf(url, tls, ANSWER_MS)));
    return faults.includes(undefined) ? undefined : faults[0];
  }

  async function judgeTls(file: string, next: Tls): Promise<void> {
    const [fault, former] = await Promise.all([faultAtAll(next), faultAtAll(present().tls)]);
    if (fault === undefined) return;
    if (former === undefined) throw new Error(fault);
    unproven(file);
  }

  async function judgePassword(file: string, next: string): Promise<void> {
    const takes = async (one: string): Promise<boolean | undefined> =>
      auth && (await connections()?.takes({ ...auth, password: one }));
    if (await takes(next)) return;
    if (await takes(present().auth?.password ?? '')) throw new Error('etcd refuses the password');
    unproven(file);
  }

  function present(): EtcdAccess {
    const { cert, key } = certificate?.current.pair ?? {};
    return {
      tls: tlsOf(ca?.current.pem, cert, key),
      auth: auth && { ...auth, password: password?.current ?? auth.password },
    };
  }
  return present;
}
