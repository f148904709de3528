import { resolve } from 'node:path';
import process from 'node:process';
import { configured, run } from '../src/service/run.ts';
import { demoApiKey } from './account.ts';
import { greeting } from './greeting.ts';
import { urlsOf } from './http.ts';

/*
 * `npm start`: the service as its environment says, which is on the embedded store where it says nothing, with an
 * account and an API key to begin with.
 */

const config = configured({ ...process.env, MUSTER_LOG_LEVEL: process.env['MUSTER_LOG_LEVEL'] || 'warn' });
if (config) {
  await run(config, async (service, signal) => {
    const urls = urlsOf(service);
    const apiKey = await demoApiKey(config, urls, signal);
    process.stdout.write(greeting(urls, apiKey, resolve(config.dataDir)));
  });
}
