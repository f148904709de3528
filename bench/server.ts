import { readConfig } from '../src/config/config.ts';
import { createLog } from '../src/log.ts';
import { startService } from '../src/service/service.ts';
import { answerBench } from './answering.ts';
import { keepingNothing } from './keeping-nothing.ts';

/** Runs Muster as the environment configures it, in a process of its own, and reports its ports and its cost. */
const config = readConfig(process.env);
const wrapStore = process.env['BENCH_KEEPS_NOTHING'] === 'true' ? keepingNothing : undefined;
const service = await startService({ config, log: createLog(config.logLevel), ...(wrapStore && { wrapStore }) });
answerBench();
process.send?.({ api: service.api.port, device: service.device.port, ops: service.ops.port });
