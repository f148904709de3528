import { readConfig, type Config } from '../../../src/config/config.ts';
import { configuredPair, type FileVariable } from '../../../src/config/files/configured-file.ts';
import { DEFAULT_TEMPLATE } from '../../../src/domain/opamp/collector-template.ts';
import { watchedEtcdAccess } from '../../../src/service/files/etcd-files.ts';
import { watchedKeyFile } from '../../../src/service/files/key-file.ts';
import { watchedOperatorTokens } from '../../../src/service/files/operator-token-file.ts';
import { watchedProvider } from '../../../src/service/files/provider-files.ts';
import { certificateUse } from '../../../src/service/files/tls-certificate.ts';
import { opampFiles } from '../../../src/service/opamp-services.ts';
import type { SelfSigned } from '../http/certificates.ts';
import { keyLine } from '../records/key-lines.ts';
import type { Watching } from './watching.ts';

/* Every variable with a file, as the service uses it: a new variable does not pass before it has a row here. */

/** How the service uses a setting that stands in one file, or in a certificate and its key. */
export interface FileKind {
  readonly variables: readonly [FileVariable, ...FileVariable[]];
  /** The content of each file. */
  readonly first: readonly string[];
  readonly next: readonly string[];
  /** The content while it is being written, where that can be told from a whole one. */
  readonly half: string | undefined;
  /** Whether an empty file has a meaning. */
  readonly mayBeEmpty?: true;
  /** Nobody else may write it. */
  readonly guarded?: true;
  /** Nothing is left of it after 10 minutes. */
  readonly lapses?: true;
  readonly bytesMax: number;
  /** Watches it. @returns what is in use at present, as text */
  readonly open: (config: Config, watching: Watching) => () => string;
}

const TOKENS = ['a', 'b', 'c'].map((letter) => letter.repeat(40));
const PEM_BYTES_MAX = 1_048_576;
const base = {
  MUSTER_STORE: 'etcd:https://127.0.0.1:1',
  MUSTER_ETCD_USERNAME: 'muster',
  MUSTER_OIDC_ISSUER: 'https://id.example.com',
  MUSTER_OIDC_CLIENT_ID: 'muster',
};

/** Reads the configuration of these files, with what must stand beside them. */
export const configOf = (env: Readonly<Record<string, string>>): Config => readConfig({ ...base, ...env });

const listener = (name: 'API' | 'DEVICE' | 'OPS' | 'PANEL'): Pick<FileKind, 'variables' | 'open'> => {
  const variables = [`MUSTER_${name}_TLS_CERT_FILE`, `MUSTER_${name}_TLS_KEY_FILE`] as const;
  return {
    variables,
    open({ files }, watching) {
      const pair = configuredPair(files, ...variables) ?? [];
      const [certificate, key] = pair;
      if (!certificate || !key) throw new Error('both are configured');
      const watched = watching.files.add(certificateUse([certificate, key], watching, () => undefined));
      return () => watched.current.pair.cert.toString() + watched.current.pair.key.toString();
    },
  };
};

const onEtcd = (part: (access: NonNullable<ReturnType<ReturnType<typeof watchedEtcdAccess>>>) => string) =>
  function open(config: Config, watching: Watching): () => string {
    let present = watchedEtcdAccess(watching.files, config, {
      clock: watching.clock,
      log: watching.log,
      faultOf: async () => undefined,
      connections: () => ({
        renew: (access) => (present = () => access),
        takes: async () => true,
      }),
    });
    return () => part(present() ?? { tls: undefined, auth: undefined });
  };

const atProvider = (part: 'clientSecret' | 'groups') =>
  function open({ files, panel }: Config, watching: Watching): () => string {
    const provider = watchedProvider(watching.files, files, panel?.provider);
    return () => JSON.stringify(provider?.[part]());
  };

