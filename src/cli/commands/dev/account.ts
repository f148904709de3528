import { join } from 'node:path';
import { MusterError, OperatorClient, OwnerClient } from '#client';
import type { Config } from '../../../config/config.ts';
import { firstOperatorToken } from '../../../config/operator-tokens.ts';
import { makeDirectories } from '../../../service/files/directories.ts';
import { TOKEN_FILE } from '../../../service/files/generated-secrets.ts';
import { writeNewFile } from '../../../service/files/new-file.ts';
import { DEMO_KEY_FILE } from '../../connection/connection.ts';
import { boundedText } from '../../connection/context-file.ts';
import type { Urls } from '../../connection/service-urls.ts';

/**
 * The API key of an account to begin with, which is made at the first start by the operator API, and kept in a file
 * beside the data.
 * @throws MusterError
 */
export async function demoApiKey(config: Config, urls: Urls, signal: AbortSignal): Promise<string> {
  const token =
    config.operatorTokens?.find(({ role }) => role === 'operator')?.token ??
    tokenIn(textOf(join(config.dataDir, TOKEN_FILE)));
  const operator = new OperatorClient({ url: urls.ops, token });
  // It answers 503 until the service is ready, which the client waits out.
  await operator.request({ method: 'GET', path: '/readyz' }, { signal });
  const file = join(config.dataDir, DEMO_KEY_FILE);
  const kept = textOf(file);
  if (kept !== undefined && (await isTaken(urls, kept, signal))) return kept;
  const { accountId } = await operator.createAccount({ name: 'Demo', entitlement: 'enterprise' }, { signal });
  const { apiKey } = await operator.createApiKey(accountId, { name: 'demo' }, { signal });
  makeDirectories(config.dataDir);
  await writeNewFile(file, { replace: true }, (put) => put(`${apiKey}\n`));
  return apiKey;
}

/** The store may be another one than at the last start. */
async function isTaken({ api }: Urls, apiKey: string, signal: AbortSignal): Promise<boolean> {
  try {
    await new OwnerClient({ url: api, apiKey }).listApps({ signal });
    return true;
  } catch (error) {
    if (error instanceof MusterError && (error.status === 401 || error.code === 'invalid_argument')) return false;
    throw error;
  }
}

const tokenIn = (text: string | undefined): string => (text === undefined ? '' : firstOperatorToken(text));

/** Undefined where there is none, or an empty one. */
const textOf = (path: string): string | undefined => boundedText(path)?.trim() || undefined;
