import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../src/config/config.ts';
import { TOKEN_FILE } from '../src/service/files/generated-secrets.ts';
import { ask, insist, type Urls } from './http.ts';

const KEY_FILE = 'demo-api-key';

/** The API key of the demo's account; the account is made at the first start, by the operator API. */
export async function demoApiKey(config: Config, urls: Urls, signal: AbortSignal): Promise<string> {
  await ready(urls, signal);
  const file = join(config.dataDir, KEY_FILE);
  const kept = textOf(file);
  // The store may be another one than at the last start.
  if (kept !== undefined && (await ask(`${urls.api}/v1/apps`, { token: kept, signal })).status === 200) return kept;
  const token = config.operatorTokens?.[0]?.token ?? textOf(join(config.dataDir, TOKEN_FILE))?.split(/\r?\n/)[0] ?? '';
  const accounts = `${urls.ops}/operator/v1/accounts`;
  const account = await insist(201, accounts, {
    method: 'POST',
    token,
    body: { name: 'Demo', entitlement: 'enterprise' },
    signal,
  });
  const keys = `${accounts}/${String(account['accountId'])}/api-keys`;
  const key = await insist(201, keys, { method: 'POST', token, body: { name: 'demo' }, signal });
  const apiKey = String(key['apiKey']);
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  writeFileSync(file, `${apiKey}\n`, { mode: 0o600 });
  return apiKey;
}

async function ready({ ops }: Urls, signal: AbortSignal): Promise<void> {
  while ((await ask(`${ops}/readyz`, { signal })).status !== 200) await sleep(50, undefined, { signal });
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return undefined;
  }
}
