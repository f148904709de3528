import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { FakeClock } from './support/fake-clock.ts';
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
} from './support/muster.ts';
import { unluckyStore, type UnluckyStore } from './support/unlucky-store.ts';
import { until } from './support/until.ts';
import type { Store } from '../src/store/port.ts';

const url = inject('etcd');

interface Pair extends AsyncDisposable {
  readonly one: Muster;
  readonly other: Muster;
  /** The store of `other`. */
  readonly others: UnluckyStore;
}

/** Two replicas of one fleet. */
async function pair(options: Pick<MusterOptions, 'clock'> = {}): Promise<Pair> {
  const shared = { store: `etcd:${url}`, env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` }, ...options };
  const one = await Muster.start(shared);
  let others: UnluckyStore | undefined;
  const other = await Muster.start({ ...shared, wrapStore: (store: Store) => (others = unluckyStore(store)) });
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

const ROUNDS = 200;
const operator = (muster: Muster, path: string): string => `${muster.ops}/operator/v1/accounts/${path}`;
const withKey = (apiKey: string, method = 'POST') => ({ method, token: apiKey });

/** Enough accounts that no rate window fills. */
async function tenants(muster: Muster, count: number): Promise<Awaited<ReturnType<typeof tenant>>[]> {
  return await Promise.all(Array.from({ length: count }, () => tenant(muster)));
}

async function fleetOf(
  muster: Muster,
  apiKeys: readonly string[],
): Promise<{ app: CreatedApp; credential: string; apiKey: string }[]> {
  return await Promise.all(
    Array.from({ length: ROUNDS }, async (_, index) => {
      const apiKey = apiKeys[index % apiKeys.length] ?? '';
      const app = await createApp(muster, apiKey);
      return { app, credential: await enroll(muster, app), apiKey };
    }),
  );
}

// A deaf replica waits 50 ms before it reads the store itself: 200 rounds of that are long, and longer beside other files.
describe.skipIf(url === undefined)('two replicas on one etcd', { timeout: 240_000 }, () => {
  describe.each([['hears'], ['is deaf']])('the other %s', (hearing) => {
    test(`revoked or deleted through one, refused by the other on its very next request, ${ROUNDS} times`, async () => {
      await using replicas = await pair();
      const { one, other, others } = replicas;
      const apiKeys = (await tenants(one, 4)).map(({ apiKey }) => apiKey);
      const fleet = await fleetOf(one, apiKeys);
      await poll(other, fleet[0]?.credential ?? '');
      others.deaf = hearing === 'is deaf';
      for (const [round, { app, credential, apiKey }] of fleet.entries()) {
        expect((await poll(other, credential)).status).toBe(200);
        const path = `${one.api}/v1/apps/${app.appId}`;
        if (round % 2 === 0) expect((await call(`${path}/revoke`, withKey(apiKey))).status).toBe(200);
        else expect((await call(path, withKey(apiKey, 'DELETE'))).status).toBe(204);
        const next = await poll(other, credential);
        expect(next).toMatchObject({ status: 401, body: { error: { code: 'invalid_credential' } } });
      }
    });

    test('a revoked API key and a disabled account are refused by the other on its very next request', async () => {
      await using replicas = await pair();
      const { one, other, others } = replicas;
      const accounts = await tenants(one, ROUNDS);
      others.deaf = hearing === 'is deaf';
      for (const [round, { accountId, apiKey, keyId }] of accounts.entries()) {
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
      }
    });

    test('what one created the other shows on its very next request', async () => {
      await using replicas = await pair();
      const { one, other, others } = replicas;
      const { apiKey } = await tenant(one);
      others.deaf = hearing === 'is deaf';
      for (let round = 0; round < 50; round += 1) {
        const { appId } = await createApp(one, apiKey, `app ${round}`);
        const read = await call(`${other.api}/v1/apps/${appId}`, { token: apiKey });
        expect(read).toMatchObject({ status: 200, body: { appId, name: `app ${round}` } });
        const { body } = await call(`${other.api}/v1/apps`, { token: apiKey });
        expect(body['apps']).toHaveLength(round + 1);
      }
    });
  });

  test('a held poll is ended by a revocation through the other', async () => {
    await using replicas = await pair();
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
    await using replicas = await pair();
    const { one, other } = replicas;
    const { apiKey } = await tenant(one);
    for (let round = 0; round < 50; round += 1) {
      const app = await createApp(one, apiKey);
      const daemons = [one, other, one, other].map((muster) => enroll(muster, app));
      const ends = await Promise.allSettled(daemons);
      const credentials = ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
      expect(credentials).toHaveLength(1);
      for (const end of ends) if (end.status === 'rejected') expect(String(end.reason)).toContain('invalid_code');
      for (const muster of [one, other]) expect((await poll(muster, credentials[0] ?? '')).status).toBe(200);
    }
  });

  test('the last contact with one is told by the other', async () => {
    const clock = new FakeClock();
    await using replicas = await pair({ clock });
    const { one, other } = replicas;
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
