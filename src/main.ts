import process from 'node:process';
import { configured, run } from './service/run.ts';
import { endSoon } from './service/start-deadline.ts';

/*
 * `node src/main.ts` runs the service as its environment says, until SIGTERM, SIGINT or SIGHUP. Exit codes: 0 after a
 * drain, 1 after a fault, 2 when the configuration is wrong.
 */

const config = configured(process.env);
if (config) await run(config);
endSoon();
