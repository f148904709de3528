import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { metric, sendEnroll } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  poll,
  tenant,
  type Answer,
  type Tenant,
} from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

describe.each([
  [{}, 60],
  [{ MUSTER_DEVICE_RATE_PER_MINUTE: '5' }, 5],
])('the guard of a daemon gone wild, %j: %i a minute', (env, limit) => {
  const clock = new FakeClock();
  let muster: Muster;
  let owner: Tenant;
  beforeAll(async () => {
    muster = await Muster.start({ clock, env });
    owner = await tenant(muster);
  });
  afterAll(() => muster[Symbol.asyncDispose]());
  const daemon = async (): Promise<string> => enroll(muster, await createApp(muster, owner.apiKey));

  async function times(count: number, ask: () => Promise<Answer>): Promise<number[]> {
    const statuses: number[] = [];
    for (let i = 0; i < count; i += 1) statuses.push((await ask()).status);
    return statuses;
  }

  test('the last one passes, the one after it is 429 and told when to come back; then it passes', async () => {
    const credential = await daemon();
    expect(new Set(await times(limit, () => poll(muster, credential)))).toEqual(new Set([200]));
    const refused = await poll(muster, credential);
    expect(refused).toMatchObject({ status: 429, body: { error: { code: 'rate_limited' } } });
    const retryAfter = Number(refused.headers.get('retry-after'));
    expect(retryAfter).toSatisfy((it: number) => Number.isInteger(it) && it >= 1 && it <= 75);
    clock.advance(retryAfter * 1000);
    expect((await poll(muster, credential)).status).toBe(200);
  });

  test('it counts each credential for itself', async () => {
    const [one, other] = [await daemon(), await daemon()];
    await times(limit, () => poll(muster, one));
    expect((await poll(muster, one)).status).toBe(429);
    expect((await poll(muster, other)).status).toBe(200);
  });

  test('polls and acknowledgements together, 304 and 400 too', async () => {
    const credential = await daemon();
    const etag = (await poll(muster, credential)).headers.get('etag') ?? '';
    await poll(muster, credential, { 'if-none-match': etag });
    const ack = () => call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token: credential });
    expect(await times(limit - 2, ack)).toEqual(Array.from({ length: limit - 2 }, () => 400));
    expect([(await ack()).status, (await poll(muster, credential)).status]).toEqual([429, 429]);
  });

  test('a refused request uses up nothing', async () => {
    const credential = await daemon();
    await times(limit, () => poll(muster, credential));
    expect(new Set(await times(limit * 2, () => poll(muster, credential)))).toEqual(new Set([429]));
    clock.advance(120_000);
    expect(new Set(await times(limit, () => poll(muster, credential)))).toEqual(new Set([200]));
  });

  test('enrollment has no such guard', async () => {
    const app = await createApp(muster, owner.apiKey);
    const wrong = { appId: app.appId, enrollCode: 'mst_code_wrong' };
    expect(new Set(await times(limit * 2, () => sendEnroll(muster, wrong)))).toEqual(new Set([401]));
    expect((await sendEnroll(muster, app)).status).toBe(200);
  });

  test('it is counted', async () => {
    const credential = await daemon();
    const before = await metric(muster, 'muster_polls_total{result="rate_limited"}');
    await times(limit + 3, () => poll(muster, credential));
    expect(await metric(muster, 'muster_polls_total{result="rate_limited"}')).toBe(before + 3);
  });
});
