import { afterAll, beforeAll, expect, test } from 'vitest';
import { tenant, type Answer, type Muster } from '../../support/service/muster.ts';
import { asCaller, codeOf, expectRefusal, times, type Ask } from '../../support/service/v1.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const created = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status === 201);
const limited = (answers: readonly Answer[]): Answer[] =>
  answers.filter((answer) => codeOf(answer) === 'limit_reached');
const idsOf = (answers: readonly Answer[]): string[] => answers.map(({ body }) => String(body['appId']));
const appCount = async (ask: Ask): Promise<number> => ((await ask('GET /v1/apps')).body['apps'] as unknown[]).length;

/** Brings the account to that many apps, and ends in a new rate window. */
async function fill(ask: Ask, clock: FakeClock, count: number): Promise<string[]> {
  const ids: string[] = [];
  while (ids.length < count) {
    const answers = await times(Math.min(500, count - ids.length), 64, () => ask('POST /v1/apps'));
    expect(created(answers)).toHaveLength(answers.length);
    ids.push(...idsOf(answers));
    clock.advance(60_000);
  }
  return ids;
}

onEachBackend('A10: 1000 apps', (backend) => {
  const clock = new FakeClock();
  /** Two processes where the store is one that they can share. */
  let one: Muster;
  let other: Muster;
  let apiKey: string;
  /** Takes both processes in turn. */
  const askAny = (number: number): Ask => asCaller(number % 2 === 0 ? one : other, apiKey);
  let ask: Ask;
  let oldest: Answer;
  let ids: string[];
  beforeAll(async () => {
    const shared = { ...backend.place(), clock };
    one = await backend.fresh(shared);
    other = backend.name === 'etcd' ? await backend.fresh(shared) : one;
    ({ apiKey } = await tenant(one));
    ask = asCaller(one, apiKey);
    oldest = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'oldest' } });
    ids = await fill(ask, clock, 989);
  });
  afterAll(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });
  // H13: what another process admitted may count for 62.5 s.
  const nextWindow = (): void => clock.advance(62_500);

  test('64 creates at once at 990 apps: exactly 10 succeed; what is deleted makes room, in any state', async () => {
    const revoked = ids.shift() ?? '';
    expect((await ask(`POST /v1/apps/${revoked}/revoke`)).status).toBe(200);
    nextWindow();

    const answers = await times(64, 64, (number) => askAny(number)('POST /v1/apps'));
    expect(created(answers)).toHaveLength(10);
    expect(limited(answers)).toHaveLength(54);
    for (const answer of limited(answers)) expectRefusal(answer, 'limit_reached');
    for (const number of [0, 1]) expect(await appCount(askAny(number))).toBe(1000);

    expect((await ask(`DELETE /v1/apps/${revoked}`)).status, 'a revoked app counts until it is deleted').toBe(204);
    expect(created(await times(5, 5, () => ask('POST /v1/apps')))).toHaveLength(1);

    const deletes = ids.splice(0, 32);
    const mixed = await Promise.all([
      ...deletes.map((appId, number) => askAny(number)(`DELETE /v1/apps/${appId}`)),
      ...Array.from({ length: 64 }, (_, number) => askAny(number)('POST /v1/apps')),
    ]);
    expect(mixed.slice(0, 32).map(({ status }) => status)).toEqual(deletes.map(() => 204));
    const made = created(mixed).length;
    expect(made + limited(mixed).length).toBe(64);
    for (const number of [0, 1]) expect(await appCount(askAny(number))).toBe(1000 - 32 + made);
    nextWindow();
    const rest = await times(64, 64, (number) => askAny(number)('POST /v1/apps'));
    expect(created(rest), 'none of the limit is lost').toHaveLength(32 - made);
    expect(await appCount(ask)).toBe(1000);
  });

  test('H19: a create is replayed when the account is full, and refused when it was never made', async () => {
    nextWindow();
    expect((await ask(`DELETE /v1/apps/${ids.shift()}`)).status).toBe(204);
    const headers = { 'idempotency-key': 'last' };
    const duplicates = await times(20, 20, (number) => askAny(number)('POST /v1/apps', { headers }));
    expect(new Set(idsOf(created(duplicates))).size, 'one app for all of them').toBe(1);
    expect(created(duplicates)).toHaveLength(20);
    expect(duplicates.filter((answer) => answer.headers.get('idempotency-replayed') !== 'true')).toHaveLength(1);
    expectRefusal(await ask('POST /v1/apps', { headers: { 'idempotency-key': 'new' } }), 'limit_reached');
    const again = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'oldest' } });
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: oldest.text });
    await ask(`DELETE /v1/apps/${String(oldest.body['appId'])}`);
    const retried = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'new' } });
    expect(retried.status, 'limit_reached is not kept').toBe(201);
  });

  test('H1: the fields are judged before the limit', async () => {
    nextWindow();
    expectRefusal(await ask('POST /v1/apps', { body: { name: 7 } }), 'invalid_name');
    expectRefusal(await ask('POST /v1/apps', { headers: { 'idempotency-key': 'é' } }), 'invalid_name');
    expectRefusal(await ask('POST /v1/apps'), 'limit_reached');
  });

  test('one account at its limit is no other one’s', async () => {
    nextWindow();
    expectRefusal(await ask('POST /v1/apps'), 'limit_reached');
    const stranger = asCaller(one, (await tenant(one)).apiKey);
    expect((await stranger('POST /v1/apps')).status).toBe(201);
  });

  test('a store that is nearly full refuses what grows it, and lets what frees it pass beside', async () => {
    let fullness = 0;
    await using muster = await backend.fresh({
      wrapStore: (store) => wrappedStore(store, { fullness: () => fullness }),
    });
    const ask = asCaller(muster, (await tenant(muster)).apiKey);
    const ids = idsOf(await times(8, 8, () => ask('POST /v1/apps')));
    fullness = 0.8;
    const answers = await Promise.all(
      ids.flatMap((appId) => [ask('POST /v1/apps'), ask(`DELETE /v1/apps/${appId}`), ask('POST /v1/apps')]),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(8);
    expect(answers.filter(({ status }) => status === 502)).toHaveLength(16);
    expect(await appCount(ask)).toBe(0);
  });
});
