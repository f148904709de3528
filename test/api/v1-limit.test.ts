import { describe, expect, inject, test } from 'vitest';
import { onEachBackend } from '../support/backends.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Muster, tenant, type Answer, type MusterOptions } from '../support/muster.ts';
import { asCaller, codeOf, expectRefusal, times, type Ask } from '../support/v1.ts';
import { wrappedStore } from '../support/wrapped-store.ts';

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
  test('64 creates at once at 990 apps: exactly 10 succeed; what is deleted makes room, in any state', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { apiKey } = await tenant(muster);
    const ask = asCaller(muster, apiKey);
    const ids = await fill(ask, clock, 990);
    const revoked = ids[0] ?? '';
    expect((await ask(`POST /v1/apps/${revoked}/revoke`)).status).toBe(200);

    const answers = await times(64, 64, () => ask('POST /v1/apps'));
    expect(created(answers)).toHaveLength(10);
    expect(limited(answers)).toHaveLength(54);
    for (const answer of limited(answers)) expectRefusal(answer, 'limit_reached');
    expect(await appCount(ask)).toBe(1000);

    expect((await ask(`DELETE /v1/apps/${revoked}`)).status, 'a revoked app counts until it is deleted').toBe(204);
    expect(created(await times(5, 5, () => ask('POST /v1/apps')))).toHaveLength(1);

    const deletes = ids.slice(1, 33);
    const mixed = await Promise.all([
      ...deletes.map((appId) => ask(`DELETE /v1/apps/${appId}`)),
      ...Array.from({ length: 64 }, () => ask('POST /v1/apps')),
    ]);
    expect(mixed.slice(0, 32).map(({ status }) => status)).toEqual(deletes.map(() => 204));
    const made = created(mixed).length;
    expect(made + limited(mixed).length).toBe(64);
    expect(await appCount(ask)).toBe(1000 - 32 + made);
    clock.advance(60_000);
    const rest = await times(64, 64, () => ask('POST /v1/apps'));
    expect(created(rest), 'no place is lost').toHaveLength(32 - made);
    expect(await appCount(ask)).toBe(1000);
  });

  test('H19: a create is replayed when the account is full, and refused when it was never made', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const ask = asCaller(muster, (await tenant(muster)).apiKey);
    const first = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'k' } });
    await fill(ask, clock, 998);
    const headers = { 'idempotency-key': 'last' };
    const duplicates = await times(20, 20, () => ask('POST /v1/apps', { headers }));
    expect(new Set(idsOf(created(duplicates))).size, 'one place for all of them').toBe(1);
    expect(created(duplicates)).toHaveLength(20);
    expectRefusal(await ask('POST /v1/apps', { headers: { 'idempotency-key': 'new' } }), 'limit_reached');
    const again = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'k' } });
    expect({ status: again.status, text: again.text }).toEqual({ status: 201, text: first.text });
    await ask(`DELETE /v1/apps/${String(first.body['appId'])}`);
    const retried = await ask('POST /v1/apps', { headers: { 'idempotency-key': 'new' } });
    expect(retried.status, 'limit_reached is not kept').toBe(201);
  });

  test('one account at its limit is no other one’s', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const ask = asCaller(muster, (await tenant(muster)).apiKey);
    await fill(ask, clock, 1000);
    expectRefusal(await ask('POST /v1/apps'), 'limit_reached');
    const other = asCaller(muster, (await tenant(muster)).apiKey);
    expect((await other('POST /v1/apps')).status).toBe(201);
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

const etcd = inject('etcd');
describe.skipIf(etcd === undefined)('A10 over two processes on one etcd', () => {
  const place = (): MusterOptions => ({
    store: `etcd:${etcd ?? ''}`,
    env: { MUSTER_ETCD_PREFIX: `/${crypto.randomUUID()}/` },
  });

  test('64 creates at once at 990 apps, half of them through each: exactly 10 succeed', async () => {
    const clock = new FakeClock();
    const shared = place();
    await using one = await Muster.start({ ...shared, clock });
    await using other = await Muster.start({ ...shared, clock });
    const { apiKey } = await tenant(one);
    const asks = [asCaller(one, apiKey), asCaller(other, apiKey)] as const;
    const ids = await fill(asks[0], clock, 990);
    // H13: what others admitted may count for 62.5 s.
    clock.advance(2500);

    const answers = await times(64, 64, (number) => asks[number % 2 === 0 ? 0 : 1]('POST /v1/apps'));
    expect(answers.filter(({ status }) => status === 502)).toEqual([]);
    expect(created(answers)).toHaveLength(10);
    expect(limited(answers)).toHaveLength(54);
    for (const ask of asks) expect(await appCount(ask)).toBe(1000);

    const mixed = await Promise.all(
      ids.slice(0, 20).flatMap((appId, i) => {
        const [ask, another] = i % 2 === 0 ? asks : [asks[1], asks[0]];
        return [ask(`DELETE /v1/apps/${appId}`), another('POST /v1/apps'), ask('POST /v1/apps')];
      }),
    );
    expect(mixed.filter(({ status }) => status === 204)).toHaveLength(20);
    const made = created(mixed).length;
    expect(made + limited(mixed).length).toBe(40);
    for (const ask of asks) expect(await appCount(ask)).toBe(980 + made);
  });

  test('H19: of 20 duplicates at once through both, one creates', async () => {
    const shared = place();
    await using one = await Muster.start(shared);
    await using other = await Muster.start(shared);
    const { apiKey } = await tenant(one);
    const asks = [asCaller(one, apiKey), asCaller(other, apiKey)] as const;
    const headers = { 'idempotency-key': 'k' };
    const answers = await times(20, 20, (number) => asks[number % 2 === 0 ? 0 : 1]('POST /v1/apps', { headers }));
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(created(answers)).toHaveLength(20);
    expect(answers.filter((answer) => answer.headers.get('idempotency-replayed') !== 'true')).toHaveLength(1);
    expect(await appCount(asks[1])).toBe(1);
  });
});
