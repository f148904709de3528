import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type CreatedApp,
  type MusterOptions,
} from '../../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const url = inject('etcd');

interface Pair extends AsyncDisposable {
  readonly one: Muster;
  readonly other: Muster;
  /** The store of `other`. */
  readonly others: FaultyStore;
}

/** Two replicas of one fleet. */
async function pair(options: Pick<MusterOptions, 'clock'> = {}): Promise<Pair> {
  const shared = { store: `etcd:${url}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` }, ...options };
  const one = await Muster.start(shared);
  let others: FaultyStore | undefined;
  const other = await Muster.start({ ...shared, wrapStore: (store: Store) => (others = faultyStore(store)) });
  if (!others) throw new Error('the store was not wrapped');
  return {
    one,
    other,
    others,
    async [Symbol.asyncDispose]() {
      await Promise.all([one, other].map((muster) => muster[Symbol.asyncDispose]()));
    },
  };
}

/** So many are revoked or deleted, half of them each. */
const ROUNDS = 2 * runs(10);
const CREATED = runs(5);
const operator = (muster: Muster, path: string): string => `${muster.ops}/operator/v1/accounts/${path}`;
const withKey = (apiKey: string, method = 'POST') => ({ method, token: apiKey });

interface Daemon {
  readonly app: CreatedApp;
  readonly credential: string;
  readonly apiKey: string;
}

async function daemons(muster: Muster, count: number): Promise<Daemon[]> {
  return await Promise.all(
    Array.from({ length: count }, async () => {
      const { apiKey } = await tenant(muster);
      const app = await createApp(muster, apiKey);
      return { app, credential: await enroll(muster, app), apiKey };
    }),
  );
}

type Each = <T>(all: readonly T[], act: (one: T, round: number) => Promise<void>) => Promise<void>;

const oneByOne: Each = async (all, act) => {
  for (const [round, one] of all.entries()) await act(one, round);
};
/**
 * A replica whose watch is silent waits for 50 ms of each request before it reads the store itself: all rounds do so
 * together.
 */
const allAtOnce: Each = async (all, act) => void (await Promise.all(all.map(act)));

describe.skipIf(url === undefined).each([
  ['hears', oneByOne],
  ['is deaf', allAtOnce],
])('two replicas on one etcd, of which the other %s', (hearing, each) => {
  let replicas: Pair;
  let fleet: Daemon[];
  let accounts: Awaited<ReturnType<typeof tenant>>[];

  beforeAll(async () => {
    replicas = await pair();
    const { one, other, others } = replicas;
    fleet = await daemons(one, ROUNDS);
    accounts = await Promise.all(Array.from({ length: ROUNDS }, () => tenant(one)));
    // It knows all of them, and does not hear what becomes of them.
    await poll(other, fleet[0]?.credential ?? '');
    others.deaf = hearing === 'is deaf';
  });
  afterAll(() => replicas[Symbol.asyncDispose]());

  test('revoked or deleted through one, refused by the other on its very next request', async () => {
    const { one, other } = replicas;
    await each(fleet, async ({ app, credential, apiKey }, round) => {
      expect((await poll(other, credential)).status).toBe(200);
      const path = `${one.api}/v1/apps/${app.appId}`;
      if (round % 2 === 0) expect((await call(`${path}/revoke`, withKey(apiKey))).status).toBe(200);
      else expect((await call(path, withKey(apiKey, 'DELETE'))).status).toBe(204);
      const next = await poll(other, credential);
      expect(next).toMatchObject({ status: 401, body: { error: { code: 'invalid_credential' } } });
    });
  });

  test('a revoked API key and a disabled account are refused by the other on its very next request', async () => {
    const { one, other } = replicas;
    await each(accounts, async ({ accountId, apiKey, keyId }, round) => {
      expect((await call(`${other.api}/v1/apps`, { token: apiKey })).status).toBe(200);
      if (round % 2 === 0) {
        const gone = await call(operator(one, `${accountId}/api-keys/${keyId}`), withKey(OPERATOR_TOKEN, 'DELETE'));
        expect(gone.status).toBe(204);
      } else {
        const body = { disabled: true };
        const changed = await call(operator(one, accountId), { ...withKey(OPERATOR_TOKEN, 'PATCH'), body });
        expect(changed.status).toBe(200);
      }
      const next = await call(`${other.api}/v1/apps`, { token: apiKey });
      const code = round % 2 === 0 ? 'invalid_key' : 'account_disabled';
      expect(next).toMatchObject({ status: 401, body: { error: { code } } });
    });
  });

  test('an app that one replica created is shown by the very next request to the other', async () => {
    const { one, other } = replicas;
    const { apiKey } = await tenant(one);
    for (let round = 0; round < CREATED; round += 1) {
      const { appId } = await createApp(one, apiKey, `app ${round}`);
      const [read, { body }] = await Promise.all([
        call(`${other.api}/v1/apps/${appId}`, { token: apiKey }),
        call(`${other.api}/v1/apps`, { token: apiKey }),
      ]);
      expect(read).toMatchObject({ status: 200, body: { appId, name: `app ${round}` } });
      expect(body['apps']).toHaveLength(round + 1);
    }
  });
});

describe.skipIf(url === undefined)('two replicas on one etcd', () => {
  let replicas: Pair;
  beforeAll(async () => {
    replicas = await pair();
  });
  afterAll(() => replicas[Symbol.asyncDispose]());

  test('a held poll is ended by a revocation through the other', async () => {
    const { one, other } = replicas;
    const { apiKey } = await tenant(one);
    const app = await createApp(one, apiKey);
    const credential = await enroll(one, app);
    const etag = (await poll(other, credential)).headers.get('etag') ?? '';
    const held = poll(other, credential, { 'if-none-match': etag, prefer: 'wait=50' });
    await until(async () => (await call(`${other.ops}/metrics`)).text.includes('muster_held_polls 1'));
    await call(`${one.api}/v1/apps/${app.appId}/revoke`, withKey(apiKey));
    expect((await held).status).toBe(401);
  });

  test('one code on both at once enrolls exactly one daemon', async () => {
    const { one, other } = replicas;
    const { apiKey } = await tenant(one);
    for (let round = 0; round < runs(10); round += 1) {
      const app = await createApp(one, apiKey);
      const enrolling = [one, other, one, other].map((muster) => enroll(muster, app));
      const ends = await Promise.allSettled(enrolling);
      const credentials = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      expect(credentials).toHaveLength(1);
      for (const end of ends) if (end.status === 'rejected') expect(String(end.reason)).toContain('invalid_code');
      for (const muster of [one, other]) expect((await poll(muster, credentials[0] ?? '')).status).toBe(200);
    }
  });

  test('the last contact with one replica is shown by the other', async () => {
    const clock = new FakeClock();
    await using timed = await pair({ clock });
    const { one, other } = timed;
    const { apiKey } = await tenant(one);
    const app = await createApp(one, apiKey);
    const credential = await enroll(one, app);
    for (const polled of [one, other, one]) {
      clock.advance(20_000);
      const at = new Date(clock.now()).toISOString();
      expect((await poll(polled, credential)).status).toBe(200);
      clock.advance(10_000);
      for (const asked of [one, other]) {
        await until(async () => {
          const { body } = await call(`${asked.api}/v1/apps/${app.appId}`, { token: apiKey });
          return body['lastSeenAt'] === at;
        });
      }
    }
  });
});
