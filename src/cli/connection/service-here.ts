import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CLIENT, type ClientVariable } from '../../config/client-variables.ts';
import { ConfigError } from '../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../config/rules.ts';
import { given } from './chosen-context.ts';
import type { Environment } from '../terminal/terminal.ts';
import { addressHere, variableOf, type Plane } from './address.ts';
import { LOCAL_SECRETS } from './connection.ts';
import { ADDRESSES_FILE, keptAddress } from './kept-addresses.ts';
import { localUrl } from './service-urls.ts';

/*
 * From the variables of a service on this machine to those of a client that asks it. Nothing else that asks a service
 * reads the former: `muster env` prints the latter, and `muster doctor`, which judges a service by its variables, asks by
 * them.
 */

export const PLANES = ['api', 'ops', 'device'] as const satisfies readonly Plane[];

const LISTENERS: Readonly<Record<Plane, { readonly listen: string; readonly certificate: string }>> = {
  api: { listen: 'MUSTER_API_LISTEN', certificate: 'MUSTER_API_TLS_CERT_FILE' },
  device: { listen: 'MUSTER_DEVICE_LISTEN', certificate: 'MUSTER_DEVICE_TLS_CERT_FILE' },
  ops: { listen: 'MUSTER_OPS_LISTEN', certificate: 'MUSTER_OPS_TLS_CERT_FILE' },
};

/** The variable of the service that says where a listener is. */
export const listenVariableOf = (plane: Plane): string => LISTENERS[plane].listen;

/** The service's variable with operator tokens, a secret. */
export const TOKEN_VALUE = 'MUSTER_OPERATOR_TOKEN';

export interface ServiceHere {
  /** Addresses, and files of secrets and certificates that are there: no secret. */
  readonly variables: Partial<Record<ClientVariable, string>>;
  /** The certificates that its listeners present, where one variable cannot name them, since they are several. */
  readonly certificates: readonly string[];
  /** The service has its operator tokens in TOKEN_VALUE itself, and in no file. */
  readonly hasTokenValue: boolean;
}

/** @param env has the variables of the service. @throws ConfigError */
export function serviceHere(env: Environment): ServiceHere {
  const folder = dataDirectoryOf(env);
  const variables: Partial<Record<ClientVariable, string>> = {};
  for (const plane of PLANES) variables[variableOf(plane)] = urlOf(plane, env, folder);
  const certificates = new Set(
    PLANES.flatMap((plane) => given(env, LISTENERS[plane].certificate) ?? []).map((path) => resolve(path)),
  );
  const [certificate, ...others] = certificates;
  if (certificate !== undefined && others.length === 0) variables[CLIENT.caFile] = certificate;
  const key = join(folder, LOCAL_SECRETS.api);
  if (existsSync(key)) variables[CLIENT.apiKeyFile] = key;
  const hasTokenValue = given(env, TOKEN_VALUE) !== undefined;
  const named = given(env, 'MUSTER_OPERATOR_TOKEN_FILE');
  const token = named === undefined ? join(folder, LOCAL_SECRETS.ops) : resolve(named);
  if (!hasTokenValue && (named !== undefined || existsSync(token))) variables[CLIENT.operatorTokenFile] = token;
  return { variables, certificates: others.length === 0 ? [] : [...certificates], hasTokenValue };
}

/** By its variable, or else as `muster dev` has kept it; so also where the variable lets the system choose the port. */
function urlOf(plane: Plane, env: Environment, folder: string): string {
  const { listen, certificate } = LISTENERS[plane];
  const told = given(env, listen);
  const kept = told === undefined || told.endsWith(':0') ? keptAddress(plane, join(folder, ADDRESSES_FILE)) : undefined;
  if (kept) return kept.url;
  const address = told ?? new URL(addressHere(plane)).host;
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at).replace(/^\[|\]$/g, ''), address.slice(at + 1)];
  const url = localUrl(given(env, certificate) === undefined ? 'http' : 'https', host, port);
  if (at <= 0 || !URL.canParse(url)) throw new ConfigError(`${listen}: must be host:port`);
  return url;
}
