import process from 'node:process';
import { readConfig } from '../../../src/config/config.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { createLog } from '../../../src/log.ts';
import { startService } from '../../../src/service/service.ts';
import { PATIENT } from '../time/patience.ts';

/*
 * The service as its environment says, but with a rate window that admits everything: a fuzzer sends more than 600
 * requests a minute. Its deadlines are long: to some requests a fuzzer takes no answer but 401, and the 502 of a
 * machine that stood still for two seconds would be a fault.
 */

const config = readConfig(process.env);
const service = await startService({
  config,
  log: createLog(config.logLevel),
  deadlines: PATIENT,
  wrapRateWindow: (window) => ({
    fills: () => window.fills(),
    known: (accountId) => window.known(accountId),
    charge: () => ({ admitted: true, left: LIMITS.requestsPerWindowMax - 1, freesInSeconds: 60 }),
  }),
});
process.once('SIGTERM', () => void service.stop());
