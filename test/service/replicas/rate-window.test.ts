import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { ABSENT, type Store } from '../../../src/store/port.ts';
import { connectRaw } from '../../support/http/raw-http.ts';
import { call, Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../support/service/muster.ts';
import { asCaller, expectRefusal } from '../../support/service/v1.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const url = inject('etcd');

interface Replica {
  readonly muster: Muster;
  readonly store: FaultyStore;
}

interface Fleet extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly replicas: readonly [Replica, Replica, Replica];
  readonly apiKey: string;
}

/** Three replicas on one etcd and one clock, and an account with a fresh window. */
async function fleet(): Promise<Fleet> {
  const clock = new FakeClock();
  const shared = {
    store: `etcd:${url}`,
    env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` },
    clock,
  };
  const start = async (): Promise<Replica> => {
    let faulty: FaultyStore | undefined;
    const muster = await Muster.start({ ...shared, wrapStore: (store: Store) => (faulty = faultyForRequests(store)) });
    if (!faulty) throw new Error('the store was not wrapped');
    const store = faulty;
    store.isAside = () => false;
    await until(async () => / 0$/m.test(await ageOf(muster)));
    return { muster, store };
  };
  const replicas = [await start(), await start(), await start()] as const;
  const { apiKey } = await tenant(replicas[0].muster);
  return {
    clock,
    replicas,
    apiKey,
    async [Symbol.asyncDispose]() {
      for (const { store } of replicas) store.outage(false);
      await Promise.all(replicas.map(({ muster }) => muster[Symbol.asyncDispose]()));
    },
  };
}

/** The line that says for how long the replica has heard nothing of the others' windows. */
async function ageOf({ ops }: Muster): Promise<string> {
  const { text } = await call(`${ops}/metrics`, { token: OPERATOR_TOKEN });
  return /^muster_rate_shared_age_seconds .*$/m.exec(text)?.[0] ?? '';
}

interface Hammered {
  readonly admitted: number;
  readonly limited: number;
  readonly failed: number;
  /** The longest Retry-After, in seconds. */
  readonly retryAfter: number;
}

/** So many requests at once, on one connection. */
async function hammer({ muster }: Replica, apiKey: string, requests: number): Promise<Hammered> {
  await using connection = await connectRaw(muster.service.api.port);
  await connection.send(
    `HEAD /v1/apps HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${apiKey}\r\n\r\n`.repeat(requests),
  );
  const counts = new Map<number, number>();
  let retryAfter = 0;
  for (let n = 0; n < requests; n += 1) {
    const { status, headers } = await connection.answer({ method: 'HEAD' });
    counts.set(status, (counts.get(status) ?? 0) + 1);
    if (status === 429) retryAfter = Math.max(retryAfter, Number(headers.get('retry-after')));
  }
  const of = (status: number): number => counts.get(status) ?? 0;
  return { admitted: of(200), limited: of(429), failed: of(502), retryAfter };
}

/**
 * Time goes on by itself while the work is under way: some of it waits for others that never answer. It passes by the
 * answers of the store, so that a slow machine does not make anybody give up.
 */
async function whileTimePasses<T>(clock: FakeClock, store: Store, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const over = work.finally(() => ended.abort());
  over.catch(() => undefined);
  while (!ended.signal.aborted) {
    await store.head();
    clock.advance(5);
  }
  return await over;
}

const sum = (all: readonly Hammered[], of: (one: Hammered) => number): number =>
  all.reduce((total, one) => total + of(one), 0);

/** The same replicas, and another account with a fresh window. */
const withAccount = async ({ clock, replicas }: Fleet): Promise<Pick<Fleet, 'clock' | 'replicas'> & Tenant> => ({
  clock,
  replicas,
  ...(await tenant(replicas[0].muster)),
});

describe.skipIf(url === undefined)('the rate window of three replicas (H13)', () => {
  let shared: Fleet;
  beforeAll(async () => {
    shared = await fleet();
  });
  afterAll(() => shared[Symbol.asyncDispose]());

  test('600 of 900 at once through all of them pass, and 600 again after 62.5 s', async () => {
    const running = await withAccount(shared);
    const { clock, replicas, apiKey } = running;
    for (let round = 0; round < 3; round += 1) {
      const all = await Promise.all(replicas.map((replica) => hammer(replica, apiKey, 300)));
      expect({ admitted: sum(all, (one) => one.admitted), failed: sum(all, (one) => one.failed) }).toEqual({
        admitted: 600,
        failed: 0,
      });
      for (const { limited, retryAfter } of all) {
        expect(retryAfter).toBeGreaterThanOrEqual(limited > 0 ? 60 : 0);
        expect(retryAfter).toBeLessThanOrEqual(63);
      }
      clock.advance(59_999);
      const early = await Promise.all(replicas.map((replica) => hammer(replica, apiKey, 5)));
      expect(
        sum(early, (one) => one.admitted),
        'refused until a minute is over',
      ).toBe(0);
      clock.advance(2501);
    }
  });

  test('after Retry-After there is a place', async () => {
    const running = await withAccount(shared);
    const { clock, replicas, apiKey } = running;
    const [one, other] = replicas;
    expect((await hammer(one, apiKey, 600)).admitted).toBe(600);
    const told = { one: (await hammer(one, apiKey, 1)).retryAfter, other: (await hammer(other, apiKey, 1)).retryAfter };
    expect(told.one, 'it knows to the millisecond what it admitted itself').toBe(60);
    expect(told.other).toBeLessThanOrEqual(63);
    clock.advance(told.one * 1000 - 1);
    expect((await hammer(one, apiKey, 1)).admitted).toBe(0);
    clock.advance(1);
    expect((await hammer(one, apiKey, 1)).admitted).toBe(1);
    clock.advance((told.other - told.one) * 1000);
    expect((await hammer(other, apiKey, 1)).admitted).toBe(1);
  });

  test('one replica gets all that the others have taken ahead and do not need', async () => {
    const running = await withAccount(shared);
    const { replicas, apiKey } = running;
    const [one, other, third] = replicas;
    expect((await hammer(one, apiKey, 1)).admitted).toBe(1);
    expect((await hammer(other, apiKey, 1)).admitted).toBe(1);
    expect(await hammer(third, apiKey, 700)).toMatchObject({ admitted: 598, limited: 102 });
  });

  test('a request that is admitted from leased units reads nothing of the window from the store', async () => {
    const running = await withAccount(shared);
    const [one] = running.replicas;
    await hammer(one, running.apiKey, 1);
    const { commit, get } = one.store.calls;
    expect((await hammer(one, running.apiKey, 30)).admitted).toBe(30);
    expect([one.store.calls.commit, one.store.calls.get]).toEqual([commit, get]);
  });

  test('the units that a dead replica held count as spent for about a minute, and no others do', async () => {
    await using running = await fleet();
    const { clock, replicas, apiKey } = running;
    const [dead, other, third] = replicas;
    expect((await hammer(dead, apiKey, 10)).admitted).toBe(10);
    dead.store.outage(true);
    dead.store.sever();
    const hammering = Promise.all([other, third].map((replica) => hammer(replica, apiKey, 400)));
    const all = await whileTimePasses(clock, other.store, hammering);
    const admitted = sum(all, (one) => one.admitted);
    expect(admitted).toBeGreaterThanOrEqual(400);
    expect(admitted).toBeLessThanOrEqual(590);
    // The store is busy meanwhile: what lies behind the remembered revisions must not seem younger than it is.
    for (let passed = 0; passed < 100_000; passed += 500) {
      clock.advance(500);
      const revision = (await other.store.get('busy'))?.revision ?? ABSENT;
      const write = [{ put: rawKey('busy'), value: String(passed) }];
      await other.store.commit({ expect: [expectRevision('busy', revision)], write, quiet: true });
    }
    const rest = Promise.all([other, third].map((replica) => hammer(replica, apiKey, 400)));
    expect(sum(await whileTimePasses(clock, other.store, rest), (one) => one.admitted)).toBe(600);
  });

  test('a replica that stops returns the units that it holds', async () => {
    await using running = await fleet();
    const [one, other] = running.replicas;
    expect((await hammer(one, running.apiKey, 10)).admitted).toBe(10);
    await one.muster.service.stop();
    expect(await hammer(other, running.apiKey, 600)).toMatchObject({ admitted: 590, limited: 10 });
  });

  test('H15: without the store held units are admitted, the rest is 502, and an unknown key is still refused', async () => {
    const running = await withAccount(shared);
    const { apiKey, replicas } = running;
    const [one, other] = replicas;
    await hammer(one, apiKey, 1);
    for (const { store } of [one, other]) for (const operation of ['get', 'commit'] as const) store.down.add(operation);
    expect((await hammer(one, apiKey, 20)).admitted).toBe(20);
    const refused = await asCaller(other.muster, apiKey)('GET /v1/apps');
    expectRefusal(refused, 'upstream_unavailable');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expectRefusal(await asCaller(other.muster, apiKey.slice(0, -1))('GET /v1/apps'), 'invalid_key');
    for (const { store } of [one, other]) store.outage(false);
    expect((await asCaller(other.muster, apiKey)('GET /v1/apps')).status).toBe(200);
  });

  test('a lost answer is charged once', async () => {
    const running = await withAccount(shared);
    const { clock, accountId, apiKey, replicas } = running;
    const [one, other] = replicas;
    one.store.isPlanned = ({ expect }) => expect.some(({ key }) => key === KEYS.rateWindow(accountId));
    one.store.fates.push('answer lost after commit', 'lost before commit', 'answer lost after commit');
    const hammered = await whileTimePasses(clock, other.store, hammer(one, apiKey, 300));
    expect(hammered.limited).toBe(0);
    // A replica pauses for a second after a failed commit, and might be taken for dead if time went on.
    one.store.fates.splice(0);
    clock.advance(1000);
    const rest = await hammer(other, apiKey, 700);
    expect(rest.admitted).toBe(600 - hammered.admitted);
  });

  test('the metrics have the allotments, the waits, and the state of the watch', async () => {
    await using running = await fleet();
    const [one, other] = running.replicas;
    await hammer(one, running.apiKey, 1);
    await hammer(other, running.apiKey, 600);
    const { text } = await call(`${one.muster.ops}/metrics`, { token: OPERATOR_TOKEN });
    expect(text).toMatch(/^muster_rate_allotments_total\{what="taken"\} 1$/m);
    expect(text).toMatch(/^muster_rate_allotments_total\{what="returned"\} 1$/m);
    expect(text).toMatch(/^muster_rate_waited_total 1$/m);
    expect(text).toMatch(/^muster_rate_shared_age_seconds 0$/m);
  });
});
