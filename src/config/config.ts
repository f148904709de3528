import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { excludeEachOther } from './addresses.ts';
import { ConfigError } from './config-error.ts';
import { environment, VARIABLES, type Environment, type Role } from './environment.ts';
import { kubernetesOf, type KubernetesConfig } from './kubernetes.ts';
import { concurrencyMax, connectionsPerAddressMax, idleSecondsOf, type PerListener } from './listener-bounds.ts';
import { opampOf, type OpampConfig } from './opamp.ts';
import { panelListen, panelOf, sessionsOf, type PanelConfig, type SessionConfig } from './panel.ts';
import { OFF } from './panel-variables.ts';
import { parseOperatorTokens, refuseTwoNames, type NamedToken } from './operator-tokens.ts';
import { writableByOthers } from './trusted-file.ts';
import { unknownVariables } from './unknown-variables.ts';

/* Configuration is read once, here, from the environment; environment.ts has each variable with its rule. */

/** An address to listen on; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** PEM files: the chain, the listener's own certificate first, and its key. */
export interface CertificatePaths {
  readonly certificate: string;
  readonly key: string;
}

/** The addresses, credentials and rules of an etcd that the service uses. */
export interface EtcdConfig {
  readonly kind: 'etcd';
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly compact: boolean;
  readonly quotaBytes: number;
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
  readonly auth: { readonly username: string; readonly password: string } | undefined;
}

export { ConfigError } from './config-error.ts';
export type { KubernetesConfig } from './kubernetes.ts';
export type { OpampConfig } from './opamp.ts';

/** The configuration of the service, parsed and checked. */
export interface Config {
  readonly store: { readonly kind: 'sqlite'; readonly path: string } | EtcdConfig;
  readonly dataDir: string;
  /** The id of the store; a start on an empty or another one is refused. Where undefined, any store will do. */
  readonly storeId: string | undefined;
  readonly listen: {
    readonly api: ListenAddress;
    readonly device: ListenAddress;
    readonly ops: ListenAddress;
    readonly panel: ListenAddress | undefined;
  };
  /** Requests in flight by listener, held polls not counted: about what an event loop does in half a second. */
  readonly concurrencyMax: PerListener;
  /** Connections of one address that have not authenticated a request; 0 is no bound. */
  readonly connectionsPerAddressMax: PerListener;
  /** How long a connection stays open without a request. */
  readonly idleSeconds: PerListener;
  /** The proxies whose word on their clients is taken. */
  readonly trustedProxies: NonNullable<Environment['MUSTER_TRUSTED_PROXIES']>;
  /** The certificates, read again while the service runs. A listener without one speaks HTTP. */
  readonly tls: Readonly<Record<'api' | 'device' | 'ops' | 'panel', CertificatePaths | undefined>>;
  /** The time from the signal to end until the listeners accept nothing more. */
  readonly drainDelayMs: number;
  /** Where undefined, an embedded store makes a token in the data directory. */
  readonly operatorTokens: readonly NamedToken[] | undefined;
  /** The text of the key file; where undefined, an embedded store makes one in the data directory. */
  readonly keyFile: string | undefined;
  /** The path of the key file, which is read again while the service runs. */
  readonly keyFilePath: string | undefined;
  readonly pollIntervalSeconds: number;
  readonly deviceRatePerMinute: number;
  /** Whether replicas count an account's requests together (H13), or each for itself. The embedded store has one. */
  readonly rateWindow: Environment['MUSTER_RATE_WINDOW'];
  /** Whether ids of limited accounts may become labels. */
  readonly metricsAccounts: boolean;
  readonly roles: ReadonlySet<Role>;
  readonly metering: { readonly delaySeconds: number; readonly pricePerDaemonMonth: string; readonly currency: string };
  /** In MiB; 0 is no quota. */
  readonly accountQuotaMb: number;
  readonly auditRetentionDays: number;
  /** Present where the replica has the role `kubernetes`. */
  readonly kubernetes: KubernetesConfig | undefined;
  readonly opamp: OpampConfig;
  /** The settings of the panel; undefined where it is off. */
  readonly panel: PanelConfig | undefined;
  readonly sessions: SessionConfig;
  /** The proxy of the service's own calls to the outside, which may hold a password. */
  readonly egressProxy: string | undefined;
  readonly logLevel: Environment['MUSTER_LOG_LEVEL'];
  /** The names of variables that begin with `MUSTER_` and are none of Muster's. */
  readonly unknownVariables: readonly string[];
}

/** Reads what is needed to open the store, where no secret is there yet. @throws ConfigError */
export function readStoreConfig(env: NodeJS.ProcessEnv): Pick<Config, 'store' | 'storeId'> {
  const values = valuesOf(env);
  return { store: storeOf(values), storeId: values.MUSTER_STORE_ID };
}

