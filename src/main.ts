import process from 'node:process';
import { ConfigError, readConfig, type Config } from './config.ts';
import { createLog } from './log.ts';
import { startService, type Service } from './service.ts';

/*
 * `node src/main.ts` runs the service as its environment says, until SIGTERM or SIGINT. Exit codes: 0 after a drain,
 * 1 after a fault, 2 when the configuration is wrong.
 */

function configured(): Config | undefined {
  try {
    return readConfig(process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`muster: the configuration is wrong.\n${error.message}\n`);
    process.exitCode = 2;
    return undefined;
  }
}

async function main(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  let service: Service | undefined;
  const stop = (): void => {
    service?.stop().catch((error: unknown) => {
      log.error({ err: error }, 'muster could not stop cleanly');
      process.exitCode = 1;
    });
  };
  const ended = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      ended.abort();
      stop();
    });
  }
  // The process never runs on after a fault that nobody caught: what is under way is answered, then it ends.
  for (const fault of ['unhandledRejection', 'uncaughtException'] as const) {
    process.on(fault, (error: unknown) => {
      log.error({ err: error }, fault);
      process.exitCode = 1;
      stop();
    });
  }
  try {
    service = await startService({ config, log });
    if (ended.signal.aborted) stop();
  } catch (error) {
    log.error({ err: error }, 'muster cannot start');
    process.exitCode = 1;
  }
}

const config = configured();
if (config) await main(config);
