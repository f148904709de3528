import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';

/*
 * Configuration is read once, here, from the environment. Each variable has its rule and its words; README.md has the
 * same table, and a test holds the two together. A rejected value is never repeated: it may be a secret that was
 * pasted into the wrong variable.
 */

const listen = z
  .string()
  .regex(/^(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/, 'must be host:port')
  .transform((value) => {
    const at = value.lastIndexOf(':');
    return { host: value.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(value.slice(at + 1)) };
  })
  .refine(({ port }) => port <= 65_535, 'must have a port of at most 65535');

const store = z.string().transform((value, ctx) => {
  const sqlite = /^sqlite:(.*)$/s.exec(value);
  if (sqlite) return { kind: 'sqlite' as const, path: sqlite[1] ?? '' };
  const urls = /^etcd:(.+)$/s.exec(value)?.[1]?.split(',') ?? [];
  const broken = brokenEndpointRule(urls);
  if (broken === undefined) return { kind: 'etcd' as const, endpoints: urls };
  ctx.addIssue(broken);
  return z.NEVER;
});

/** What the etcd back-end asks of its addresses, told before it is opened. */
function brokenEndpointRule(urls: readonly string[]): string | undefined {
  const parsed = urls.map((url) => /^(https?):\/\/(?:[^/@?#\s:]+|\[[0-9a-fA-F:.]+\])(?::(\d{1,5}))?$/.exec(url));
  if (urls.length === 0 || parsed.includes(null)) {
    return 'must be sqlite:PATH or etcd:URL,URL,… with http:// or https:// URLs';
  }
  const ports = parsed.map((parts) => Number(parts?.[2] ?? 0));
  if (ports.some((port) => port < 1 || port > 65_535))
    return 'every etcd URL must end in a port, as in http://HOST:2379';
  if (new Set(parsed.map((parts) => parts?.[1])).size > 1) return 'etcd URLs must be all http:// or all https://';
  return undefined;
}

const whole = (min: number, max: number): z.ZodPipe<z.ZodString, z.ZodTransform<number, string>> =>
  z.string().transform((value, ctx) => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (number >= min && number <= max) return number;
    ctx.addIssue(`must be a whole number from ${min} to ${max}`);
    return z.NEVER;
  });

const ROLES = ['api', 'device', 'controller', 'kubernetes'] as const;
const DEFAULT_ROLES: readonly Role[] = ['api', 'device', 'controller'];
export type Role = (typeof ROLES)[number];

const roles = z.string().transform((value, ctx): ReadonlySet<Role> => {
  const named = value.split(',');
  const known = ROLES.filter((role) => named.includes(role));
  if (known.length > 0 && known.length === named.length) return new Set(known);
  ctx.addIssue(`must be some of ${ROLES.join(',')}`);
  return z.NEVER;
});

const currency = z
  .string()
  .refine((code) => Intl.supportedValuesOf('currency').includes(code), 'must be a currency of ISO 4217, as in EUR');

const TOKEN_CHARACTERS_MIN = 32;
const tokenLine = z
  .string()
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .min(TOKEN_CHARACTERS_MIN, `must have at least ${TOKEN_CHARACTERS_MIN} characters`)
  .max(1024);

const file = z.string().min(1, 'must be the path of a file');

const NAMESPACES_MAX = 50;
const namespaces = z.string().transform((value, ctx): readonly string[] => {
  const named = [...new Set(value.split(','))];
  if (named.length <= NAMESPACES_MAX && named.every((name) => /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/.test(name))) {
    return named;
  }
  ctx.addIssue(`must be at most ${NAMESPACES_MAX} names of namespaces with commas between them`);
  return z.NEVER;
});

const environment = z.object({
  MUSTER_STORE: store.optional(),
  MUSTER_DATA_DIR: z.string().min(1, 'must be a directory').default('./.muster'),
  MUSTER_API_LISTEN: listen.default({ host: '127.0.0.1', port: 8080 }),
  MUSTER_DEVICE_LISTEN: listen.default({ host: '127.0.0.1', port: 8081 }),
  MUSTER_OPS_LISTEN: listen.default({ host: '127.0.0.1', port: 8082 }),
  MUSTER_API_TLS_CERT_FILE: file.optional(),
  MUSTER_API_TLS_KEY_FILE: file.optional(),
  MUSTER_DEVICE_TLS_CERT_FILE: file.optional(),
  MUSTER_DEVICE_TLS_KEY_FILE: file.optional(),
  MUSTER_DRAIN_DELAY_SECONDS: whole(0, 300).default(0),
  MUSTER_OPERATOR_TOKEN: tokenLine.optional(),
  MUSTER_OPERATOR_TOKEN_FILE: file.optional(),
  MUSTER_KEY_FILE: file.optional(),
  MUSTER_POLL_INTERVAL_SECONDS: whole(1, 86_400).default(60),
  MUSTER_DEVICE_RATE_PER_MINUTE: whole(1, 100_000).default(60),
  MUSTER_API_CONCURRENCY: whole(1, 1_000_000).default(2_000),
  MUSTER_DEVICE_CONCURRENCY: whole(1, 1_000_000).default(10_000),
  MUSTER_OPS_CONCURRENCY: whole(1, 1_000_000).default(200),
  MUSTER_ROLES: roles.default(new Set(DEFAULT_ROLES)),
  MUSTER_KUBERNETES_NAMESPACES: namespaces.optional(),
  MUSTER_KUBERNETES_DEVICE_URL: z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).optional(),
  MUSTER_METERING_DELAY_SECONDS: whole(0, 3_600).default(300),
  MUSTER_PRICE_PER_DAEMON_MONTH: z
    .string()
    .regex(/^\d{1,9}(?:\.\d{1,6})?$/, 'must be a decimal number with at most 9 digits before the point and 6 after it')
    .default('0.00'),
  MUSTER_CURRENCY: currency.default('EUR'),
  MUSTER_AUDIT_RETENTION_DAYS: whole(1, 36_500).default(400),
  MUSTER_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'], 'must be debug, info, warn, error or silent')
    .default('info'),
  MUSTER_RATE_WINDOW: z.enum(['local', 'shared'], 'must be local or shared').default('shared'),
  MUSTER_ETCD_COMPACT: z.enum(['own', 'never'], 'must be own or never').default('own'),
  MUSTER_ETCD_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9._/-]{0,199}\/$/, 'must end in / and be at most 200 characters of A-Z a-z 0-9 . _ / -')
    .default('/muster/'),
  MUSTER_ETCD_CA_FILE: file.optional(),
  MUSTER_ETCD_CERT_FILE: file.optional(),
  MUSTER_ETCD_KEY_FILE: file.optional(),
  MUSTER_ETCD_USERNAME: z.string().min(1).max(200).optional(),
  MUSTER_ETCD_PASSWORD: z.string().min(1).max(1024).optional(),
  MUSTER_ETCD_PASSWORD_FILE: file.optional(),
  MUSTER_ETCD_QUOTA_BYTES: whole(1_000_000, 1_000_000_000_000).default(2_147_483_648),
});
type Environment = z.infer<typeof environment>;

