import process from 'node:process';
import { ConfigError, readConfig, type Config } from '../../../config/config.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import { printable } from '../../terminal/printable.ts';
import { finding, type Finding, type Report } from './finding.ts';
import { checkMachine } from './machine.ts';
import { checkService } from './service.ts';
import { checkStore } from './store.ts';

/**
 * `muster doctor`: checks, and changes no setting and no data. An embedded store is opened as a start opens it, which
 * puts the files beside it in order and removes what an ended process held.
 * @param running the service is known to run elsewhere, as in a cluster: it must respond, and its ports are not here
 * @throws CommandFault with exit code 3 where a check fails
 */
export async function doctor(env: NodeJS.ProcessEnv, { running }: { readonly running: boolean }): Promise<void> {
  requireWholeStdout();
  const found: Finding[] = [];
  const report = (finding: Finding): void => {
    found.push(finding);
    process.stdout.write(`${finding.level.padEnd(4)}  ${finding.what.padEnd(13)}  ${printable(finding.says)}\n`);
  };
  const config = configured(env, report);
  const service = await checkService(env, running, report);
  if (config) {
    const keyRing = await checkMachine(config, running || service.runs, report);
    await checkStore(config, { keyRing, serviceRuns: running || service.runs }, report);
  }
  const fails = found.filter(({ level }) => level === 'fail').length;
  if (fails > 0) throw new CommandFault(fails === 1 ? '1 check failed.' : `${fails} checks failed.`, EXIT.bad);
}

function configured(env: NodeJS.ProcessEnv, report: Report): Config | undefined {
  const configuration = finding('configuration');
  try {
    const config = readConfig(env);
    for (const name of config.unknownVariables) {
      report(configuration.fail(`${name}: there is no such variable; see docs/CONFIGURATION.md, or remove it`));
    }
    report(configuration.ok(`every variable of Muster is valid; the store is ${config.store.kind}`));
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.message.split('\n')) report(configuration.fail(line));
    return undefined;
  }
}
