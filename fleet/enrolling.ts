import { DeviceClient, MusterError, OperatorClient, OwnerClient } from '#client';
import type { Urls } from '../src/cli/connection/service-urls.ts';
import { enrollSimulated } from '../src/cli/simulation/daemon.ts';
import { inParallel } from '../src/concurrency/in-parallel.ts';
import type { Devices } from './devices.ts';

/** An account takes 600 requests a minute, and the client spreads those beyond the first 120. */
const UNSPREAD = 100;
const PER_ACCOUNT_MAX = 1000;
/** So many accounts take more together, spread as they are, than the service has time for. */
const ACCOUNTS_ENOUGH = 120;
const AT_ONCE = 128;

/** How many accounts a fleet is spread over: as few as may be, and enough that it need not wait for their rates. */
export function accountsFor(devices: number): number {
  return Math.max(Math.ceil(devices / PER_ACCOUNT_MAX), Math.min(Math.ceil(devices / UNSPREAD), ACCOUNTS_ENOUGH));
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
  const plane = new DeviceClient({ url: urls.device });
  const accounts = accountsFor(devices.count);
  const owners: OwnerClient[] = [];
  let [enrolled, failed] = [0, 0];
  const startedAt = performance.now();
  try {
    await inParallel(upTo(accounts), { atOnce: AT_ONCE, signal }, async (account) => {
      owners.push(await openAccount(enrolling, account));
    });
    // One account after the other has its turn.
    await inParallel(upTo(devices.count), { atOnce: AT_ONCE, signal }, async (device) => {
      const owner = owners[device % accounts];
      if (owner && (await isEnrolled({ owner, plane, devices, signal }, device))) enrolled += 1;
      else failed += 1;
      progress(enrolled, failed);
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return { accounts: owners.length, enrolled, failed, seconds: (performance.now() - startedAt) / 1000 };
}

/** An Enterprise account with a key, and a configuration for its daemons. */
async function openAccount({ urls, operatorToken, signal }: Enrolling, number: number): Promise<OwnerClient> {
  const operator = new OperatorClient({ url: urls.ops, token: operatorToken });
  const { accountId } = await operator.createAccount(
    { name: `fleet ${number + 1}`, entitlement: 'enterprise' },
    { signal },
  );
  const { apiKey } = await operator.createApiKey(accountId, {}, { signal });
  const owner = new OwnerClient({ url: urls.api, apiKey });
  const config = { enabled: true, endpoint: 'https://otel.example.com', authHeader: 'Bearer fleet' };
  await owner.storeOtelConfig(config, { signal });
  return owner;
}

interface Plant {
  readonly owner: OwnerClient;
  readonly plane: DeviceClient;
  readonly devices: Devices;
  readonly signal: AbortSignal;
}

/** @throws MusterError `aborted` */
async function isEnrolled({ owner, plane, devices, signal }: Plant, device: number): Promise<boolean> {
  const identity = { credential: devices.credential(device), agentVersion: '1.0.0' };
  try {
    const app = await owner.createApp({ name: `d${device}` }, { signal });
    devices.enrolled(device, await enrollSimulated(plane, app, identity, signal));
    return true;
  } catch (error) {
    if (signal.aborted || !(error instanceof MusterError)) throw error;
    return false;
  }
}

/** The numbers from 0 on, one at a time: a list of five million would take 40 MB. */
function* upTo(count: number): Generator<number> {
  for (let number = 0; number < count; number += 1) yield number;
}
