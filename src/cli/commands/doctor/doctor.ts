import process from 'node:process';
import { ConfigError, readConfig, type Config } from '../../../config/config.ts';
import { CommandFault, EXIT, oweStdout } from '../../terminal/exit.ts';
import { printable } from '../../terminal/table.ts';
import { finding, type Finding, type Tell } from './finding.ts';
import { lookAtMachine } from './machine.ts';
import { lookAtService } from './service.ts';
import { lookAtStore } from './store.ts';

/**
 * `muster doctor`: looks, and changes nothing. Exit code 3 where something fails.
 * @param running the service is known to run elsewhere, as in a cluster: it must answer, and its ports are not here
 */
export async function doctor(env: NodeJS.ProcessEnv, { running }: { readonly running: boolean }): Promise<void> {
  oweStdout();
  const found: Finding[] = [];
  const tell = (finding: Finding): void => {
    found.push(finding);
    process.stdout.write(`${finding.level.padEnd(4)}  ${finding.what.padEnd(13)}  ${printable(finding.says)}\n`);
  };
  const config = configured(env, tell);
  const service = await lookAtService(env, running, tell);
  if (config) {
    const keyRing = await lookAtMachine(config, running || service.runs, tell);
    await lookAtStore(config, { keyRing, serviceRuns: running || service.runs }, tell);
  }
  const fails = found.filter(({ level }) => level === 'fail').length;
  if (fails > 0) throw new CommandFault(fails === 1 ? '1 check failed.' : `${fails} checks failed.`, EXIT.bad);
}

function configured(env: NodeJS.ProcessEnv, tell: Tell): Config | undefined {
  const configuration = finding('configuration');
  try {
    const config = readConfig(env);
    tell(configuration.ok(`every variable is well; the store is ${config.store.kind}`));
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.message.split('\n')) tell(configuration.fail(line));
    return undefined;
  }
}