/** Every variable that the service reads: README.md and this list are held together by a test. */
export const VARIABLES: readonly string[] = Object.keys(environment.shape);

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** PEM files: the chain, the listener's own certificate first, and its key. */
export interface CertificatePaths {
  readonly certificate: string;
  readonly key: string;
}

export interface EtcdConfig {
  readonly kind: 'etcd';
  readonly endpoints: readonly string[];
  readonly prefix: string;
  readonly compact: boolean;
  readonly quotaBytes: number;
  readonly tls: { readonly ca?: Buffer; readonly certificate?: Buffer; readonly key?: Buffer } | undefined;
  readonly auth: { readonly username: string; readonly password: string } | undefined;
}

export interface KubernetesConfig {
  /** Path of a kubeconfig file; undefined: the pod's own service account. */
  readonly kubeconfig: string | undefined;
  readonly namespaces: readonly string[];
  /** Of the device listener, as daemons reach it. */
  readonly deviceUrl: string;
}

export interface Config {
  readonly store: { readonly kind: 'sqlite'; readonly path: string } | EtcdConfig;
  readonly dataDir: string;
  readonly listen: { readonly api: ListenAddress; readonly device: ListenAddress; readonly ops: ListenAddress };
  /** Requests in flight by listener, held polls not counted: about what an event loop does in half a second. */
  readonly concurrencyMax: { readonly api: number; readonly device: number; readonly ops: number };
  /** Undefined: the listener speaks HTTP. Read again while the service runs. */
  readonly tls: { readonly api: CertificatePaths | undefined; readonly device: CertificatePaths | undefined };
  /** From the signal to end until the listeners take nothing more. */
  readonly drainDelayMs: number;
  /** Undefined: an embedded store makes one in the data directory. */
  readonly operatorTokens: readonly string[] | undefined;
  /** The text of the key file; undefined: as above. */
  readonly keyFile: string | undefined;
  /** Where it lies: it is read again while the service runs. */
  readonly keyFilePath: string | undefined;
  readonly pollIntervalSeconds: number;
  readonly deviceRatePerMinute: number;
  /** Whether replicas count an account's requests together (H13), or each for itself. The embedded store has one. */
  readonly rateWindow: Environment['MUSTER_RATE_WINDOW'];
  readonly roles: ReadonlySet<Role>;
  readonly metering: { readonly delaySeconds: number; readonly pricePerDaemonMonth: string; readonly currency: string };
  readonly auditRetentionDays: number;
  /** Undefined without the role. */
  readonly kubernetes: KubernetesConfig | undefined;
  readonly logLevel: Environment['MUSTER_LOG_LEVEL'];
}

