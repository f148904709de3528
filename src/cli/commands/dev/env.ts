import { existsSync } from 'node:fs';
import { ConfigError } from '../../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../../config/rules.ts';
import { listening, variableOf, type Plane } from '../../connection/address.ts';
import { localSecretFile, type SecuredPlane } from '../../connection/connection.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { fishQuoted, shellQuoted } from '../../../text/shell-words.ts';

export interface EnvOptions {
  readonly shell: 'sh' | 'fish';
  readonly dataDir?: string;
}

const PLANES: readonly Plane[] = ['api', 'ops', 'device'];
const SECRETS: Readonly<Record<SecuredPlane, string>> = { api: 'MUSTER_API_KEY', ops: 'MUSTER_OPERATOR_TOKEN' };

/**
 * `muster env`: the lines with which a shell makes every command find the embedded service of this machine. They have
 * the names of files and never a secret.
 * @throws CommandFault where no service has been there yet; ConfigError
 */
export async function env(call: Invocation, { shell, dataDir }: EnvOptions): Promise<void> {
  const environment = { ...call.env, ...(dataDir !== undefined && { MUSTER_DATA_DIR: dataDir }) };
  const lines = PLANES.map((plane) => setting(shell, variableOf(plane), addressOf(plane, environment)));
  let found = 0;
  for (const [plane, variable] of Object.entries(SECRETS) as [SecuredPlane, string][]) {
    const file = localSecretFile(plane, environment);
    if (!existsSync(file)) continue;
    found += 1;
    lines.push(setting(shell, `${variable}_FILE`, file));
    // The value itself would come before the file, and may be that of another service.
    if (call.env[variable]) lines.push(unsetting(shell, variable));
  }
  if (found === 0) {
    const where = dataDirectoryOf(environment);
    throw new CommandFault(`No embedded service has been started in ${where}: \`muster dev\` starts one.`, EXIT.failed);
  }
  await call.terminal.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

function addressOf(plane: Plane, environment: Invocation['env']): string {
  const { url, from } = listening(plane, { env: environment });
  if (!url.endsWith(':0')) return url;
  throw new ConfigError(`${from}: port 0 is another one at each start: set ${variableOf(plane)} by hand`);
}

function setting(shell: EnvOptions['shell'], name: string, value: string): string {
  return shell === 'fish' ? `set -gx ${name} ${fishQuoted(value)}` : `export ${name}=${shellQuoted(value)}`;
}

const unsetting = (shell: EnvOptions['shell'], name: string): string =>
  shell === 'fish' ? `set -e ${name}` : `unset ${name}`;
