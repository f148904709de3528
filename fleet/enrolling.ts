import { OperatorClient, OwnerClient } from '#client';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { Connections, headerOf, requestText, type Reply } from './connections.ts';
import type { Devices } from './devices.ts';
import { pauseFor } from './pauses.ts';

/**
 * An account takes 600 requests a minute: this many of its devices are set up at a time, in turn with the other
 * accounts.
 */
const PER_TURN = 500;
const PER_ACCOUNT_MAX = 1000;
/** From here on the turns of all accounts take more than a minute anyway. */
const SPREAD_OVER = 120;
const AT_ONCE = 128;

/**
 * How many accounts a fleet is spread over: as few as may be, and enough that a small one does not wait for its window.
 */
export function accountsFor(devices: number): number {
  return Math.max(Math.ceil(devices / PER_ACCOUNT_MAX), Math.min(Math.ceil(devices / PER_TURN), SPREAD_OVER));
}

export interface Enrolling {
  readonly urls: Urls;
  readonly operatorToken: string;
  readonly devices: Devices;
  readonly signal: AbortSignal;
  /** Called for each device that is enrolled or has failed. */
  readonly progress: (enrolled: number, failed: number) => void;
}

export interface Enrolled {
  readonly accounts: number;
  readonly enrolled: number;
  readonly failed: number;
  readonly seconds: number;
}

/**
 * Makes accounts, apps and daemons, as operator, owner and machine would. An aborted call returns what it did so far.
 */
export async function enrollAll(enrolling: Enrolling): Promise<Enrolled> {
  const { urls, devices, signal, progress } = enrolling;
  const api = new Connections(urls.api, AT_ONCE);
  const plane = new Connections(urls.device, AT_ONCE);
  const accounts = accountsFor(devices.count);
  let [enrolled, failed] = [0, 0];
  const startedAt = performance.now();
  const apiKeys: string[] = [];
  const order = inTurns(devices.count, accounts);
  async function work(): Promise<void> {
    for (const { device, account } of order) {
      if (signal.aborted) return;
      const isIn = await enrollOne({ api, plane, devices, signal }, device, apiKeys[account] ?? '');
      if (signal.aborted) return;
      if (isIn) enrolled += 1;
      else failed += 1;
      progress(enrolled, failed);
    }
  }
  try {
    for (let account = 0; account < accounts; account += 1) apiKeys.push(await openAccount(enrolling, account));
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    api.close();
    plane.close();
  }
  return { accounts: apiKeys.length, enrolled, failed, seconds: (performance.now() - startedAt) / 1000 };
}

/** Yields every device with its account, in turns of one account after the other. All workers share the generator. */
function* inTurns(devices: number, accounts: number): Generator<{ readonly device: number; readonly account: number }> {
  const per = Math.ceil(devices / accounts);
  for (let turn = 0; turn * PER_TURN < per; turn += 1) {
    for (let account = 0; account < accounts; account += 1) {
      const last = Math.min(per, (turn + 1) * PER_TURN);
      for (let place = turn * PER_TURN; place < last; place += 1) {
        const device = account * per + place;
        if (device < devices) yield { device, account };
      }
    }
  }
}

/** An Enterprise account with a key, and a configuration for its daemons. */
async function openAccount({ urls, operatorToken, signal }: Enrolling, number: number): Promise<string> {
  const operator = new OperatorClient({ url: urls.ops, token: operatorToken });
  const { accountId } = await operator.createAccount(
    { name: `fleet ${number + 1}`, entitlement: 'enterprise' },
    { signal },
  );
  const { apiKey } = await operator.createApiKey(accountId, {}, { signal });
  const owner = new OwnerClient({ url: urls.api, apiKey });
  const config = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'Bearer fleet' };
  await owner.storeOtelConfig(config, { signal });
  return apiKey;
}

interface Plant {
  readonly api: Connections;
  readonly plane: Connections;
  readonly devices: Devices;
  readonly signal: AbortSignal;
}

async function enrollOne({ api, plane, devices, signal }: Plant, device: number, apiKey: string): Promise<boolean> {
  const owner = { Authorization: `Bearer ${apiKey}` };
  const created = await withRetry(api, requestText('POST', '/v1/apps', owner, { name: `d${device}` }), signal);
  if (created?.status !== 201) return false;
  const { appId, enrollCode } = JSON.parse(created.body) as { appId: string; enrollCode: string };
  const body = {
    appId,
    enrollCode,
    platform: 'linux/amd64',
    agentVersion: '1.0.0',
    connection: 'cloud',
    credentialHash: devices.credentialHash(device),
  };
  const proof = { Authorization: `Bearer ${devices.credential(device)}` };
  const enrolled = await withRetry(plane, requestText('POST', '/device/v1/enroll', proof, body), signal);
  if (enrolled?.status !== 200) return false;
  devices.enrolled(device, (JSON.parse(enrolled.body) as { pollIntervalSeconds: number }).pollIntervalSeconds);
  return true;
}

/** The statuses of requests that had no answer (0), or are to be repeated. */
const PASSING: ReadonlySet<number> = new Set([0, 429, 502, 503]);
const ATTEMPTS_MAX = 20;

async function withRetry(to: Connections, request: string, signal: AbortSignal): Promise<Reply | undefined> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const reply = await to.ask(request);
    if (!PASSING.has(reply?.status ?? 0) || signal.aborted) return reply;
    await pauseFor(Number(headerOf(reply?.head ?? '', 'retry-after')) || 1, signal);
  }
  return undefined;
}
