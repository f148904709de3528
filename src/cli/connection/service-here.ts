import { existsSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { CLIENT, type ClientVariable } from '../../config/client-variables.ts';
import { ConfigError } from '../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../config/rules.ts';
import { given } from './chosen-context.ts';
import type { Environment } from '../terminal/terminal.ts';
import { addressHere, variableOf, type Address, type Plane } from './address.ts';
import { LOCAL_SECRETS } from './connection.ts';
import { ADDRESSES_FILE, keptAddress } from './kept-addresses.ts';
import { localUrl } from '../../config/addresses.ts';

/*
 * From the variables of a service on this machine to those of a client that asks it. Nothing else that asks a service
 * reads the former: `muster env` prints the latter, and `muster doctor`, which judges a service by its variables, asks
 * by them.
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
const TOKEN_FILE = 'MUSTER_OPERATOR_TOKEN_FILE';
const DATA_DIRECTORY = 'the data directory';

export interface ServiceHere {
  /** Addresses, and files of secrets and certificates that are there: no secret. */
  readonly variables: Partial<Record<ClientVariable, string>>;
  /** The place that the service has the value of each of them from. */
  readonly sources: Partial<Record<ClientVariable, string>>;
  /** The service has its operator tokens in TOKEN_VALUE itself, and in no file. */
  readonly hasTokenValue: boolean;
}

/**
 * @param env has the variables of the service
 * @param planes the listeners that are asked
 * @throws ConfigError
 */
export function serviceHere(env: Environment, planes: readonly Plane[] = PLANES): ServiceHere {
  const folder = dataDirectoryOf(env);
  const variables: Partial<Record<ClientVariable, string>> = {};
  const sources: Partial<Record<ClientVariable, string>> = {};
  const put = (name: ClientVariable, value: string, from: string): void => {
    variables[name] = value;
    sources[name] = from;
  };
  for (const plane of planes) {
    const { url, from } = urlOf(plane, env, folder);
    put(variableOf(plane), url, from);
  }
  // The order is that of the chart: api, device, ops.
  const named = planes
    .toSorted()
    .map((plane) => LISTENERS[plane].certificate)
    .filter((name) => given(env, name) !== undefined);
  const certificates = new Set(named.map((name) => resolve(env[name] ?? '')));
  if (named.length > 0) put(CLIENT.caFile, [...certificates].join(delimiter), named.join(', '));
  const key = join(folder, LOCAL_SECRETS.api);
  if (existsSync(key)) put(CLIENT.apiKeyFile, key, DATA_DIRECTORY);
  const hasTokenValue = given(env, TOKEN_VALUE) !== undefined;
  const file = given(env, TOKEN_FILE);
  const kept = join(folder, LOCAL_SECRETS.ops);
  if (!hasTokenValue && file !== undefined) put(CLIENT.operatorTokenFile, resolve(file), TOKEN_FILE);
  else if (!hasTokenValue && existsSync(kept)) put(CLIENT.operatorTokenFile, kept, DATA_DIRECTORY);
  return { variables, sources, hasTokenValue };
}

/** Its variable counts, or else the address that `muster dev` has kept; so also where the system chooses the port. */
function urlOf(plane: Plane, env: Environment, folder: string): Pick<Address, 'url' | 'from'> {
  const { listen, certificate } = LISTENERS[plane];
  const told = given(env, listen);
  const kept = told === undefined || told.endsWith(':0') ? keptAddress(plane, join(folder, ADDRESSES_FILE)) : undefined;
  if (kept) return kept;
  const address = told ?? new URL(addressHere(plane)).host;
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at).replace(/^\[|\]$/g, ''), address.slice(at + 1)];
  const url = localUrl(given(env, certificate) === undefined ? 'http' : 'https', host, port);
  if (at <= 0 || !URL.canParse(url)) throw new ConfigError(`${listen}: must be host:port`);
  return { url, from: told === undefined ? `the default of ${listen}` : listen };
}
