import { isIPv4 } from '../text/ip-addresses.ts';
import { ConfigError, named } from './files/config-error.ts';
import type { Environment } from './environment.ts';
import { contentAtStart, type ConfiguredFile, type ConfiguredFiles } from './files/configured-file.ts';
import { isLoopbackUrl, OFF } from './panel-variables.ts';

/** A role that a group of the provider gives. */
export type GroupRule =
  | { readonly group: string; readonly role: 'operator' | 'support' | 'auditor' }
  | { readonly group: string; readonly role: 'owner' | 'viewer'; readonly accountId: string };

/**
 * The OpenID Connect provider by which people sign in, but for its secret and the rules of groups: they are in files.
 */
export interface ProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  /** The values of `amr` that tell of a second factor. */
  readonly secondFactor: readonly string[];
  /** The rule by which a first sign-in there makes a user. */
  readonly newcomers: Environment['MUSTER_OIDC_NEWCOMERS'];
  /** Its name on the button of the sign-in page. */
  readonly name: string;
}

/** The provider, with what its files have at present. */
export interface WatchedProvider extends ProviderConfig {
  readonly clientSecret: () => string;
  readonly groups: () => readonly GroupRule[];
}

/** The settings of the panel. */
export interface PanelConfig {
  /** The public origin; undefined for `http://localhost` with the port that the listener got. */
  readonly url: string | undefined;
  /** The URLs of the API and the device listener for clients; undefined where the listener's own address will do. */
  readonly apiUrl: string | undefined;
  readonly deviceUrl: string | undefined;
  readonly passwords: boolean;
  /** Attempts to sign in of one address in a minute on one replica. */
  readonly signInsPerAddress: number;
  /** The users whose sessions need a second factor. */
  readonly secondFactor: Environment['MUSTER_PANEL_SECOND_FACTOR'];
  readonly provider: ProviderConfig | undefined;
}

type Listen = Exclude<Environment['MUSTER_PANEL_LISTEN'], typeof OFF>;

/** How long sessions of the panel last, in milliseconds. */
export interface SessionConfig {
  readonly maxMs: number;
  readonly idleMs: number;
}

/** @throws ConfigError */
export function sessionsOf({ MUSTER_SESSION_MAX: maxMs, MUSTER_SESSION_IDLE: idleMs }: Environment): SessionConfig {
  if (idleMs > maxMs) throw new ConfigError('MUSTER_SESSION_IDLE: it is longer than MUSTER_SESSION_MAX');
  return { maxMs, idleMs };
}

/** The address of the panel's listener; undefined where it is off. */
export const panelListen = ({ MUSTER_PANEL_LISTEN: value }: Environment): Listen | undefined =>
  value === OFF ? undefined : value;

/** The settings of the panel; undefined where it is off. @throws ConfigError */
export function panelOf(values: Environment, files: ConfiguredFiles): PanelConfig | undefined {
  const listen = panelListen(values);
  if (!listen) return undefined;
  refusePlainHttp(values, listen);
  return {
    url: values.MUSTER_PANEL_URL,
    apiUrl: values.MUSTER_PUBLIC_API_URL,
    deviceUrl: values.MUSTER_PUBLIC_DEVICE_URL,
    passwords: values.MUSTER_PANEL_PASSWORDS === 'on',
    signInsPerAddress: values.MUSTER_SIGN_INS_PER_ADDRESS,
    secondFactor: values.MUSTER_PANEL_SECOND_FACTOR,
    provider: providerOf(values, files),
  };
}

/** Whether a listener on this host is reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  if (host.toLowerCase() === 'localhost' || host === '::1') return true;
  return isIPv4(host) && host.startsWith('127.');
}

/** A session's cookie and a password cross no network in clear. */
function refusePlainHttp(values: Environment, { host }: Listen): void {
  if (isLoopbackHost(host)) return;
  const { MUSTER_PANEL_URL: url } = values;
  if (url === undefined) {
    throw new ConfigError('MUSTER_PANEL_URL: with a panel that is not on a loopback address it must be set');
  }
  const isTls = values.MUSTER_PANEL_TLS_CERT_FILE !== undefined;
  // A container listens on all addresses, and its port may be published on this machine alone.
  if (isLoopbackUrl(new URL(url)) && !(isTls && url.startsWith('https:'))) {
    throw new ConfigError(
      'MUSTER_PANEL_URL: it names this machine, and MUSTER_PANEL_LISTEN is not on a loopback address',
    );
  }
  if (isTls || values.MUSTER_TRUSTED_PROXIES !== undefined) return;
  throw new ConfigError(
    'MUSTER_PANEL_LISTEN: plain HTTP is for a loopback address; set MUSTER_PANEL_TLS_CERT_FILE and its key, or ' +
      'MUSTER_TRUSTED_PROXIES where a proxy speaks TLS before it',
  );
}

function providerOf(values: Environment, files: ConfiguredFiles): ProviderConfig | undefined {
  const { MUSTER_OIDC_ISSUER: issuer, MUSTER_OIDC_CLIENT_ID: clientId } = values;
  const { MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile, MUSTER_OIDC_GROUPS_FILE: groupsFile } = files;
  if (issuer === undefined && clientId === undefined && secretFile === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || secretFile === undefined) {
    throw new ConfigError(
      'MUSTER_OIDC_ISSUER, MUSTER_OIDC_CLIENT_ID and MUSTER_OIDC_CLIENT_SECRET_FILE: set all or none',
    );
  }
  parsedAtStart(secretFile, parseClientSecret);
  if (groupsFile) parsedAtStart(groupsFile, parseGroups);
  return {
    issuer,
    clientId,
    scopes: values.MUSTER_OIDC_SCOPES,
    secondFactor: values.MUSTER_OIDC_SECOND_FACTOR?.split(' ') ?? [],
    groupsClaim: values.MUSTER_OIDC_GROUPS_CLAIM,
    newcomers: values.MUSTER_OIDC_NEWCOMERS,
    name: values.MUSTER_OIDC_PROVIDER_NAME,
  };
}

const RULES_MAX = 10_000;
const RULE = /^(?:(operator|support|auditor)|(owner|viewer) ([a-z0-9]{16})) (\S.{0,254})$/;

/** A fault is told at the start, with all others of the configuration. @throws ConfigError */
function parsedAtStart(file: ConfiguredFile, parse: (text: string) => unknown): void {
  const text = contentAtStart(file).toString();
  named(file.variable, () => parse(text));
}

/** @throws ConfigError without the name of the file */
export function parseClientSecret(text: string): string {
  const secret = text.trim();
  if (secret === '') throw new ConfigError('no secret in it');
  return secret;
}

/** @throws ConfigError that names the line and the rule, and not the file */
export function parseGroups(text: string): readonly GroupRule[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  if (lines.length > RULES_MAX) throw new ConfigError(`more than ${RULES_MAX} lines`);
  return lines.flatMap((line, index): GroupRule[] => {
    if (line === '' || line.startsWith('#')) return [];
    const [, installation, role, accountId = '', group = ''] = RULE.exec(line) ?? [];
    if (installation === 'operator' || installation === 'support' || installation === 'auditor')
      return [{ group, role: installation }];
    if (role === 'owner' || role === 'viewer') return [{ group, role, accountId }];
    throw new ConfigError(
      `line ${index + 1} must be \`operator GROUP\`, \`support GROUP\`, \`auditor GROUP\`, \`owner ACCOUNTID GROUP\` or \`viewer ACCOUNTID GROUP\``,
    );
  });
}
