import { once } from 'node:events';
import process from 'node:process';
import { readConfig } from '../../../src/config/config.ts';
import { createLog } from '../../../src/log.ts';
import { startService } from '../../../src/service/service.ts';
import { BUGS } from './bugs.ts';

/* The service as it is, but for the bug that CHAOS_PLANTED_BUG names. */

const bug = BUGS.get(process.env['CHAOS_PLANTED_BUG'] ?? '');
if (!bug) throw new Error(`CHAOS_PLANTED_BUG: name one of ${[...BUGS.keys()].join()}`);
const ending = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => ending.abort());
const config = readConfig(process.env);
const service = await startService({
  config: bug.config?.(config) ?? config,
  log: createLog(config.logLevel),
  ...(bug.store && { wrapStore: bug.store }),
});
if (!ending.signal.aborted) await once(ending.signal, 'abort');
await service.stop();