function valuesOf(env: NodeJS.ProcessEnv): Environment {
  const given = Object.fromEntries(VARIABLES.map((name) => [name, env[name] === '' ? undefined : env[name]]));
  // An empty address listens nowhere, which for the others would be a mistake.
  if (env['MUSTER_PANEL_LISTEN'] === '') given['MUSTER_PANEL_LISTEN'] = OFF;
  const unknown = unknownVariables(env);
  const slips = unknown
    .filter(({ nearest }) => nearest !== undefined)
    .map(({ name, nearest }) => `${name}: there is no such variable; it is ${nearest} that was meant, or remove it`);
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError([...slips, ...lines].join('\n'));
  }
  if (slips.length > 0) throw new ConfigError(slips.join('\n'));
  return parsed.data;
}

/** @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const values = valuesOf(env);
  const config: Config = {
    store: storeOf(values),
    dataDir: values.MUSTER_DATA_DIR,
    storeId: values.MUSTER_STORE_ID,
    listen: {
      api: values.MUSTER_API_LISTEN,
      device: values.MUSTER_DEVICE_LISTEN,
      ops: values.MUSTER_OPS_LISTEN,
      panel: panelListen(values),
    },
    concurrencyMax: concurrencyMax(values),
    connectionsPerAddressMax: connectionsPerAddressMax(values),
    idleSeconds: idleSecondsOf(values),
    trustedProxies: values.MUSTER_TRUSTED_PROXIES ?? [],
    tls: {
      api: certificatePaths(values, 'API'),
      device: certificatePaths(values, 'DEVICE'),
      ops: certificatePaths(values, 'OPS'),
      panel: certificatePaths(values, 'PANEL'),
    },
    drainDelayMs: values.MUSTER_DRAIN_DELAY_SECONDS * 1000,
    operatorTokens: operatorTokens(values),
    keyFile: secretOf(values, 'MUSTER_KEY_FILE')?.toString(),
    keyFilePath: values.MUSTER_KEY_FILE,
    pollIntervalSeconds: values.MUSTER_POLL_INTERVAL_SECONDS,
    deviceRatePerMinute: values.MUSTER_DEVICE_RATE_PER_MINUTE,
    rateWindow: values.MUSTER_RATE_WINDOW,
    metricsAccounts: values.MUSTER_METRICS_ACCOUNTS === 'on',
    roles: values.MUSTER_ROLES,
    metering: {
      delaySeconds: values.MUSTER_METERING_DELAY_SECONDS,
      pricePerDaemonMonth: values.MUSTER_PRICE_PER_DAEMON_MONTH,
      currency: values.MUSTER_CURRENCY,
    },
    accountQuotaMb: values.MUSTER_ACCOUNT_QUOTA_MB,
    auditRetentionDays: values.MUSTER_AUDIT_RETENTION_DAYS,
    opamp: opampOf(values, {
      text: secretOf(values, 'MUSTER_OPAMP_TEMPLATE_FILE')?.toString(),
      authority: contentOf(values, 'MUSTER_OPAMP_CA_FILE'),
    }),
    sessions: sessionsOf(values),
    egressProxy: values.MUSTER_EGRESS_PROXY,
    panel: panelOf(values, (name) => secretOf(values, name)?.toString()),
    logLevel: values.MUSTER_LOG_LEVEL,
    kubernetes: kubernetesOf(values, env['KUBECONFIG']),
    unknownVariables: unknownVariables(env).map(({ name }) => name),
  };
  refuseSharedPorts(config);
  if (config.store.kind === 'etcd') refuseGuessedSecrets(config);
  return config;
}

const LISTENERS = ['ops', 'api', 'device', 'panel'] as const;
/** Refuses two listeners that cannot both have their port. Port 0 is another one each time. */
function refuseSharedPorts({ listen, roles }: Config): void {
  const open = LISTENERS.flatMap((name) => {
    const address = listen[name];
    const isOpen = name === 'ops' || roles.has(name === 'panel' ? 'api' : name);
    return address && isOpen ? [{ name, address }] : [];
  });
  for (const [index, { name, address }] of open.entries()) {
    const other = open.slice(0, index).find((before) => isShared(address, before.address));
    if (other === undefined) continue;
    const [one, two] = [name, other.name].map((each) => `MUSTER_${each.toUpperCase()}_LISTEN`);
    throw new ConfigError(`${one} and ${two}: both are port ${address.port}; give each listener a port of its own`);
  }
}

const isShared = (one: ListenAddress, other: ListenAddress): boolean =>
  one.port !== 0 && one.port === other.port && excludeEachOther(one.host, other.host);

function certificatePaths(
  values: Environment,
  listener: 'API' | 'DEVICE' | 'OPS' | 'PANEL',
): CertificatePaths | undefined {
  const names = [`MUSTER_${listener}_TLS_CERT_FILE`, `MUSTER_${listener}_TLS_KEY_FILE`] as const;
  const [certificate, key] = [values[names[0]], values[names[1]]];
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return undefined;
  throw new ConfigError(`${names.join(' and ')}: set both or neither`);
}

