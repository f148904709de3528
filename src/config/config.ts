import { join } from 'node:path';
import { excludeEachOther } from './addresses.ts';
import { ConfigError, named } from './files/config-error.ts';
import { environment, VARIABLES, type Environment, type Role } from './environment.ts';
import {
  configuredFile,
  contentAtStart,
  FILE_RULES,
  type ConfiguredFile,
  type ConfiguredFiles,
} from './files/configured-file.ts';
import { etcdAccess, type EtcdAccess } from './etcd.ts';
import { kubernetesOf, type KubernetesConfig } from './kubernetes.ts';
import {
  concurrencyMax,
  connectionsPerAddressMax,
  idleSecondsOf,
  LISTENER_NAMES,
  listenVariable,
  type ListenerName,
  type PerListener,
} from './listeners.ts';
import { opampOf, type OpampConfig } from './opamp.ts';
import { panelListen, panelOf, sessionsOf, type PanelConfig, type SessionConfig } from './panel.ts';
import { OFF } from './panel-variables.ts';
import { parseOperatorTokens, type NamedToken } from './operator-tokens.ts';
import { unknownVariables } from './unknown-variables.ts';

/* Configuration is read once, here, from the environment; environment.ts has each variable with its rule. */

/** An address to listen on; port 0 lets the system choose. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** PEM files: the chain, the listener's own certificate first, and its key. */
interface CertificatePaths {
  readonly certificate: string;
  readonly key: string;
}

/** The addresses, credentials and rules of an etcd that the service uses; the credentials as they are at the start. */
interface EtcdConfig extends EtcdAccess {
  readonly kind: 'etcd';
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly compact: boolean;
  readonly quotaBytes: number;
}

export { ConfigError } from './files/config-error.ts';
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
  /** The files, which are read at the start and again while the service runs. */
  readonly files: ConfiguredFiles;
  /** The certificates. A listener without one speaks HTTP. */
  readonly tls: Readonly<Record<ListenerName, CertificatePaths | undefined>>;
  /** The time from the signal to end until the listeners accept nothing more. */
  readonly drainDelayMs: number;
  /** The tokens of the variable, and of the file at the start; where undefined, an embedded store makes one. */
  readonly operatorTokens: readonly NamedToken[] | undefined;
  /** The tokens of the variable alone. */
  readonly ownOperatorTokens: readonly NamedToken[];
  readonly pollIntervalSeconds: number;
  readonly deviceRatePerMinute: number;
  /** Whether replicas count an account's requests together (H13), or each for itself. The embedded store has one. */
  readonly rateWindow: Environment['MUSTER_RATE_WINDOW'];
  /** Whether ids of limited accounts may become labels. */
  readonly metricsAccounts: boolean;
  /** `token`: `/metrics` asks for an operator token; `none`: it is for everybody. */
  readonly metricsAuth: Environment['MUSTER_METRICS_AUTH'];
  readonly roles: ReadonlySet<Role>;
  readonly metering: { readonly delaySeconds: number; readonly pricePerDaemonMonth: string; readonly currency: string };
  /** In MiB; 0 is no quota. */
  readonly accountQuotaMb: number;
  readonly auditRetentionDays: number;
  /** The place of the entries of all audits as lines; undefined for none. */
  readonly auditLog: Environment['MUSTER_AUDIT_LOG'];
  /** Present where the replica has the role `kubernetes`. */
  readonly kubernetes: KubernetesConfig | undefined;
  readonly opamp: OpampConfig;
  /** The settings of the panel; undefined where it is off. */
  readonly panel: PanelConfig | undefined;
  readonly sessions: SessionConfig;
  /** The proxy of the service's own calls to the outside, which may hold a password. */
  readonly egressProxy: string | undefined;
  /** The ranges inside that owners may have called. */
  readonly egressAllow: NonNullable<Environment['MUSTER_EGRESS_ALLOW']>;
  readonly logLevel: Environment['MUSTER_LOG_LEVEL'];
  /** The names of variables that begin with `MUSTER_` and are none of Muster's. */
  readonly unknownVariables: readonly string[];
}

