import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectUnchanged } from '../../../src/store/port.ts';
import { changeAccount, deleteApp, issueCode, metric, revoke, setOtel } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Answer,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

interface Daemon extends Tenant {
  readonly appId: string;
  readonly credential: string;
}

/** None of the daemons speaks OpAMP, and no other tells its health. */
const NO_AGENTS = { health: { healthy: 0, unhealthy: 0 }, unhealthy: [] };

onEachBackend('the rollout of a configuration', (backend) => {
  const clock = new FakeClock();
  let muster: Muster;
  let store: FaultyStore;
  beforeAll(async () => {
    // No leader: its loops list at moments of their own.
    const env = { MUSTER_ROLES: 'api,device' };
    muster = await backend.fresh({ clock, env, wrapStore: (real) => (store = faultyStore(real)) });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  async function daemon(owner: Tenant, connection: 'cloud' | 'private' = 'cloud'): Promise<Daemon> {
    const app = await createApp(muster, owner.apiKey);
    return { ...owner, appId: app.appId, credential: await enroll(muster, app, connection) };
  }
  const ask = (accountId: string): Promise<Answer> =>
    call(`${muster.ops}/operator/v1/accounts/${accountId}/rollout`, { token: OPERATOR_TOKEN });
  const rollout = async ({ accountId }: Tenant): Promise<Answer['body']> => (await ask(accountId)).body;
  async function acknowledge({ credential }: Daemon, body: object): Promise<void> {
    const url = `${muster.device}/device/v1/config/ack`;
    expect((await call(url, { method: 'POST', token: credential, body })).status).toBe(204);
  }
  const purge = (owner: Tenant): Promise<Answer> =>
    call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: owner.apiKey });

  test('shows how far it has come, and why not further', async () => {
    const owner = await tenant(muster);
    const daemons = await Promise.all(Array.from({ length: 5 }, () => daemon(owner)));
    await daemon(owner, 'private');
    const gone = await daemon(owner);
    const [first, second, third] = daemons as [Daemon, Daemon, Daemon];
    const nothing = { revision: 0, devices: 6, applied: 0, failed: 0, pending: 6, stale: 0, failures: [] };
    expect(await ask(owner.accountId)).toMatchObject({ status: 200, body: nothing });

    await setOtel(muster, owner.apiKey);
    await acknowledge(first, { revision: 1, status: 'applied' });
    await acknowledge(gone, { revision: 1, status: 'applied' });
    await acknowledge(second, { revision: 1, status: 'failed', error: 'no route' });
    clock.advance(1);
    await acknowledge(third, { revision: 1, status: 'failed' });
    await revoke(muster, owner.apiKey, gone.appId);
    const at = new Date(clock.now());
    const failures = [
      { appId: third.appId, name: 'app', error: '', at: at.toISOString(), emptied: false },
      {
        appId: second.appId,
        name: 'app',
        error: 'no route',
        at: new Date(at.getTime() - 1).toISOString(),
        emptied: false,
      },
    ];
    expect(await rollout(owner)).toEqual({
      revision: 1,
      devices: 5,
      applied: 1,
      failed: 2,
      pending: 2,
      stale: 0,
      failures,
      failuresByError: [
        { error: '', devices: 1 },
        { error: 'no route', devices: 1 },
      ],
      acknowledged: [{ revision: 1, applied: 1, failed: 2 }],
      ...NO_AGENTS,
    });

    await acknowledge(second, { revision: 1, status: 'applied' });
    await deleteApp(muster, owner.apiKey, third.appId);
    expect(await rollout(owner)).toMatchObject({ devices: 4, applied: 2, failed: 0, pending: 2, failures: [] });
  });

  test('begins anew with every change, a purge too', async () => {
    const owner = await tenant(muster);
    const one = await daemon(owner);
    await setOtel(muster, owner.apiKey);
    await acknowledge(one, { revision: 1, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ revision: 1, applied: 1, pending: 0 });
    await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
    expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 0, pending: 1 });
    await acknowledge(one, { revision: 2, status: 'failed', error: 'x' });
    expect(await rollout(owner)).toMatchObject({ revision: 2, failed: 1, failures: [{ error: 'x' }] });
    await purge(owner);
    expect(await rollout(owner)).toMatchObject({ revision: 3, failed: 0, pending: 1, failures: [] });
    await acknowledge(one, { revision: 3, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ revision: 3, applied: 1, pending: 0 });
  });

  describe('a machine that was set back, as by a snapshot', () => {
    /** A daemon that has acknowledged the second revision, with the tags of both. */
    async function ofTwo(status: 'applied' | 'failed' = 'applied', laterMs = 120_000) {
      const owner = await tenant(muster);
      const one = await daemon(owner);
      const polled = (headers: Record<string, string> = {}) => poll(muster, one.credential, headers);
      await setOtel(muster, owner.apiKey);
      const first = (await polled()).headers.get('etag') ?? '';
      await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
      const second = (await polled({ 'if-none-match': first })).headers.get('etag') ?? '';
      await acknowledge(one, { revision: 2, status });
      clock.jump(laterMs);
      return { owner, one, first, second, polled };
    }

    test.each<[string, (first: string) => string]>([
      ['its tag', (first) => first],
      ['its tag as a proxy has changed it', (first) => `W/${first.replace(/"$/, '-gzip"')}`],
      ['the tag of the never-stored one', () => '"0-60"'],
    ])('is pending from the poll with %s on, until it acknowledges anew', async (_what, known) => {
      const { owner, one, first, polled } = await ofTwo();
      expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
      expect((await polled({ 'if-none-match': known(first) })).status).toBe(200);
      expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 0, pending: 1, acknowledged: [] });
      await acknowledge(one, { revision: 2, status: 'applied' });
      expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
    });

    test.each<[string, (tags: { first: string; second: string }) => Record<string, string>]>([
      ['the tag of what it has', ({ second }) => ({ 'if-none-match': second })],
      ['no tag, as after a start', () => ({})],
      ['both tags', ({ first, second }) => ({ 'if-none-match': `${first}, ${second}` })],
      ['a tag that is nobody’s', () => ({ 'if-none-match': '"xyz"' })],
      ['an older tag beside one that is nobody’s', ({ first }) => ({ 'if-none-match': `${first}, "xyz"` })],
    ])('is not what polls with %s', async (_what, headers) => {
      const { owner, polled, ...tags } = await ofTwo();
      await polled(headers(tags));
      expect(await rollout(owner)).toMatchObject({ applied: 1, pending: 0 });
    });

    test('is not one whose poll comes once more, later than its acknowledgement, as from a proxy', async () => {
      const { owner, first, second, polled } = await ofTwo('applied', 119_999);
      expect((await polled({ 'if-none-match': first })).status).toBe(200);
      expect((await polled({ 'if-none-match': second })).status).toBe(304);
      expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
    });

    test('is told its configuration also where the record of the acknowledgement is broken', async () => {
      const { one, first, polled } = await ofTwo();
      const key = KEYS.ack(one.accountId, one.appId);
      const kept = (await store.get(key)) ?? expect.unreachable();
      await store.commit({ expect: [expectUnchanged(kept)], write: [{ put: key, value: '{"another":"shape"}' }] });
      expect((await polled({ 'if-none-match': first })).status).toBe(200);
    });

    test('is not one that failed and keeps what it had', async () => {
      const { owner, first, polled } = await ofTwo('failed');
      await polled({ 'if-none-match': first });
      expect(await rollout(owner)).toMatchObject({ failed: 1, pending: 0 });
    });

    test('is told its configuration also where the store cannot be asked', async () => {
      const { owner, first, polled } = await ofTwo();
      store.down.add('get');
      const { status } = await polled({ 'if-none-match': first });
      store.down.delete('get');
      expect(status).toBe(200);
      expect(await rollout(owner)).toMatchObject({ applied: 1 });
    });
  });

  test('begins anew with a machine that takes another’s place', async () => {
    const owner = await tenant(muster);
    const one = await daemon(owner);
    await setOtel(muster, owner.apiKey);
    await acknowledge(one, { revision: 1, status: 'applied' });
    const credential = await enroll(muster, await issueCode(muster, owner.apiKey, one.appId));
    expect(await rollout(owner)).toMatchObject({ devices: 1, applied: 0, pending: 1 });
    await acknowledge({ ...one, credential }, { revision: 1, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ devices: 1, applied: 1, pending: 0 });
  });

  test('the rollout of an account that is no longer Enterprise reaches nobody, and goes on once it is again', async () => {
    const owner = await tenant(muster);
    const one = await daemon(owner);
    await setOtel(muster, owner.apiKey);
    await acknowledge(one, { revision: 1, status: 'failed' });
    await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
    const nothing = { applied: 0, failed: 0, pending: 0, stale: 0, failures: [], failuresByError: [] };
    const nobody = { revision: 1, devices: 0, ...nothing };
    expect(await rollout(owner)).toEqual({ ...nobody, acknowledged: [], ...NO_AGENTS });
    await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
    expect(await rollout(owner)).toMatchObject({ devices: 1, failed: 1 });
  });

  test('a silent device is stale, and pending again once it polls', async () => {
    const owner = await tenant(muster);
    const [talks, silent, done] = [await daemon(owner), await daemon(owner), await daemon(owner)];
    await setOtel(muster, owner.apiKey);
    await acknowledge(done, { revision: 1, status: 'applied' });
    clock.advance(180_000);
    expect(await rollout(owner)).toMatchObject({ devices: 3, applied: 1, pending: 2, stale: 0 });
    clock.advance(1);
    expect(await rollout(owner)).toMatchObject({ devices: 3, applied: 1, pending: 0, stale: 2 });
    await poll(muster, talks.credential);
    await until(async () => {
      clock.advance(1000);
      return (await rollout(owner))['pending'] === 1;
    });
    expect(await rollout(owner)).toMatchObject({ applied: 1, pending: 1, stale: 1 });
    await acknowledge(silent, { revision: 1, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ applied: 2, pending: 1, stale: 0 });
  });

  test('a device that was told the never-stored one meanwhile has to apply the configuration again', async () => {
    const owner = await tenant(muster);
    const [one, other] = [await daemon(owner), await daemon(owner)];
    await setOtel(muster, owner.apiKey);
    for (const each of [one, other]) await acknowledge(each, { revision: 1, status: 'applied' });
    await acknowledge(one, { revision: 0, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ devices: 2, applied: 2 });

    await changeAccount(muster, owner.accountId, { entitlement: 'standard' });
    await acknowledge(one, { revision: 0, status: 'applied' });
    // Late, or by a daemon that has not polled since: it says nothing of what is told now.
    await acknowledge(other, { revision: 1, status: 'applied' });
    await changeAccount(muster, owner.accountId, { entitlement: 'enterprise' });
    expect(await rollout(owner)).toMatchObject({ revision: 1, devices: 2, applied: 1, pending: 1 });
    await acknowledge(one, { revision: 1, status: 'applied' });
    expect(await rollout(owner)).toMatchObject({ revision: 1, devices: 2, applied: 2, pending: 0 });
  });

  test('an acknowledgement that comes while it is read is never one of a revision beyond it', async () => {
    const owner = await tenant(muster);
    const one = await daemon(owner);
    await setOtel(muster, owner.apiKey);
    await acknowledge(one, { revision: 1, status: 'applied' });
    store.intercept('list', 'after', async () => {
      await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
      await acknowledge(one, { revision: 2, status: 'applied' });
    });
    expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 0, pending: 1 });
    expect(await rollout(owner)).toMatchObject({ revision: 2, applied: 1, pending: 0 });
  });

  test('the rollout of an unknown account is 404, without the token 401, and 502 while the store is down', async () => {
    expect((await ask('a'.repeat(16))).status).toBe(404);
    expect((await ask('A'.repeat(16))).status).toBe(404);
    const { accountId } = await tenant(muster);
    expect((await call(`${muster.ops}/operator/v1/accounts/${accountId}/rollout`)).status).toBe(401);
    store.outage(true);
    const down = await ask(accountId);
    store.outage(false);
    expect(down).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
  });

  describe('the time to a daemon’s receipt', () => {
    const NAME = 'muster_rollout_receipt_lag_seconds';
    const instrumented = async (work: () => Promise<unknown>): Promise<[count: number, seconds: number]> => {
      const read = async (): Promise<[number, number]> => [
        await metric(muster, `${NAME}_count`),
        await metric(muster, `${NAME}_sum`),
      ];
      const before = await read();
      await work();
      const after = await read();
      return [after[0] - before[0], after[1] - before[1]];
    };
    const etagOf = async ({ credential }: Daemon): Promise<string> =>
      (await poll(muster, credential)).headers.get('etag') ?? '';
    const pollWith = (etag: string, { credential }: Daemon): Promise<Answer> =>
      poll(muster, credential, { 'if-none-match': etag });

    test('is instrumented when a daemon that had an older revision is told the new one', async () => {
      const owner = await tenant(muster);
      const one = await daemon(owner);
      const never = await etagOf(one);
      await setOtel(muster, owner.apiKey);
      clock.advance(30_000);
      expect(await instrumented(() => pollWith(never, one))).toEqual([1, 30]);
      const first = await etagOf(one);
      await setOtel(muster, owner.apiKey, { evidenceLevel: 'full' });
      clock.advance(2500);
      expect(await instrumented(() => pollWith(`${never}, W/${first}`, one))).toEqual([1, 2.5]);
      const second = await etagOf(one);
      await purge(owner);
      clock.advance(1000);
      expect(await instrumented(() => pollWith(second, one))).toEqual([1, 1]);
    });

    test('a held poll counts, too', async () => {
      const owner = await tenant(muster);
      const one = await daemon(owner);
      const never = await etagOf(one);
      const held = (await metric(muster, 'muster_held_polls')) + 1;
      const receipt = await instrumented(async () => {
        const answer = poll(muster, one.credential, { 'if-none-match': never, prefer: 'wait=50' });
        await expect.poll(() => metric(muster, 'muster_held_polls'), { interval: 5 }).toBe(held);
        await setOtel(muster, owner.apiKey);
        expect((await answer).status).toBe(200);
      });
      expect(receipt).toEqual([1, 0]);
    });

    test.each<[string, (one: Daemon, current: string) => Promise<unknown>]>([
      ['the daemon has it already', (one, current) => pollWith(current, one)],
      ['it is new and has none', (one) => poll(muster, one.credential)],
      ['its tag is nobody’s', (one) => pollWith('"xyz"', one)],
      ['one of its tags is nobody’s', (one) => pollWith('"0-60", "xyz"', one)],
      ['it had the same revision in other words', (one, current) => pollWith(current.replace('-', '-x'), one)],
      ['it had a newer one of another history', (one) => pollWith('"9-tag-60"', one)],
      [
        'it is told none any more',
        async (one, current) => {
          await changeAccount(muster, one.accountId, { entitlement: 'standard' });
          expect((await pollWith(current, one)).status).toBe(200);
        },
      ],
    ])('is not instrumented where %s', async (_why, work) => {
      const owner = await tenant(muster);
      const one = await daemon(owner);
      await setOtel(muster, owner.apiKey);
      const current = await etagOf(one);
      clock.advance(1000);
      expect(await instrumented(() => work(one, current))).toEqual([0, 0]);
    });
  });
});

onEachBackend('the leader’s count of all rollouts', (backend) => {
  test('follows what the daemons say, once a minute', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const owner = await tenant(muster);
    const credentials: string[] = [];
    for (let i = 0; i < 3; i += 1) credentials.push(await enroll(muster, await createApp(muster, owner.apiKey)));
    await setOtel(muster, owner.apiKey);
    const ack = (token: string | undefined, status: string): Promise<Answer> =>
      call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body: { revision: 1, status } });
    await ack(credentials[0], 'applied');
    await ack(credentials[1], 'failed');
    const counted = async (): Promise<number[]> =>
      await Promise.all(
        ['applied', 'failed', 'pending', 'stale'].map((state) =>
          metric(muster, `muster_rollout_devices{state="${state}"}`),
        ),
      );
    clock.advance(60_000);
    await expect.poll(counted, { interval: 5 }).toEqual([1, 1, 1, 0]);
    await ack(credentials[1], 'applied');
    clock.advance(60_000);
    await expect.poll(counted, { interval: 5 }).toEqual([2, 0, 1, 0]);
    clock.advance(61_000);
    await expect.poll(counted, { interval: 5 }).toEqual([2, 0, 0, 1]);
  });
});
