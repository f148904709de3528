import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../../config/config.ts';
import { parseOperatorTokens } from '../../config/operator-tokens.ts';
import { Secret } from '../../domain/credentials/secret.ts';

/** The address of the running service, and the token that opens it. */
export interface Connection {
  /** The URL has no slash at its end. */
  readonly url: string;
  readonly token: Secret;
}

type Environment = NodeJS.ProcessEnv;

const given = (env: Environment, name: string): string | undefined => (env[name] === '' ? undefined : env[name]);

/**
 * Takes the address and the token from the variables of the service. A token is never an argument: others could read it
 * in the list of processes and in the history of the shell.
 * @throws ConfigError
 */
export const connectionOf = (env: Environment): Connection => ({ url: opsUrl(env), token: operatorToken(env) });

/** @throws ConfigError */
export function opsUrl(env: Environment): string {
  const url = given(env, 'MUSTER_OPS_URL');
  if (url === undefined) return listening(given(env, 'MUSTER_OPS_LISTEN') ?? '127.0.0.1:8082');
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (!parsed || !/^https?:$/.test(parsed.protocol) || parsed.username || parsed.password || parsed.search) {
    throw new ConfigError('MUSTER_OPS_URL: must be http://HOST:PORT or https://HOST:PORT');
  }
  return url.replace(/\/+$/, '');
}

/** The URL of a listen address; an address for all interfaces is reached at this machine's own. */
function listening(address: string): string {
  const at = address.lastIndexOf(':');
  const [host, port] = [address.slice(0, at).replace(/^\[|\]$/g, ''), address.slice(at + 1)];
  const reached = { '0.0.0.0': '127.0.0.1', '::': '::1' }[host] ?? host;
  const url = `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`;
  if (at > 0 && URL.canParse(url)) return url;
  throw new ConfigError('MUSTER_OPS_LISTEN: must be host:port');
}

function operatorToken(env: Environment): Secret {
  const own = given(env, 'MUSTER_OPERATOR_TOKEN');
  if (own !== undefined) return new Secret(parseOperatorTokens(own, 'MUSTER_OPERATOR_TOKEN')[0]?.token ?? '');
  const file = given(env, 'MUSTER_OPERATOR_TOKEN_FILE');
  if (file !== undefined) return firstOf(file, 'MUSTER_OPERATOR_TOKEN_FILE');
  return firstOf(join(given(env, 'MUSTER_DATA_DIR') ?? './.muster', 'operator-token'), undefined);
}

function firstOf(path: string, variable: string | undefined): Secret {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    if (variable !== undefined) throw new ConfigError(`${variable}: the file cannot be read (${code})`);
    throw new ConfigError(
      'MUSTER_OPERATOR_TOKEN or MUSTER_OPERATOR_TOKEN_FILE: set one; ' +
        `there is no token of an embedded store at ${path} (${code})`,
    );
  }
  return new Secret(parseOperatorTokens(text, variable ?? path)[0]?.token ?? '');
}
