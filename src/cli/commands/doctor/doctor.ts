import { readdirSync } from 'node:fs';
import { CLIENT, movedTo } from '../../../config/client-variables.ts';
import { ConfigError, readConfig, type Config } from '../../../config/config.ts';
import { dataDirectoryOf } from '../../../config/rules.ts';
import { addressOf } from '../../connection/address.ts';
import { chosenContext, given } from '../../connection/chosen-context.ts';
import { serviceHere, TOKEN_VALUE, type ServiceHere } from '../../connection/service-here.ts';
import { isLoopback } from '../../connection/service-urls.ts';
import type { Column } from '../../output/columns.ts';
import { printList, refuseId } from '../../output/print.ts';
import { CommandFault, EXIT, requireWholeStdout, wordsOf } from '../../terminal/exit.ts';
import type { Invocation } from '../../terminal/invocation.ts';
import { printable } from '../../terminal/printable.ts';
import { checkThroughService } from './deep.ts';
import { finding, type Finding, type Report } from './finding.ts';
import { checkMachine, checkProgram } from './machine.ts';
import { checkOpenFiles } from './open-files.ts';
import { checkService } from './service.ts';
import { checkStore } from './store.ts';

export interface DoctorOptions {
  /**
   * The service is known to run elsewhere, as in a cluster: it must respond, and its ports and its data are not here.
   */
  readonly running: boolean;
  /** Checks that take the longer, the larger the store is, run as well. */
  readonly deep: boolean;
}

const COLUMNS: readonly Column<Finding>[] = [
  { head: 'LEVEL', field: 'level' },
  { head: 'WHAT', field: 'what' },
  { head: 'SAYS', field: 'says' },
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
  const { variables, sources } = clientHere(call, report);
  const asking = { ...call, env: { ...call.env, ...variables }, sources };
  const alone = config && whyAlone(call);
  const service = await checkService(asking, running || alone?.inAnyCase === true, report);
  if (config && (alone === undefined || !(alone.inAnyCase || service.runs))) {
    report(finding('configuration').ok(`every variable of Muster is valid; the store is ${config.store.kind}`));
    const serviceRuns = running || service.runs;
    const keyRing = await checkMachine(config, { serviceRuns, elsewhere: running }, report);
    await checkOpenFiles(asking, config, { responds: service.runs, runs: serviceRuns }, report);
    await checkStore(call, config, { keyRing, serviceRuns, serviceResponds: service.runs, deep }, report);
  } else if (config) {
    report(finding('configuration').ok(`${alone?.why}: the service that is asked is judged alone`));
    checkProgram(report);
  }
  if (deep && service.runs) await checkThroughService(asking, report);
  else if (deep && running) report(finding('audit').warn('not verified: the service cannot be reached'));
  const failed = found.filter(({ level }) => level === 'fail').length;
  const warned = found.filter(({ level }) => level === 'warn').length;
  if (!isTable) {
    await printList(call, { columns: COLUMNS, items: found, document: (findings) => ({ failed, warned, findings }) });
  }
  if (failed > 0) throw new CommandFault(failed === 1 ? '1 check failed.' : `${failed} checks failed.`, EXIT.bad);
}

/**
 * An option, a variable of the client or a context leads to a service, which may be another one than that of this
 * folder.
 */
function isPointed(call: Invocation): boolean {
  if (call.globals.url !== undefined || given(call.env, CLIENT.opsUrl) !== undefined) return true;
  try {
    return chosenContext(call) !== undefined;
  } catch {
    // The check of the service tells of it.
    return true;
  }
}

type Client = Pick<ServiceHere, 'variables' | 'sources'>;

/** The variables by which a client asks the service that is configured here, where none of its own leads elsewhere. */
function clientHere(call: Invocation, report: Report): Client {
  const { env } = call;
  const nothing = { variables: {}, sources: {} };
  try {
    if (isPointed(call)) return nothing;
    const { variables, sources } = serviceHere(env, ['ops']);
    const token = given(env, TOKEN_VALUE);
    if ([CLIENT.operatorToken, CLIENT.operatorTokenFile].some((name) => given(env, name) !== undefined)) {
      for (const all of [variables, sources]) delete all[CLIENT.operatorTokenFile];
    } else if (token !== undefined) {
      variables[CLIENT.operatorToken] = token;
      sources[CLIENT.operatorToken] = TOKEN_VALUE;
    }
    return { variables, sources };
  } catch (error) {
    report(finding('service').fail(wordsOf(error)));
    return nothing;
  }
}

interface Alone {
  readonly why: string;
  /** Also where it does not respond, which is a fault then. */
  readonly inAnyCase: boolean;
}

/**
 * Why the service that is asked is judged alone, and not the data, the key file and the ports of this machine too: no
 * variable names a store or a key file, and the data directory has no data, or is that of another service. It would be
 * blamed for what it has nothing to do with. Where nothing leads to a service either, or a variable names
 * the directory, this is the place of a first start unless one responds.
 */
function whyAlone(call: Invocation): Alone | undefined {
  const { env } = call;
  if (['MUSTER_STORE', 'MUSTER_KEY_FILE'].some((name) => given(env, name) !== undefined)) return undefined;
  const folder = dataDirectoryOf(env);
  const isNamed = given(env, 'MUSTER_DATA_DIR') !== undefined;
  if (isEmpty(folder)) return { inAnyCase: !isNamed && isPointed(call), why: `there is no data in ${folder}` };
  if (isNamed || !isPointed(call) || isOfFolder(call)) return undefined;
  return { inAnyCase: true, why: `${folder} is of another service` };
}

/** One that cannot be read has something that is to be told. */
function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

/** Whether the service that is asked listens where the one of this folder does. */
function isOfFolder(call: Invocation): boolean {
  try {
    const [asked, own] = [addressOf('ops', call).url, serviceHere(call.env).variables[CLIENT.opsUrl] ?? ''];
    const [{ hostname, port }, of] = [new URL(asked), new URL(own)];
    return asked === own || (port === of.port && isLoopback(hostname) && isLoopback(of.hostname));
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

function configured(env: NodeJS.ProcessEnv, report: Report): Config | undefined {
  const configuration = finding('configuration');
  try {
    const config = readConfig(env);
    for (const name of config.unknownVariables) {
      report(
        configuration.fail(
          `${name}: there is no such variable${movedTo(name)}; see docs/CONFIGURATION.md, or remove it`,
        ),
      );
    }
    return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const line of error.message.split('\n')) report(configuration.fail(line));
    return undefined;
  }
}
