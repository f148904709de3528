import { readConfig } from '../src/config/config.ts';
import { createLog } from '../src/log.ts';
import { startService } from '../src/service/service.ts';

/** Muster as configured by the environment, in a process of its own, telling its ports and what it costs. */
const config = readConfig(process.env);
const service = await startService({ config, log: createLog(config.logLevel) });
process.on('message', (message) => {
  if (message === 'stop') void service.stop().then(() => process.disconnect());
  else process.send?.({ cpu: process.cpuUsage(), rss: process.memoryUsage.rss() });
});
process.send?.({ api: service.api.port, device: service.device.port, ops: service.ops.port });