/** Reads what is needed to open the store, where no secret is there yet. @throws ConfigError */
export function readStoreConfig(env: NodeJS.ProcessEnv): Pick<Config, 'store' | 'storeId'> {
  const values = valuesOf(env);
  return { store: storeOf(values, filesOf(values)), storeId: values.MUSTER_STORE_ID };
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
  const files = filesOf(values);
  const ownOperatorTokens = tokensOfVariable(values);
  const config: Config = {
    store: storeOf(values, files),
    files,
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
    ownOperatorTokens,
    operatorTokens: tokensAtStart(ownOperatorTokens, files),
    pollIntervalSeconds: values.MUSTER_POLL_INTERVAL_SECONDS,
    deviceRatePerMinute: values.MUSTER_DEVICE_RATE_PER_MINUTE,
    rateWindow: values.MUSTER_RATE_WINDOW,
    metricsAccounts: values.MUSTER_METRICS_ACCOUNTS === 'on',
    metricsAuth: values.MUSTER_METRICS_AUTH,
    roles: values.MUSTER_ROLES,
    metering: {
      delaySeconds: values.MUSTER_METERING_DELAY_SECONDS,
      pricePerDaemonMonth: values.MUSTER_PRICE_PER_DAEMON_MONTH,
      currency: values.MUSTER_CURRENCY,
    },
    accountQuotaMb: values.MUSTER_ACCOUNT_QUOTA_MB,
    auditRetentionDays: values.MUSTER_AUDIT_RETENTION_DAYS,
    auditLog: values.MUSTER_AUDIT_LOG,
    opamp: opampOf(values),
    sessions: sessionsOf(values),
    egressProxy: values.MUSTER_EGRESS_PROXY,
    egressAllow: values.MUSTER_EGRESS_ALLOW ?? [],
    panel: panelOf(values, files),
    logLevel: values.MUSTER_LOG_LEVEL,
    kubernetes: kubernetesOf(values, env['KUBECONFIG']),
    unknownVariables: unknownVariables(env).map(({ name }) => name),
  };
  refuseUnreadable(files);
  refuseSharedPorts(config);
  if (config.store.kind === 'etcd') refuseGuessedSecrets(config);
  return config;
}

/** Each variable with a file has a rule, or this does not compile. */
type WithFile = Extract<keyof Environment, `${string}_FILE`>;
const RULED: Readonly<Record<WithFile, object>> = FILE_RULES;

/** The files that are configured. */
function filesOf(values: Environment): ConfiguredFiles {
  const files: Partial<Record<WithFile, ConfiguredFile>> = {};
  for (const variable of Object.keys(RULED) as readonly WithFile[]) {
    const path = values[variable];
    if (path !== undefined) files[variable] = configuredFile(variable, path);
  }
  return files;
}

/** Whoever parses these has no other configuration: what can be told of them is told together with it. */
function refuseUnreadable(files: ConfiguredFiles): void {
  for (const name of ['MUSTER_KEY_FILE', 'MUSTER_OPAMP_TEMPLATE_FILE', 'MUSTER_OPAMP_CA_FILE'] as const) {
    if (files[name]) contentAtStart(files[name]);
  }
}

/** Refuses two listeners that cannot both have their port. Port 0 is another one each time. */
function refuseSharedPorts({ listen, roles }: Config): void {
  // The ops listener comes first, so that a refusal names the other listener's variable before its own.
  const names = LISTENER_NAMES.toSorted((one, other) => Number(other === 'ops') - Number(one === 'ops'));
  const open = names.flatMap((name) => {
    const address = listen[name];
    const isOpen = name === 'ops' || roles.has(name === 'panel' ? 'api' : name);
    return address && isOpen ? [{ name, address }] : [];
  });
  for (const [index, { name, address }] of open.entries()) {
    const other = open.slice(0, index).find((before) => isShared(address, before.address));
    if (other === undefined) continue;
    const [one, two] = [name, other.name].map(listenVariable);
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

function storeOf(values: Environment, files: ConfiguredFiles): Config['store'] {
  const inDataDir = join(values.MUSTER_DATA_DIR, 'muster.db');
  const chosen = values.MUSTER_STORE ?? { kind: 'sqlite', path: '' };
  if (chosen.kind === 'sqlite') return { kind: 'sqlite', path: chosen.path === '' ? inDataDir : chosen.path };
  return {
    kind: 'etcd',
    endpoints: chosen.endpoints,
    prefix: values.MUSTER_ETCD_PREFIX,
    compact: values.MUSTER_ETCD_COMPACT === 'own',
    quotaBytes: values.MUSTER_ETCD_QUOTA_BYTES,
    ...etcdAccess(values, files, chosen.endpoints),
  };
}

const tokensOfVariable = ({ MUSTER_OPERATOR_TOKEN: own }: Environment): readonly NamedToken[] =>
  own === undefined ? [] : named('MUSTER_OPERATOR_TOKEN', () => parseOperatorTokens(own));

function tokensAtStart(
  own: readonly NamedToken[],
  { MUSTER_OPERATOR_TOKEN_FILE: file }: ConfiguredFiles,
): readonly NamedToken[] | undefined {
  if (!file) return own.length > 0 ? own : undefined;
  const text = contentAtStart(file).toString();
  return named(file.variable, () => parseOperatorTokens(text, own));
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
  if (!config.files.MUSTER_KEY_FILE) {
    missing.push(
      'MUSTER_KEY_FILE: with etcd it must be set, the same for every replica; make one with: ' +
        'echo "1:$(openssl rand -base64 32)" > keys',
    );
  }
  if (missing.length > 0) throw new ConfigError(missing.join('\n'));
}
