import { ConfigError, readConfig, type Config } from '../../../config/config.ts';
import type { Column } from '../../output/columns.ts';
import { printList, refuseId } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { printable } from '../../terminal/printable.ts';
import { checkThroughService } from './deep.ts';
import { finding, type Finding, type Report } from './finding.ts';
import { checkMachine } from './machine.ts';
import { checkOpenFiles } from './open-files.ts';
import { checkService } from './service.ts';
import { checkStore } from './store.ts';

export interface DoctorOptions {
  /** The service is known to run elsewhere, as in a cluster: it must respond, and its ports and its data are not here. */
  readonly running: boolean;
  /** What takes as long as the store is large is checked, too. */
  readonly deep: boolean;
}

const COLUMNS: readonly Column<Finding>[] = [
  { head: 'LEVEL', of: ({ level }) => level },
  { head: 'WHAT', of: ({ what }) => what },
  { head: 'SAYS', of: ({ says }) => says },
];

/**
 * `muster doctor`: checks, and changes no setting and no data. An embedded store is opened as a start opens it, which
 * puts the files beside it in order and removes what an ended process held.
 * @throws CommandFault with exit code 3 where a check fails, and 2 for `-o id`, before any
 */
export async function doctor(call: Invocation, { running, deep }: DoctorOptions): Promise<void> {
  refuseId(call.globals.output, { columns: COLUMNS });
  requireWholeStdout();
  const isTable = call.globals.output === 'table';
  const found: Finding[] = [];
  // People see each finding at once, since some take long.
  const report = (finding: Finding): void => {
    found.push(finding);
    const { level, what, says } = finding;
    if (isTable) void call.terminal.stdout.write(`${level.padEnd(4)}  ${what.padEnd(13)}  ${printable(says)}\n`);
  };
  const config = configured({ ...call.env }, report);
  const service = await checkService(call, running, report);
  if (config) {
    const serviceRuns = running || service.runs;
    const keyRing = await checkMachine(config, { serviceRuns, elsewhere: running }, report);
    await checkOpenFiles(call, config, { responds: service.runs, runs: serviceRuns }, report);
    await checkStore(call, config, { keyRing, serviceRuns, serviceResponds: service.runs, deep }, report);
  }
  if (deep && service.runs) await checkThroughService(call, report);
  else if (deep && running) report(finding('audit').warn('not verified: the service cannot be reached'));
  const failed = found.filter(({ level }) => level === 'fail').length;
  const warned = found.filter(({ level }) => level === 'warn').length;
  if (!isTable) {
    await printList(call, { columns: COLUMNS, items: found, document: (findings) => ({ failed, warned, findings }) });
  }
  if (failed > 0) throw new CommandFault(failed === 1 ? '1 check failed.' : `${failed} checks failed.`, EXIT.bad);
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