function storeOf(values: Environment): Config['store'] {
  const inDataDir = join(values.MUSTER_DATA_DIR, 'muster.db');
  const chosen = values.MUSTER_STORE ?? { kind: 'sqlite', path: '' };
  if (chosen.kind === 'sqlite') return { kind: 'sqlite', path: chosen.path === '' ? inDataDir : chosen.path };
  const ca = contentOf(values, 'MUSTER_ETCD_CA_FILE');
  const certificate = contentOf(values, 'MUSTER_ETCD_CERT_FILE');
  const key = contentOf(values, 'MUSTER_ETCD_KEY_FILE');
  if ((certificate === undefined) !== (key === undefined)) {
    throw new ConfigError('MUSTER_ETCD_CERT_FILE and MUSTER_ETCD_KEY_FILE: set both or neither');
  }
  if ((ca ?? certificate) && chosen.endpoints.some((url) => url.startsWith('http:'))) {
    const name = ca ? 'MUSTER_ETCD_CA_FILE' : 'MUSTER_ETCD_CERT_FILE';
    throw new ConfigError(`${name}: certificates need https:// URLs in MUSTER_STORE`);
  }
  return {
    kind: 'etcd',
    endpoints: chosen.endpoints,
    prefix: values.MUSTER_ETCD_PREFIX,
    compact: values.MUSTER_ETCD_COMPACT === 'own',
    quotaBytes: values.MUSTER_ETCD_QUOTA_BYTES,
    tls:
      ca || certificate ? { ...(ca && { ca }), ...(certificate && { certificate }), ...(key && { key }) } : undefined,
    auth: etcdAuth(values),
  };
}

function etcdAuth(values: Environment): EtcdConfig['auth'] {
  const username = values.MUSTER_ETCD_USERNAME;
  if (values.MUSTER_ETCD_PASSWORD !== undefined && values.MUSTER_ETCD_PASSWORD_FILE !== undefined) {
    throw new ConfigError('MUSTER_ETCD_PASSWORD and MUSTER_ETCD_PASSWORD_FILE: set one of them, not both');
  }
  const fromFile = contentOf(values, 'MUSTER_ETCD_PASSWORD_FILE')?.toString().trimEnd();
  if (fromFile === '') throw new ConfigError('MUSTER_ETCD_PASSWORD_FILE: no password in it');
  const password = values.MUSTER_ETCD_PASSWORD ?? fromFile;
  if ((username === undefined) !== (password === undefined)) {
    throw new ConfigError(
      'MUSTER_ETCD_USERNAME: set it together with MUSTER_ETCD_PASSWORD or MUSTER_ETCD_PASSWORD_FILE',
    );
  }
  return username !== undefined && password !== undefined ? { username, password } : undefined;
}

type FileVariable = Extract<keyof Environment, `${string}_FILE`>;

function contentOf(values: Environment, name: FileVariable): Buffer | undefined {
  const path = values[name];
  if (path === undefined) return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new ConfigError(`${name}: the file cannot be read (${code})`);
  }
}

/** The content of a file that decides who is trusted: nobody else may write it. */
function secretOf(values: Environment, name: FileVariable): Buffer | undefined {
  const content = contentOf(values, name);
  const why = content && writableByOthers(values[name] ?? '');
  if (why !== undefined) throw new ConfigError(`${name}: ${why}`);
  return content;
}

function operatorTokens(values: Environment): readonly NamedToken[] | undefined {
  const text = secretOf(values, 'MUSTER_OPERATOR_TOKEN_FILE')?.toString();
  const fromFile = text === undefined ? [] : parseOperatorTokens(text, 'MUSTER_OPERATOR_TOKEN_FILE');
  const own = values.MUSTER_OPERATOR_TOKEN;
  const tokens = [...(own === undefined ? [] : parseOperatorTokens(own, 'MUSTER_OPERATOR_TOKEN')), ...fromFile];
  refuseTwoNames(tokens, 'MUSTER_OPERATOR_TOKEN_FILE');
  return tokens.length > 0 ? tokens : undefined;
}

/**
 * Requires the secrets to be configured with etcd: replicas that each made their own would not understand one another.
 */
function refuseGuessedSecrets(config: Config): void {
  const missing: string[] = [];
  if (!config.operatorTokens) {
    missing.push(
      'MUSTER_OPERATOR_TOKEN or MUSTER_OPERATOR_TOKEN_FILE: with etcd it must be set, the same for every replica',
    );
  }
  if (config.keyFile === undefined) {
    missing.push(
      'MUSTER_KEY_FILE: with etcd it must be set, the same for every replica; make one with: ' +
        'echo "1:$(openssl rand -base64 32)" > keys',
    );
  }
  if (missing.length > 0) throw new ConfigError(missing.join('\n'));
}
