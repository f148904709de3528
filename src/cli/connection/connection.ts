import { resolve } from 'node:path';
import { CLIENT, notRead } from '../../config/client-variables.ts';
import { ConfigError, named } from '../../config/files/config-error.ts';
import { firstOperatorToken } from '../../config/operator-tokens.ts';
import { DATA_DIR } from '../../config/rules.ts';
import { Secret } from '../../domain/credentials/secret.ts';
import { apiKeyId } from '../../domain/credentials/tokens.ts';
import { addressOf, trustAuthority, type Address } from './address.ts';
import { chosenContext, given, type Asked, type ChosenContext } from './chosen-context.ts';
import { boundedText, readContexts, type Context } from './context-file.ts';

/** The address of a listener, and the secret that opens it. */
export interface Connection extends Address {
  readonly token: Secret;
  /** The place of the secret: a variable, its file, a context with its file, or a file of this folder. */
  readonly tokenFrom: string;
  /** Milliseconds within which the service must respond; undefined where `--timeout` is not given. */
  readonly timeoutMs?: number;
  readonly requestId?: string;
}

interface Sources {
  readonly variable: typeof CLIENT.apiKey | typeof CLIENT.operatorToken;
  readonly fileVariable: typeof CLIENT.apiKeyFile | typeof CLIENT.operatorTokenFile;
  readonly inContext: 'apiKeyFile' | 'operatorTokenFile';
  readonly option: string;
  /** The purpose of the file, in words. */
  readonly kept: string;
  /** Returns the secret in the text of a variable or a file. @throws ConfigError that names the rule */
  readonly parse: (text: string, name: string) => string;
}

/** The planes that a person has a secret for; daemons have credentials of their own. */
export type SecuredPlane = 'api' | 'ops';

/** The name of the file with the demo's API key in the data directory. */
export const DEMO_KEY_FILE = 'demo-api-key';
/** The files in the data directory of a service on this machine. */
export const LOCAL_SECRETS: Readonly<Record<SecuredPlane, string>> = { api: DEMO_KEY_FILE, ops: 'operator-token' };

const SOURCES: Readonly<Record<SecuredPlane, Sources>> = {
  api: {
    variable: CLIENT.apiKey,
    fileVariable: CLIENT.apiKeyFile,
    inContext: 'apiKeyFile',
    option: '--api-key-file',
    kept: 'API key of a demo',
    parse: apiKeyOf,
  },
  ops: {
    variable: CLIENT.operatorToken,
    fileVariable: CLIENT.operatorTokenFile,
    inContext: 'operatorTokenFile',
    option: '--operator-token-file',
    kept: 'token of an embedded store',
    parse: (text, name) => named(name, () => firstOperatorToken(text)),
  },
};

/**
 * Finds a listener and the secret that opens it. A secret is never an argument: others could read it in the list of
 * processes and in the history of the shell. The secret of a context is sent to the services of that context alone, and
 * that of a data directory to this machine alone. A variable of the service is never read: it may be set for another
 * one.
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

function secretFor(
  plane: SecuredPlane,
  { env, sources }: Asked,
  chosen: ChosenContext | undefined,
  address: Address,
): Kept {
  const { variable, fileVariable, inContext } = SOURCES[plane];
  const own = chosen?.context[inContext];
  const ofContext = (path: string): Kept => fromFile(plane, path, `the context ${chosen?.name ?? ''} (${path})`);
  if (chosen?.byOption && own !== undefined) return ofContext(own);
  const [value, file] = [given(env, variable), given(env, fileVariable)];
  if (value !== undefined && file !== undefined) {
    throw new ConfigError(`${variable} and ${fileVariable}: set one of them, not both`);
  }
  const from = sources?.[variable] ?? variable;
  if (value !== undefined) return { token: new Secret(SOURCES[plane].parse(value, from)), tokenFrom: from };
  if (file !== undefined) return fromFile(plane, file, `${sources?.[fileVariable] ?? fileVariable} (${file})`);
  const former = notRead(env, [variable, fileVariable]);
  if (own !== undefined && isOfContext(plane, address, chosen?.context)) {
    const kept = ofContext(own);
    return { ...kept, tokenFrom: `${kept.tokenFrom}${former}` };
  }
  if (!address.isLocal) throw unset(plane, address, chosen, former);
  return fromHere(plane, former);
}

/**
 * Whether a secret may be sent to the address of a command before somebody has said so by Enter: to this machine, and
 * to what the environment or a context names, but to no other address that stands on the line alone.
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

function unset(
  plane: SecuredPlane,
  { url, from }: Address,
  chosen: ChosenContext | undefined,
  former: string,
): ConfigError {
  const { variable, fileVariable, inContext, option } = SOURCES[plane];
  const set = `${variable} or ${fileVariable}: set one for ${url} (from ${from})${former}`;
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

/** @param from the words for where the path is from. @throws ConfigError */
function fromFile(plane: SecuredPlane, path: string, from: string): Kept {
  const text = textOf(path);
  if (typeof text === 'object') throw new ConfigError(`${from}: the file cannot be read (${text.code})`);
  return { token: new Secret(SOURCES[plane].parse(text, from)), tokenFrom: from };
}

/** The secret that a service of this folder keeps beside its data. @throws ConfigError */
function fromHere(plane: SecuredPlane, former: string): Kept {
  const { variable, fileVariable, kept, parse } = SOURCES[plane];
  const path = resolve(DATA_DIR, LOCAL_SECRETS[plane]);
  const text = textOf(path);
  if (typeof text === 'object') {
    const says = `set one; there is no ${kept} at ${path} (${text.code})${former}`;
    throw new ConfigError(`${variable} or ${fileVariable}: ${says}`);
  }
  return { token: new Secret(parse(text, path)), tokenFrom: `${path}${former}` };
}

/** The text of a file, or why there is none. @throws ConfigError where it has no end */
function textOf(path: string): string | { readonly code: string } {
  try {
    return boundedText(path) ?? { code: 'ENOENT' };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    return { code: (error as NodeJS.ErrnoException).code ?? 'unknown' };
  }
}