/** The operator's mistake, in words that name the variable and the rule, never the value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** @throws ConfigError */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(VARIABLES.map((name) => [name, env[name] === '' ? undefined : env[name]]));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new ConfigError(lines.join('\n'));
  }
  const values = parsed.data;
  const config: Config = {
    store: storeOf(values),
    dataDir: values.MUSTER_DATA_DIR,
    listen: { api: values.MUSTER_API_LISTEN, device: values.MUSTER_DEVICE_LISTEN, ops: values.MUSTER_OPS_LISTEN },
    concurrencyMax: {
      api: values.MUSTER_API_CONCURRENCY,
      device: values.MUSTER_DEVICE_CONCURRENCY,
      ops: values.MUSTER_OPS_CONCURRENCY,
    },
    tls: { api: certificatePaths(values, 'API'), device: certificatePaths(values, 'DEVICE') },
    drainDelayMs: values.MUSTER_DRAIN_DELAY_SECONDS * 1000,
    operatorTokens: operatorTokens(values),
    keyFile: contentOf(values, 'MUSTER_KEY_FILE')?.toString(),
    keyFilePath: values.MUSTER_KEY_FILE,
    pollIntervalSeconds: values.MUSTER_POLL_INTERVAL_SECONDS,
    deviceRatePerMinute: values.MUSTER_DEVICE_RATE_PER_MINUTE,
    rateWindow: values.MUSTER_RATE_WINDOW,
    roles: values.MUSTER_ROLES,
    metering: {
      delaySeconds: values.MUSTER_METERING_DELAY_SECONDS,
      pricePerDaemonMonth: values.MUSTER_PRICE_PER_DAEMON_MONTH,
      currency: values.MUSTER_CURRENCY,
    },
    auditRetentionDays: values.MUSTER_AUDIT_RETENTION_DAYS,
    logLevel: values.MUSTER_LOG_LEVEL,
    kubernetes: kubernetesOf(values, env['KUBECONFIG']),
  };
  if (config.store.kind === 'etcd') refuseGuessedSecrets(config);
  return config;
}

function certificatePaths(values: Environment, listener: 'API' | 'DEVICE'): CertificatePaths | undefined {
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

const NAMESPACE_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/namespace';

/** @param kubeconfig the one variable that is not Muster's own: every client of Kubernetes reads it */
function kubernetesOf(values: Environment, kubeconfig: string | undefined): KubernetesConfig | undefined {
  if (!values.MUSTER_ROLES.has('kubernetes')) return undefined;
  if (!values.MUSTER_ROLES.has('controller')) {
    throw new ConfigError('MUSTER_ROLES: kubernetes needs the role controller beside it: it runs on who leads');
  }
  const deviceUrl = values.MUSTER_KUBERNETES_DEVICE_URL;
  if (deviceUrl === undefined) {
    throw new ConfigError('MUSTER_KUBERNETES_DEVICE_URL: with the role kubernetes it must be set');
  }
  const own = kubeconfig === undefined || kubeconfig === '' ? undefined : kubeconfig;
  return { kubeconfig: own, deviceUrl, namespaces: values.MUSTER_KUBERNETES_NAMESPACES ?? [ownNamespace()] };
}

function ownNamespace(): string {
  try {
    return readFileSync(NAMESPACE_FILE, 'utf8').trim();
  } catch {
    throw new ConfigError('MUSTER_KUBERNETES_NAMESPACES: outside of a pod it must be set with the role kubernetes');
  }
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

function operatorTokens(values: Environment): readonly string[] | undefined {
  const text = contentOf(values, 'MUSTER_OPERATOR_TOKEN_FILE')?.toString();
  const fromFile = text === undefined ? [] : parseOperatorTokens(text, 'MUSTER_OPERATOR_TOKEN_FILE');
  const tokens = [...(values.MUSTER_OPERATOR_TOKEN === undefined ? [] : [values.MUSTER_OPERATOR_TOKEN]), ...fromFile];
  return tokens.length > 0 ? tokens : undefined;
}

/**
 * The tokens of a file, one a line, each valid.
 * @param name of the variable or file, for the words of the refusal
 * @throws ConfigError that names the line and the rule
 */
export function parseOperatorTokens(text: string, name: string): readonly string[] {
  const tokens: string[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line === '') continue;
    const rule = tokenLine.safeParse(line).error?.issues[0]?.message;
    if (rule !== undefined) throw new ConfigError(`${name}: line ${index + 1} ${rule}`);
    tokens.push(line);
  }
  if (tokens.length === 0) throw new ConfigError(`${name}: no token in it`);
  return tokens;
}

/** Replicas that each made a token and a key of their own would not understand one another. */
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
