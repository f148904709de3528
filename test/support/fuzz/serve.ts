import process from 'node:process';
import { readConfig } from '../../../src/config/config.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { createLog } from '../../../src/log.ts';
import { startService } from '../../../src/service/service.ts';

/* The service as its environment says, but with a rate window that admits everything: a fuzzer sends more than 600 requests a minute. */

const config = readConfig(process.env);
const service = await startService({
  config,
  log: createLog(config.logLevel),
  wrapRateWindow: (window) => ({
    fills: () => window.fills(),
    known: (accountId) => window.known(accountId),
    charge: () => ({ admitted: true, left: LIMITS.requestsPerWindowMax - 1, freesInSeconds: 60 }),
  }),
});
process.once('SIGTERM', () => void service.stop());
