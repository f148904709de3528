import { once } from 'node:events';
import process from 'node:process';
import { movedTo } from '../config/client-variables.ts';
import { ConfigError, readConfig, type Config } from '../config/config.ts';
import { FORMAT } from '../domain/records/store-records.ts';
import { generateMarker, systemRandom } from '../domain/credentials/random-ids.ts';
import { createLog, LogOutput } from '../log.ts';
import { systemClock } from '../time/clock.ts';
import { startService, type Service } from './service.ts';
import { StartDeadline } from './start-deadline.ts';

/** Other work while the service runs; it ends when the signal aborts. */
export type Work = (service: Service, signal: AbortSignal) => Promise<void>;

/**
 * Reads the configuration.
 * @returns undefined, with exit code 2 and words on stderr, when it is wrong
 */
export function configured(environment: NodeJS.ProcessEnv): Config | undefined {
  try {
    return readConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return misconfigured(error);
  }
}

function misconfigured(error: ConfigError): undefined {
  process.stderr.write(`muster: the configuration is wrong.\n${error.message}\n`);
  process.exitCode = 2;
}

const OUTDATED =
  'a newer Muster has raised the format of the records in the store, and this program ends: start that version in its place';

/** The words of OpenSSL have line breaks, and what shows the end of a process may show its last line alone. */
const inOneLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replaceAll(/\s*\n\s*/g, ' ').trim();

export interface RunOptions {
  /** A start that fails is told in words alone: a person looks on, and nobody gathers the log. */
  readonly inWords?: boolean;
}

/**
 * Runs the service until SIGTERM, SIGINT, SIGHUP, an uncaught fault, or a store that a newer Muster has taken over;
 * then lets the requests in flight complete and closes. Never rejects. Exit codes: 0 after a drain, 1 after a fault and
 * where the program is outdated, 2 when the configuration turns out to be wrong.
 */
export async function run(config: Config, work?: Work, { inWords = false }: RunOptions = {}): Promise<void> {
  const replicaId = generateMarker(systemRandom());
  const logOutput = new LogOutput();
  const log = createLog(config.logLevel, logOutput, { replicaId });
  for (const name of config.unknownVariables) {
    log.warn({ variable: name }, `there is no such variable${movedTo(name)}: it has no effect`);
  }
  const ending = new AbortController();
  let faulty = false;
  const end = (what: string, facts: object): undefined => {
    log.error(facts, what);
    process.exitCode = 1;
    faulty = true;
    ending.abort();
  };
  const failed = (what: string, error: unknown): undefined => end(what, { err: error });
  // A repeated signal changes nothing, since npm passes on the one that the terminal has sent already. A terminal that
  // is closed sends SIGHUP.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => ending.abort());
  // As in bin/muster.mjs, however the service is started.
  process.on('SIGUSR1', () => undefined);
  // The process never goes on after an uncaught fault: requests in flight are completed, then it ends.
  for (const fault of ['unhandledRejection', 'uncaughtException']) process.on(fault, (error) => failed(fault, error));

  const progress = new StartDeadline(systemClock);
  const starting = startService({ config, log, logOutput, replicaId, signal: ending.signal, progress });
  const service = await progress.held(starting).catch((error: unknown) => {
    // No request was in flight yet.
    if (ending.signal.aborted && !faulty) return log.info({ err: error }, 'asked to end before it had started');
    if (error instanceof ConfigError) return misconfigured(error);
    process.stderr.write(`muster cannot start: ${inOneLine(error)}\n`);
    process.exitCode = 1;
    // A start that hangs is left behind, and must not go on to serve.
    ending.abort();
    return inWords ? undefined : failed('muster cannot start', error);
  });
  if (!service) return;
  void service.outdated.then((format) => {
    if (!ending.signal.aborted) end(OUTDATED, { format, knows: FORMAT });
  });
  if (work && !ending.signal.aborted) {
    await work(service, ending.signal).catch((error: unknown) => {
      // Work that the end interrupts may reject.
      if (!ending.signal.aborted) failed('muster cannot go on', error);
    });
  }
  if (!ending.signal.aborted) await once(ending.signal, 'abort');
  // A process with a fault leaves at once, so that no more clients reach it.
  await service.stop(faulty).catch((error: unknown) => failed('muster could not stop cleanly', error));
}
