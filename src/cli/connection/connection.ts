import { join } from 'node:path';
import { ConfigError, named } from '../../config/files/config-error.ts';
import { parseOperatorTokens } from '../../config/operator-tokens.ts';
import { dataDirectoryOf } from '../../config/rules.ts';
import { Secret } from '../../domain/credentials/secret.ts';
import { apiKeyId } from '../../domain/credentials/tokens.ts';
import { addressOf, trustAuthority, type Address } from './address.ts';
import { chosenContext, given, type Asked, type ChosenContext } from './chosen-context.ts';
import { boundedText, readContexts, type Context } from './context-file.ts';

/** The address of a listener, and the secret that opens it. */
export interface Connection extends Address {
  readonly token: Secret;
  /** Where the secret is from, as in `MUSTER_API_KEY`. */
  readonly tokenFrom: string;
  /** Milliseconds within which the service must respond; undefined where `--timeout` is not given. */
  readonly timeoutMs?: number;
  readonly requestId?: string;
}

interface Sources {
  readonly variable: string;
  readonly inContext: 'apiKeyFile' | 'operatorTokenFile';
  readonly option: string;
  /** The file in the data directory of a service on this machine. */
  readonly local: string;
  /** What the file is, in words. */
  readonly kept: string;
  /** Returns the secret in the text of a variable or a file. @throws ConfigError that names the rule */
  readonly parse: (text: string, name: string) => string;
}

/** The planes that a person has a secret for; daemons have credentials of their own. */
export type SecuredPlane = 'api' | 'ops';

/** The name of the file with the demo's API key in the data directory. */
export const DEMO_KEY_FILE = 'demo-api-key';

const SOURCES: Readonly<Record<SecuredPlane, Sources>> = {
  api: {
    variable: 'MUSTER_API_KEY',
    inContext: 'apiKeyFile',
    option: '--api-key-file',
    local: DEMO_KEY_FILE,
    kept: 'API key of a demo',
    parse: apiKeyOf,
  },
  ops: {
    variable: 'MUSTER_OPERATOR_TOKEN',
    inContext: 'operatorTokenFile',
    option: '--operator-token-file',
    local: 'operator-token',
    kept: 'token of an embedded store',
    parse: (text, name) => named(name, () => parseOperatorTokens(text))[0]?.token ?? '',
  },
};

/**
 * Finds a listener and the secret that opens it. A secret is never an argument: others could read it in the list of
 * processes and in the history of the shell. The secret of a context is sent to the services of that context alone, and
 * that of a data directory to this machine alone.
 * @throws ConfigError; CommandFault for an unknown context
 */
export function connectionTo(plane: SecuredPlane, asked: Asked): Connection {
  const chosen = chosenContext(asked);
  const address = addressOf(plane, asked, chosen);
  trustAuthority(address);
  const { timeoutMs, requestId } = asked.globals;
  return {
    ...address,
    ...secretFor(plane, asked, chosen, address),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(requestId !== undefined && { requestId }),
  };
}

type Kept = Pick<Connection, 'token' | 'tokenFrom'>;

function secretFor(plane: SecuredPlane, { env }: Asked, chosen: ChosenContext | undefined, address: Address): Kept {
  const { variable, inContext } = SOURCES[plane];
  const own = chosen?.context[inContext];
  const ofContext = (path: string): Kept => fromFile(plane, path, `the context ${chosen?.name ?? ''} (${path})`);
  if (chosen?.byOption && own !== undefined) return ofContext(own);
  const value = given(env, variable);
  if (value !== undefined) return { token: new Secret(SOURCES[plane].parse(value, variable)), tokenFrom: variable };
  const file = given(env, `${variable}_FILE`);
  if (file !== undefined) return fromFile(plane, file, `${variable}_FILE`);
  if (own !== undefined && isOfContext(plane, address, chosen?.context)) return ofContext(own);
  if (!address.isLocal) throw unset(plane, address, chosen);
  return fromFile(plane, localSecretFile(plane, env), undefined);
}

/** Where a service on this machine keeps the secret that opens a listener. */
export const localSecretFile = (plane: SecuredPlane, env: Asked['env']): string =>
  join(dataDirectoryOf(env), SOURCES[plane].local);

/**
 * Whether a secret may be sent to the address of a command before somebody has said so by Enter: to this machine, and to
 * what the environment or a context names, but to no other address that stands on the line alone.
 * @throws ConfigError; CommandFault for an unknown context
 */
export function isKnown(plane: SecuredPlane, asked: Asked): boolean {
  if (asked.globals.url === undefined) return true;
  const address = addressOf(plane, asked);
  return address.isLocal || [...readContexts(asked.env).named.values()].some((one) => isOfContext(plane, address, one));
}

/** Another address of the same host and port is the same service. */
function isOfContext(plane: SecuredPlane, { url }: Address, context: Context | undefined): boolean {
  const its = plane === 'api' ? context?.url : context?.opsUrl;
  return its !== undefined && new URL(its).origin === new URL(url).origin;
}

function unset(plane: SecuredPlane, { url, from }: Address, chosen: ChosenContext | undefined): ConfigError {
  const { variable, inContext, option } = SOURCES[plane];
  const set = `${variable} or ${variable}_FILE: set one for ${url} (from ${from})`;
  if (!chosen) return new ConfigError(set);
  const why =
    chosen.context[inContext] === undefined ? `it has no ${option}` : 'its secret is sent to its own addresses alone';
  return new ConfigError(`${set}; the context ${chosen.name} gives none: ${why}`);
}

/** A key with more than its end of line around it is one that was pasted badly. @throws ConfigError */
function apiKeyOf(text: string, name: string): string {
  const key = text.trim();
  if (apiKeyId(key) === undefined) throw new ConfigError(`${name}: must be an API key, mst_live_…, as it was created`);
  return key;
}

/** @param from undefined for the file that is looked for where nothing is set */
function fromFile(plane: SecuredPlane, path: string, from: string | undefined): Kept {
  const { variable, kept, parse } = SOURCES[plane];
  let [text, code]: [string | undefined, string] = [undefined, 'ENOENT'];
  try {
    text = boundedText(path);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    code = (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  if (text !== undefined) return { token: new Secret(parse(text, from ?? path)), tokenFrom: from ?? path };
  if (from !== undefined) throw new ConfigError(`${from}: the file cannot be read (${code})`);
  throw new ConfigError(`${variable} or ${variable}_FILE: set one; there is no ${kept} at ${path} (${code})`);
}