/** The rows. @param first and another certificate with their keys */
export function everyFile(first: SelfSigned, next: SelfSigned): readonly FileKind[] {
  const cut = (text: string): string => text.slice(0, text.length / 2);
  const pair = {
    first: [first.cert, first.key],
    next: [next.cert, next.key],
    half: cut(next.cert),
    bytesMax: PEM_BYTES_MAX,
  };
  const authority = {
    first: [first.cert],
    next: [next.cert],
    half: cut(next.cert),
    guarded: true,
    bytesMax: PEM_BYTES_MAX,
  } as const;
  return [
    {
      variables: ['MUSTER_KEY_FILE'],
      first: [keyLine(1)],
      next: [keyLine(1) + keyLine(2)],
      half: keyLine(1) + cut(keyLine(2)),
      guarded: true,
      bytesMax: 65_536,
      open({ files: { MUSTER_KEY_FILE: file } }, { files }) {
        if (!file) throw new Error('it is configured');
        const ring = watchedKeyFile(files, file, async () => []);
        return () => ring.numbers.map((number) => ring.fingerprint(number)).join();
      },
    },
    {
      variables: ['MUSTER_OPERATOR_TOKEN_FILE'],
      first: [`${TOKENS[0]}\n${TOKENS[1]}\n`],
      next: [`ci:${TOKENS[1]}\n`],
      half: `${TOKENS[1]}\n${TOKENS[2]?.slice(0, 20)}`,
      mayBeEmpty: true,
      guarded: true,
      lapses: true,
      bytesMax: 1_048_576,
      open({ files: configured, ownOperatorTokens }, { files }) {
        const tokens = watchedOperatorTokens(files, ownOperatorTokens, configured.MUSTER_OPERATOR_TOKEN_FILE);
        return () =>
          tokens()
            .map(({ name, secret }) => `${name}:${secret.reveal()}`)
            .join();
      },
    },
    { ...authority, variables: ['MUSTER_ETCD_CA_FILE'], open: onEtcd(({ tls }) => String(tls?.ca)) },
    {
      ...pair,
      variables: ['MUSTER_ETCD_CERT_FILE', 'MUSTER_ETCD_KEY_FILE'],
      open: onEtcd(({ tls }) => String(tls?.certificate) + String(tls?.key)),
    },
    {
      variables: ['MUSTER_ETCD_PASSWORD_FILE'],
      first: ['correct horse\n'],
      next: ['battery staple\n'],
      half: undefined,
      bytesMax: 4096,
      open: onEtcd(({ auth }) => `${auth?.username}:${auth?.password}`),
    },
    { ...pair, ...listener('API') },
    { ...pair, ...listener('DEVICE') },
    { ...pair, ...listener('OPS') },
    { ...pair, ...listener('PANEL') },
    {
      variables: ['MUSTER_OIDC_CLIENT_SECRET_FILE'],
      first: ['a secret of the client\n'],
      next: ['another one\n'],
      half: undefined,
      guarded: true,
      bytesMax: 16_384,
      open: atProvider('clientSecret'),
    },
    {
      variables: ['MUSTER_OIDC_GROUPS_FILE'],
      first: ['operator platform\n'],
      next: ['operator platform\nviewer a1b2c3d4e5f6g7h8 staff\n'],
      half: 'operator platform\nviewer a1b2',
      guarded: true,
      bytesMax: 4_194_304,
      open: atProvider('groups'),
    },
    {
      variables: ['MUSTER_OPAMP_TEMPLATE_FILE'],
      first: [DEFAULT_TEMPLATE],
      next: [`${DEFAULT_TEMPLATE}# another one\n`],
      half: DEFAULT_TEMPLATE.slice(0, 200),
      guarded: true,
      bytesMax: 1_048_576,
      open(config, { files, clock }) {
        const { template } = opampFiles({ config, files, clock });
        return () => template().template.fingerprint;
      },
    },
    {
      ...authority,
      variables: ['MUSTER_OPAMP_CA_FILE'],
      open(config, { files, clock }) {
        const { authority: present } = opampFiles({ config, files, clock });
        return () => String(present());
      },
    },
  ];
}
