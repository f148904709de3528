import { isIP } from 'node:net';
import { ConfigError } from './config-error.ts';
import type { Environment } from './environment.ts';
import { isLoopbackUrl, OFF } from './panel-variables.ts';

/** A role that a group of the provider gives. */
export type GroupRule =
  | { readonly group: string; readonly role: 'operator' }
  | { readonly group: string; readonly role: 'owner' | 'viewer'; readonly accountId: string };

/** The OpenID Connect provider by which people sign in. */
export interface ProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
  readonly groupsClaim: string;
  readonly groups: readonly GroupRule[];
  /** The values of `amr` that tell of a second factor. */
  readonly secondFactor: readonly string[];
  /** Who becomes a user by a first sign-in there. */
  readonly newcomers: Environment['MUSTER_OIDC_NEWCOMERS'];
  /** Its name on the button of the sign-in page. */
  readonly name: string;
}

/** The settings of the panel. */
export interface PanelConfig {
  /** The public origin; undefined for `http://localhost` with the port that the listener got. */
  readonly url: string | undefined;
  readonly passwords: boolean;
  /** Attempts to sign in of one address in a minute on one replica. */
  readonly signInsPerAddress: number;
  /** Whose sessions need a second factor. */
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

/**
 * The settings of the panel; undefined where it is off.
 * @param fileOf reads a file that decides who is trusted
 * @throws ConfigError
 */
export function panelOf(
  values: Environment,
  fileOf: (name: 'MUSTER_OIDC_CLIENT_SECRET_FILE' | 'MUSTER_OIDC_GROUPS_FILE') => string | undefined,
): PanelConfig | undefined {
  const listen = panelListen(values);
  if (!listen) return undefined;
  refusePlainHttp(values, listen);
  return {
    url: values.MUSTER_PANEL_URL,
    passwords: values.MUSTER_PANEL_PASSWORDS === 'on',
    signInsPerAddress: values.MUSTER_SIGN_INS_PER_ADDRESS,
    secondFactor: values.MUSTER_PANEL_SECOND_FACTOR,
    provider: providerOf(values, fileOf),
  };
}

/** Whether a listener on this host is reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  if (host.toLowerCase() === 'localhost' || host === '::1') return true;
  return isIP(host) === 4 && host.startsWith('127.');
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

function providerOf(
  values: Environment,
  fileOf: (name: 'MUSTER_OIDC_CLIENT_SECRET_FILE' | 'MUSTER_OIDC_GROUPS_FILE') => string | undefined,
): ProviderConfig | undefined {
  const { MUSTER_OIDC_ISSUER: issuer, MUSTER_OIDC_CLIENT_ID: clientId } = values;
  const clientSecret = fileOf('MUSTER_OIDC_CLIENT_SECRET_FILE')?.trim();
  if (issuer === undefined && clientId === undefined && clientSecret === undefined) return undefined;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) {
    throw new ConfigError(
      'MUSTER_OIDC_ISSUER, MUSTER_OIDC_CLIENT_ID and MUSTER_OIDC_CLIENT_SECRET_FILE: set all or none',
    );
  }
  if (clientSecret === '') throw new ConfigError('MUSTER_OIDC_CLIENT_SECRET_FILE: no secret in it');
  return {
    issuer,
    clientId,
    clientSecret,
    scopes: values.MUSTER_OIDC_SCOPES,
    secondFactor: values.MUSTER_OIDC_SECOND_FACTOR?.split(' ') ?? [],
    groupsClaim: values.MUSTER_OIDC_GROUPS_CLAIM,
    newcomers: values.MUSTER_OIDC_NEWCOMERS,
    groups: parseGroups(fileOf('MUSTER_OIDC_GROUPS_FILE') ?? ''),
    name: values.MUSTER_OIDC_PROVIDER_NAME,
  };
}

const RULES_MAX = 10_000;
const RULE = /^(?:(operator)|(owner|viewer) ([a-z0-9]{16})) (\S.{0,254})$/;

/** @throws ConfigError that names the line and the rule */
function parseGroups(text: string): readonly GroupRule[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  if (lines.length > RULES_MAX) throw new ConfigError(`MUSTER_OIDC_GROUPS_FILE: more than ${RULES_MAX} lines`);
  return lines.flatMap((line, index): GroupRule[] => {
    if (line === '' || line.startsWith('#')) return [];
    const [, operator, role, accountId = '', group = ''] = RULE.exec(line) ?? [];
    if (operator !== undefined) return [{ group, role: 'operator' }];
    if (role === 'owner' || role === 'viewer') return [{ group, role, accountId }];
    throw new ConfigError(
      `MUSTER_OIDC_GROUPS_FILE: line ${index + 1} must be \`operator GROUP\`, \`owner ACCOUNTID GROUP\` or \`viewer ACCOUNTID GROUP\``,
    );
  });
}
