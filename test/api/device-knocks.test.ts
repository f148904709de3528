import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { DEADLINES, LIMITS } from '../../src/domain/limits.ts';
import { onEachBackend } from '../support/backends.ts';
import { deleteApp, enrollOwn, issueCode, metric, ownCredential, revoke } from '../support/daemon.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { createApp, enroll, poll, tenant, type Muster, type MusterOptions } from '../support/muster.ts';
import { unluckyStore, type UnluckyStore } from '../support/unlucky-store.ts';
import { until } from '../support/until.ts';

const REFUSED = { status: 401, body: { error: { code: 'invalid_credential' } } };
const inFlight = (muster: Muster): Promise<number> =>
  metric(muster, 'muster_http_requests_in_flight{listener="device"}');

onEachBackend('a daemon that knocks in vain', (backend) => {
  async function watched(options: MusterOptions = {}) {
    let unlucky: UnluckyStore | undefined;
    const clock = new FakeClock();
    // With this clock there is no pulse: every read of `head` is a request's.
    const muster = await backend.fresh({ ...options, clock, wrapStore: (store) => (unlucky = unluckyStore(store)) });
    if (!unlucky) throw new Error('the store was not opened');
    return { muster, unlucky, clock };
  }

  test('what cannot be a credential is refused without the store; what can be one fails closed with it', async () => {
    const { muster, unlucky } = await watched({ deadlines: DEADLINES });
    await using _ = muster;
    const release = unlucky.stall('head');
    expect(await poll(muster, 'mst_dev_short')).toMatchObject(REFUSED);
    expect(await poll(muster, 'anything else')).toMatchObject(REFUSED);
    expect((await poll(muster, `mst_dev_${randomBytes(32).toString('base64url')}`)).status).toBe(502);
    release();
  });

  test.each([
    ['revoked', revoke],
    ['deleted', deleteApp],
  ])('once %s and refused, its knocks ride on the reads of others', async (_what, cutOff) => {
    const { muster, unlucky } = await watched();
    await using _ = muster;
    const owner = await tenant(muster);
    const app = await createApp(muster, owner.apiKey);
    const [credential, live] = [await enroll(muster, app), await enroll(muster, await createApp(muster, owner.apiKey))];
    expect((await poll(muster, credential)).status).toBe(200);
    await cutOff(muster, owner.apiKey, app.appId);
    expect(await poll(muster, credential)).toMatchObject(REFUSED);
    const before = unlucky.calls.head;
    const knocks = Array.from({ length: 20 }, () => poll(muster, credential));
    // Where this machine stalls for longer than they wait for others, they have asked: once.
    await until(async () => (await inFlight(muster)) === 20 || unlucky.calls.head > before);
    expect((await poll(muster, live)).status).toBe(200);
    for (const refused of await Promise.all(knocks)) {
      expect(refused).toMatchObject(REFUSED);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1800);
    }
    expect(unlucky.calls.head - before).toBeLessThanOrEqual(2);
  });

  test('alone it is answered all the same', async () => {
    const { muster } = await watched();
    await using _ = muster;
    const credential = ownCredential().token;
    for (let knock = 0; knock < 2; knock += 1) expect(await poll(muster, credential)).toMatchObject(REFUSED);
  });

  test('who was refused and then enrolls is admitted with the next request, on any replica', async () => {
    const place = backend.place();
    const { token, hash } = ownCredential();
    await using first = await backend.fresh(place);
    const second = backend.name === 'etcd' ? await backend.fresh(place) : undefined;
    await using _ = second;
    const { apiKey } = await tenant(first);
    const app = await createApp(first, apiKey);
    const replicas = second ? [first, second] : [first];
    for (const replica of replicas) expect(await poll(replica, token)).toMatchObject(REFUSED);
    expect((await enrollOwn(first, app, hash)).status).toBe(200);
    for (const replica of replicas.toReversed()) expect((await poll(replica, token)).status).toBe(200);
    await revoke(first, apiKey, app.appId);
    for (const replica of replicas.toReversed()) expect(await poll(replica, token)).toMatchObject(REFUSED);
    // Deleted, its hash is free: another app may bind it, and then it works.
    await deleteApp(first, apiKey, app.appId);
    const other = await createApp(first, apiKey);
    expect((await enrollOwn(first, other, hash)).status).toBe(200);
    for (const replica of replicas.toReversed()) expect((await poll(replica, token)).status).toBe(200);
    // And a new credential of the same app does not wake the old one.
    expect((await enroll(first, await issueCode(first, apiKey, other.appId))).length).toBeGreaterThan(40);
    for (const replica of replicas.toReversed()) expect(await poll(replica, token)).toMatchObject(REFUSED);
  });

  test('while memory is behind, so many are looked up in the store, and the others are told to come again', async () => {
    const { muster, unlucky } = await watched({
      deadlines: DEADLINES,
      env: { MUSTER_DEVICE_RATE_PER_MINUTE: '100000' },
    });
    await using _ = muster;
    const owner = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, owner.apiKey));
    unlucky.deaf = true;
    await createApp(muster, owner.apiKey);
    const release = unlucky.stall('get');
    const above = 20;
    const polls = Array.from({ length: LIMITS.deviceStoreReadsMax + above }, () => poll(muster, credential));
    const shed = await Promise.all(polls).then((answers) => answers.filter(({ status }) => status === 503));
    expect(shed).toHaveLength(above);
    for (const answer of shed) {
      expect(answer.body).toMatchObject({ error: { code: 'overloaded' } });
      expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/);
    }
    release();
    await until(async () => (await poll(muster, credential)).status === 200);
  });
});
