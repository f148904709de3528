import { CLIENT, type ClientVariable } from '../../../config/client-variables.ts';
import { ConfigError } from '../../../config/files/config-error.ts';
import { dataDirectoryOf } from '../../../config/rules.ts';
import { variableOf } from '../../connection/address.ts';
import { listenVariableOf, PLANES, serviceHere, TOKEN_VALUE } from '../../connection/service-here.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { fishQuoted, shellQuoted } from '../../../text/shell-words.ts';

export interface EnvOptions {
  readonly shell: 'sh' | 'fish';
  readonly dataDir?: string;
}

/** They lead to a service or open it: those of another one would go on to be used. */
const OF_ANOTHER: readonly ClientVariable[] = [
  CLIENT.apiKey,
  CLIENT.apiKeyFile,
  CLIENT.operatorToken,
  CLIENT.operatorTokenFile,
  CLIENT.caFile,
];

/**
 * `muster env`: the lines with which a shell makes every command find the service of this machine that its own
 * variables configure. They have the names of files and never a secret.
 * @throws CommandFault where no service has been there yet; ConfigError
 */
export async function env(call: Invocation, { shell, dataDir }: EnvOptions): Promise<void> {
  const environment = { ...call.env, ...(dataDir !== undefined && { MUSTER_DATA_DIR: dataDir }) };
  const { variables, hasTokenValue } = serviceHere(environment);
  for (const plane of PLANES) {
    if (!variables[variableOf(plane)]?.endsWith(':0')) continue;
    const listen = listenVariableOf(plane);
    throw new ConfigError(`${listen}: port 0 is another one at each start: set ${variableOf(plane)} by hand`);
  }
  if (!hasTokenValue && !(CLIENT.apiKeyFile in variables) && !(CLIENT.operatorTokenFile in variables)) {
    const where = dataDirectoryOf(environment);
    throw new CommandFault(`No embedded service has been started in ${where}: \`muster dev\` starts one.`, EXIT.failed);
  }
  const lines = Object.entries(variables).map(([name, value]) => setting(shell, name, quotedBy(shell)(value)));
  if (hasTokenValue) lines.push(setting(shell, CLIENT.operatorToken, `"$${TOKEN_VALUE}"`));
  const set = new Set([...Object.keys(variables), ...(hasTokenValue ? [CLIENT.operatorToken] : [])]);
  for (const name of OF_ANOTHER) {
    if (call.env[name] && !set.has(name)) lines.push(unsetting(shell, name));
  }
  await call.terminal.stdout.write(lines.map((line) => `${line}\n`).join(''));
}

const quotedBy = (shell: EnvOptions['shell']): ((text: string) => string) =>
  shell === 'fish' ? fishQuoted : shellQuoted;

/** @param word as the shell reads it */
const setting = (shell: EnvOptions['shell'], name: string, word: string): string =>
  shell === 'fish' ? `set -gx ${name} ${word}` : `export ${name}=${word}`;

const unsetting = (shell: EnvOptions['shell'], name: string): string =>
  shell === 'fish' ? `set -e ${name}` : `unset ${name}`;
