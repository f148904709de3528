import { rmSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import {
  call,
  createApp,
  enroll,
  Muster,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Tenant,
} from '../../support/service/muster.ts';
import { asCaller, asOperator, expectRefusal, spend, type Ask } from '../../support/service/v1.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

describe('the rate window of an account (H13, H14)', () => {
  const clock = new FakeClock();
  let muster: Muster;
  let account: Tenant;
  let ask: Ask;
  beforeAll(async () => {
    muster = await Muster.start({ clock });
  });
  beforeEach(async () => {
    account = await tenant(muster, 'standard');
    ask = asCaller(muster, account.apiKey);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
  });

  /** `r` and `t` of the RateLimit field of one more request. */
  async function next(target = 'GET /v1/apps'): Promise<string | null> {
    const { headers } = await ask(target);
    expect(headers.get('ratelimit-policy')).toBe('"account";q=600;w=60');
    return headers.get('ratelimit');
  }

  test('the 600th request passes, the 601st is refused, and says when to come back', async () => {
    expect(await next()).toBe('"account";r=599;t=60');
    await spend(muster, account.apiKey, 598);
    expect(await next()).toBe('"account";r=0;t=60');
    const refused = await ask('GET /v1/apps');
    expectRefusal(refused, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(refused.headers.get('ratelimit')).toBe('"account";r=0;t=60');
    expect(refused.headers.get('ratelimit-policy')).toBe('"account";q=600;w=60');
  });

  test('a request is free again exactly 60 s after it was charged', async () => {
    await spend(muster, account.apiKey, 600);
    clock.advance(59_999);
    const refused = await ask('GET /v1/apps');
    expectRefusal(refused, 'rate_limited');
    expect(refused.headers.get('retry-after'), 'never less than a second').toBe('1');
    clock.advance(1);
    expect(await next()).toBe('"account";r=599;t=60');
  });

  test('the window rolls: what was spent late frees late', async () => {
    await spend(muster, account.apiKey, 300);
    clock.advance(40_000);
    await spend(muster, account.apiKey, 300);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    clock.advance(20_000);
    await spend(muster, account.apiKey, 300);
    const refused = await ask('GET /v1/apps');
    expectRefusal(refused, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('40');
    clock.advance(39_500);
    expect((await ask('GET /v1/apps')).headers.get('retry-after'), 'rounded up').toBe('1');
    clock.advance(500);
    await spend(muster, account.apiKey, 300);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
  });

  test('a client that waits as long as Retry-After says is admitted', async () => {
    await spend(muster, account.apiKey, 1);
    clock.advance(12_345);
    await spend(muster, account.apiKey, 599);
    const seconds = Number((await ask('GET /v1/apps')).headers.get('retry-after'));
    clock.advance((seconds - 1) * 1000);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    clock.advance(1000);
    expect((await ask('GET /v1/apps')).status).toBe(200);
  });

  test('a refused request uses up nothing', async () => {
    await spend(muster, account.apiKey, 600);
    clock.advance(30_000);
    for (let i = 0; i < 50; i += 1) expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    clock.advance(30_000);
    expect(await next()).toBe('"account";r=599;t=60');
  });

  test.each<[string, object | string | undefined, number, string]>([
    ['GET /v1/unknown', undefined, 404, 'an unknown path'],
    ['PATCH /v1/apps', undefined, 404, 'another method'],
    [`GET /v1/apps/${'a'.repeat(20)}`, undefined, 404, 'an unknown app'],
    ['POST /v1/apps', { name: 7 }, 400, 'a wrong field'],
    ['PUT /v1/otel-config', {}, 403, 'no entitlement'],
    ['POST /v1/apps', 'x'.repeat(65_537), 413, 'a body that is too large'],
  ])('%s is charged though it is refused (%.0s%s: %s)', async (target, body, status) => {
    const refused = await ask(target, body === undefined ? {} : { body });
    expect(refused.status).toBe(status);
    expect(refused.headers.get('ratelimit')).toBe('"account";r=599;t=60');
    expect(await next()).toBe('"account";r=598;t=60');
  });

  test('401 is charged to nobody, and tells nothing of a window', async () => {
    const wrong = asCaller(muster, account.apiKey.slice(0, -1));
    const operator = asOperator(muster);
    for (let i = 0; i < 10; i += 1) {
      const refused = await wrong('GET /v1/apps');
      expectRefusal(refused, 'invalid_key');
      expect(refused.headers.has('ratelimit')).toBe(false);
    }
    await operator(`PATCH /accounts/${account.accountId}`, { body: { disabled: true } });
    expectRefusal(await ask('GET /v1/apps'), 'account_disabled');
    await operator(`PATCH /accounts/${account.accountId}`, { body: { disabled: false } });
    expect(await next()).toBe('"account";r=599;t=60');
  });

  test('all keys of an account share its window, two accounts do not', async () => {
    const second = await asOperator(muster)(`POST /accounts/${account.accountId}/api-keys`);
    const sibling = asCaller(muster, String(second.body['apiKey']));
    await spend(muster, account.apiKey, 300);
    await spend(muster, String(second.body['apiKey']), 300);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    expectRefusal(await sibling('GET /v1/apps'), 'rate_limited');
    const other = await tenant(muster);
    expect((await asCaller(muster, other.apiKey)('GET /v1/apps')).status).toBe(200);
  });

  test('100 at once for the last 10 requests: 10 pass', async () => {
    await spend(muster, account.apiKey, 590);
    const answers = await Promise.all(Array.from({ length: 100 }, () => ask('GET /v1/apps')));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
  });

  test('a wall clock that jumps moves no window', async () => {
    await spend(muster, account.apiKey, 600);
    clock.jump(3_600_000);
    expectRefusal(await ask('GET /v1/apps'), 'rate_limited');
    clock.jump(-7_200_000);
    clock.advance(60_000);
    expect(await next()).toBe('"account";r=599;t=60');
    clock.jump(3_600_000);
  });

  test('daemons and the operator use up nothing of it', async () => {
    const credential = await enroll(muster, await createApp(muster, account.apiKey));
    for (let i = 0; i < 20; i += 1) expect((await poll(muster, credential)).status).toBe(200);
    await asOperator(muster)(`GET /accounts/${account.accountId}`);
    expect(await next()).toBe('"account";r=598;t=60');
  });

  test('the metrics count and time the decisions, and those that could not be made', async () => {
    await spend(muster, account.apiKey, 600);
    await ask('GET /v1/apps');
    const metrics = async (): Promise<string> => (await call(`${muster.ops}/metrics`, { token: OPERATOR_TOKEN })).text;
    expect(await metrics()).toMatch(/^muster_rate_decisions_total\{decision="limited"\} [1-9]/m);
    expect(await metrics()).toMatch(/^muster_rate_decision_duration_seconds_count\{result="limited"\} [1-9]/m);
    expect(await metrics()).toMatch(/^muster_rate_decision_duration_seconds_count\{result="admitted"\} [1-9]/m);
    expect(await metrics()).toMatch(/^muster_rate_decisions_total\{decision="unavailable"\} 0$/m);
  });
});

test('H13: the windows outlive a clean restart of the embedded service, and no longer than 60 s', async () => {
  const dataDir = scratchDirectory('muster-rate');
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock = new FakeClock();
  const boot = { id: 'one for all', origin: 0 };
  const before = await Muster.start({ dataDir, clock, boot });
  const { apiKey } = await tenant(before);
  await spend(before, apiKey, 200);
  clock.advance(20_000);
  await spend(before, apiKey, 400);
  await before[Symbol.asyncDispose]();

  clock.advance(10_000);
  clock.jump(-3_600_000);
  {
    await using after = await Muster.start({ dataDir, clock, boot });
    const refused = await asCaller(after, apiKey)('GET /v1/apps');
    expectRefusal(refused, 'rate_limited');
    expect(refused.headers.get('retry-after')).toBe('30');
    clock.advance(30_000);
    await spend(after, apiKey, 200);
    expectRefusal(await asCaller(after, apiKey)('GET /v1/apps'), 'rate_limited');
  }
  clock.advance(60_000);
  await using later = await Muster.start({ dataDir, clock, boot });
  expect((await asCaller(later, apiKey)('GET /v1/apps')).headers.get('ratelimit')).toBe('"account";r=599;t=60');
});
