import { setTimeout as sleep } from 'node:timers/promises';
import { DeviceClient } from '#client';
import { exchange } from '../src/cli/simulation/opamp-exchange.ts';
import { enrolled, newApp } from '../src/domain/apps/app-state.ts';
import { generateAccountId, generateAppId, systemRandom } from '../src/domain/credentials/random-ids.ts';
import { generateApiKey, generateCredential, generateEnrollCode, tokenHash } from '../src/domain/credentials/tokens.ts';
import { put } from '../src/domain/records/codec.ts';
import { KEYS } from '../src/domain/records/keys.ts';
import { settleFormat } from '../src/domain/replicas/format.ts';
import { AGENT_CAN } from '../src/opamp/capabilities.ts';
import { newInstanceUid } from '../src/opamp/instance-uid.ts';
import { agentMessageBytes, OPAMP_TYPE } from '../src/opamp/messages.ts';
import { openStore, type StoreChoice } from '../src/service/open-store.ts';
import { expectRevision } from '../src/store/entry.ts';
import type { Store, Write } from '../src/store/port.ts';
import { request } from './load.ts';

/** An account as its owner and its first daemon know it. */
export interface Seeded {
  readonly accountId: string;
  readonly token: string;
  readonly appId: string;
  readonly credential: string;
}

type SeededApp = Pick<Seeded, 'appId' | 'credential'>;

interface SeedPlan {
  readonly accounts: number;
  readonly appsEach: number;
  /** Of every app; by the number of the app without it. */
  readonly appName?: string;
}

const random = systemRandom();
const WRITES_PER_COMMIT = 120;

/**
 * Writes accounts with a key and enrolled apps straight into the store, before the service opens it: over HTTP an
 * account takes 600 requests a minute.
 */
export async function seed(choice: StoreChoice, plans: readonly SeedPlan[]): Promise<Seeded[][]> {
  await using store = await openStore(choice);
  await settleFormat(store);
  const seeded: Seeded[][] = [];
  for (const { accounts, ...plan } of plans) {
    const group: Seeded[] = [];
    const writes: Write[] = [];
    for (let i = 0; i < accounts; i += 1) group.push(account(writes, plan));
    for (let i = 0; i < writes.length; i += WRITES_PER_COMMIT)
      await commit(store, writes.slice(i, i + WRITES_PER_COMMIT));
    seeded.push(group);
  }
  return seeded;
}

async function commit(store: Store, write: readonly Write[]): Promise<void> {
  const format = await store.get(KEYS.format());
  if (!format) throw new Error('the store has no format');
  await store.commit({ expect: [expectRevision(KEYS.format(), format.revision)], write });
}

function account(writes: Write[], { appsEach: apps, appName }: Omit<SeedPlan, 'accounts'>): Seeded {
  const at = Date.now();
  const accountId = generateAccountId(random);
  const { keyId, token } = generateApiKey(random);
  writes.push(
    put(KEYS.account(accountId), { name: 'bench', entitlement: 'enterprise', disabled: false, createdAt: at }),
    put(KEYS.apiKey(accountId, keyId), { name: '', hash: tokenHash(token.reveal()), createdAt: at }),
    put(KEYS.keyLocator(keyId), { accountId }),
    put(KEYS.counters(accountId), { apps, nextSlot: apps, idempotencyNext: 0 }),
  );
  let first: SeededApp | undefined;
  for (let slot = 0; slot < apps; slot += 1) {
    const app = enrolledApp(writes, accountId, slot, at, appName);
    first ??= app;
  }
  return { accountId, token: token.reveal(), appId: first?.appId ?? '', credential: first?.credential ?? '' };
}

function enrolledApp(writes: Write[], accountId: string, slot: number, at: number, name = `app ${slot}`): SeededApp {
  const appId = generateAppId(random);
  const credential = generateCredential(random).reveal();
  const code = tokenHash(generateEnrollCode(random).reveal());
  const pending = newApp(name, slot, at + slot, { hash: code, issuedAt: at });
  const binding = { code, credential: tokenHash(credential), platform: 'linux', agentVersion: '1.0.0', at } as const;
  writes.push(
    put(KEYS.app(accountId, appId), enrolled(pending, { ...binding, connection: 'cloud' })),
    put(KEYS.credential(binding.credential), { accountId, appId }),
  );
  return { appId, credential };
}

/** A daemon that has its configuration. */
export interface Polling {
  readonly credential: string;
  readonly etag: string;
  /** A poll that will be answered 304. */
  readonly bytes: string;
}

/** An acknowledgement that tells nothing new, of each of the apps. */
export async function acknowledgements(
  ports: { device: number },
  polling: readonly Polling[],
): Promise<readonly string[]> {
  const body = { revision: 0, status: 'applied' } as const;
  const url = `http://127.0.0.1:${ports.device}`;
  await Promise.all(polling.map(({ credential }) => new DeviceClient({ url, credential }).acknowledgeConfig(body)));
  return polling.map(({ credential }) =>
    request(
      'POST',
      '/device/v1/config/ack',
      { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
      JSON.stringify(body),
    ),
  );
}

const ATTEMPTS_MAX = 30;

/** The heartbeat of an agent of OpAMP on each of the apps, after all of its state: it tells nothing new. */
export async function heartbeats(ports: { device: number }, polling: readonly Polling[]): Promise<readonly Buffer[]> {
  const url = `http://127.0.0.1:${ports.device}/v1/opamp`;
  const { signal } = new AbortController();
  const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
  return await Promise.all(
    polling.map(async ({ credential }) => {
      const agent = {
        instanceUid: newInstanceUid(),
        capabilities: AGENT_CAN.reportStatus | AGENT_CAN.acceptRemoteConfig | AGENT_CAN.reportRemoteConfig,
      };
      const state = agentMessageBytes({
        ...agent,
        sequenceNum: 1n,
        agentDescription: {
          identifyingAttributes: [attribute('service.version', '1.0.0')],
          nonIdentifyingAttributes: [attribute('os.type', 'linux')],
        },
        remoteConfigStatus: {},
      });
      // A service that has just opened a large store may be behind it for a moment.
      for (let attempt = 1; ; attempt += 1) {
        try {
          await exchange({ url, credential, fetch }, state, signal);
          break;
        } catch (error) {
          if (attempt === ATTEMPTS_MAX) throw error;
          await sleep(1000);
        }
      }
      const body = agentMessageBytes({ ...agent, sequenceNum: 2n });
      const head = request('POST', '/v1/opamp', {
        Authorization: `Bearer ${credential}`,
        'Content-Type': OPAMP_TYPE,
        'Content-Length': String(body.length),
      });
      return Buffer.concat([Buffer.from(head), body]);
    }),
  );
}

/** The first app of each account, after its first poll. */
export async function polls(ports: { device: number }, accounts: readonly Seeded[]): Promise<Polling[]> {
  return await Promise.all(
    accounts.map(async ({ credential }) => {
      const { etag } = await new DeviceClient({ url: `http://127.0.0.1:${ports.device}`, credential }).pollConfig();
      if (etag === undefined) throw new Error('The poll had no ETag.');
      const again = { Authorization: `Bearer ${credential}`, 'If-None-Match': etag };
      return { credential, etag, bytes: request('GET', '/device/v1/config', again) };
    }),
  );
}
