import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { batchScope, idempotencyScope } from '../../../src/domain/records/idempotency-records.ts';
import { BatchWorld, namesOf, outcomesOf } from '../../support/panel/app-batches.ts';
import { ask, rewrite } from '../../support/panel/panel-users.ts';
import { codeOf } from '../../support/panel/visitor.ts';
import { auditsOf, entriesOf, halfWritten } from '../../support/service/accounts.ts';
import { call, enroll, poll } from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';

/* P15: a batch that is asked for again, breaks off in the middle, or meets others. */

const replayed = (answer: { headers: Headers }): string | null => answer.headers.get('idempotency-replayed');

onEachBackend('a batch of apps that is repeated', (backend) => {
  test('the same key tells the same outcomes and makes nothing; the kept codes are encrypted at rest', async () => {
    await using world = await BatchWorld.start(backend);
    const create = (key: string, names = namesOf(3)) => world.batch('create', names, key);
    const first = await create('one');
    const again = await create('one');
    expect([replayed(first), replayed(again)]).toEqual([null, 'true']);
    expect(again.body).toEqual(first.body);
    expect(codeOf(await create('one', namesOf(4)))).toBe('invalid_request');
    expect(await world.apps()).toHaveLength(3);
    expect((await create('another')).body).not.toEqual(first.body);
    const ofAnotherUser = await world.batch('create', namesOf(3), 'one', await world.anotherOwner());
    expect([ofAnotherUser.status, replayed(ofAnotherUser)]).toEqual([200, null]);
    expect(await world.apps()).toHaveLength(9);
    for (const { value } of await entriesOf(world.panel.store, '')) expect(value).not.toContain('mst_code_');

    const ids = outcomesOf(first).map(({ appId = '' }) => appId);
    const issued = await world.batch('issue-code', ids, 'codes');
    expect((await world.batch('issue-code', ids, 'codes')).body).toEqual(issued.body);
    expect(await Promise.all(ids.map((appId) => world.openCodes(appId)))).toEqual([2, 2, 2]);
    const gone = await world.batch('delete', [...ids, 'b'.repeat(20)], 'away');
    expect((await world.batch('delete', [...ids, 'b'.repeat(20)], 'away')).body).toEqual(gone.body);
    expect(await halfWritten(world.panel.store, world.accountId)).toEqual([]);
  });

  test('a revocation is carried out anew: a daemon that was enrolled meanwhile is refused again', async () => {
    await using world = await BatchWorld.start(backend);
    const [appId = ''] = await world.created(1);
    await world.batch('revoke', [appId], 'stop');
    const [code] = outcomesOf(await world.batch('issue-code', [appId]));
    const credential = await enroll(world.panel.muster, { appId, enrollCode: code?.enrollCode ?? '' });
    expect((await poll(world.panel.muster, credential)).status).toBe(200);
    expect(outcomesOf(await world.batch('revoke', [appId], 'stop'))).toMatchObject([{ appId }]);
    expect((await poll(world.panel.muster, credential)).status).toBe(401);
  });

  test('what was refused is tried anew: the place that was made meanwhile is taken', async () => {
    await using world = await BatchWorld.start(backend);
    const key = KEYS.counters(world.accountId);
    await world.created(1);
    await rewrite(world.panel, key, (counters) => ({ ...counters, apps: LIMITS.appsPerAccountMax - 2 }));
    const first = outcomesOf(await world.batch('create', namesOf(4), 'four'));
    expect(first.map(({ error }) => error?.code)).toEqual([undefined, undefined, 'limit_reached', 'limit_reached']);
    await rewrite(world.panel, key, (counters) => ({ ...counters, apps: 3 }));
    const second = outcomesOf(await world.batch('create', namesOf(4), 'four'));
    expect(second.slice(0, 2)).toEqual(first.slice(0, 2));
    expect(new Set(second.map(({ appId }) => appId)).size).toBe(4);
    const third = await world.batch('create', namesOf(4), 'four');
    expect([outcomesOf(third), replayed(third)]).toEqual([second, 'true']);
    expect(await world.apps()).toHaveLength(5);
  });

  test.each([
    ['an answer that is lost after the second commit', ['passes', 'answer lost after commit'], 200],
    ['an outage before the second commit', ['passes', 'lost before commit', 'lost before commit'], 502],
    ['an outage before the first', ['lost before commit', 'lost before commit'], 502],
  ] as const)('%s makes no app twice, and the repetition has a code for each', async (_, fates, status) => {
    await using world = await BatchWorld.start(backend);
    await world.created(1, 'first of the day');
    world.store.fates.push(...fates);
    const names = namesOf(LIMITS.appsPerBatchMax);
    expect((await world.batch('create', names, 'once')).status).toBe(status);
    expect(world.store.fates).toEqual([]);
    const made = outcomesOf(await world.batch('create', names, 'once'));
    expect(new Set(made.map(({ enrollCode }) => enrollCode)).size).toBe(names.length);
    const apps = await world.apps();
    expect(apps.map(({ name }) => name).toSorted()).toEqual([...names, 'first of the day 1'].toSorted());
    const [last] = made.slice(-1);
    await enroll(world.panel.muster, { appId: last?.appId ?? '', enrollCode: last?.enrollCode ?? '' });
    expect(await halfWritten(world.panel.store, world.accountId)).toEqual([]);
  });

  test('the same batch twice at once is one; single requests and other batches beside it keep the limit exact', async () => {
    await using world = await BatchWorld.start(backend);
    await world.created(1, 'first of the day');
    const { muster, store } = world.panel;
    const single = () =>
      call(`${muster.api}/v1/apps`, { method: 'POST', token: world.apiKey, body: { name: 'single' } });
    const [one, same, other, ...singles] = await Promise.all([
      world.batch('create', namesOf(60), 'twice'),
      world.batch('create', namesOf(60), 'twice'),
      world.batch('create', namesOf(60, 'other'), 'else'),
      ...Array.from({ length: 20 }, single),
    ]);
    expect(outcomesOf(same)).toEqual(outcomesOf(one));
    expect(outcomesOf(other).every(({ error }) => error === undefined)).toBe(true);
    expect(singles.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 201));
    expect(await world.apps()).toHaveLength(1 + 60 + 60 + 20);
    await rewrite(world.panel, KEYS.counters(world.accountId), (counters) => ({
      ...counters,
      apps: LIMITS.appsPerAccountMax - 50,
    }));
    const racing = await Promise.all([
      world.batch('create', namesOf(40)),
      world.batch('create', namesOf(40)),
      ...Array.from({ length: 5 }, single),
    ]);
    const made = racing.map((answer) =>
      'outcomes' in answer.body
        ? outcomesOf(answer).filter(({ appId }) => appId !== undefined).length
        : Number(answer.status === 201),
    );
    expect(made.reduce((sum, count) => sum + count, 0)).toBe(50);
    expect(await entriesOf(store, KEYS.app.under(world.accountId))).toHaveLength(141 + 50);
  });

  test('delete and revoke of the same apps at once: each is answered, and nothing is left of those that are gone', async () => {
    await using world = await BatchWorld.start(backend);
    const ids = await world.created(40);
    const [revoked, deleted, again] = await Promise.all([
      world.batch('revoke', ids),
      world.batch('delete', ids),
      world.batch('delete', ids),
    ]);
    const done = (answer: typeof revoked) => outcomesOf(answer).filter(({ appId }) => appId !== undefined).length;
    expect(done(deleted) + done(again)).toBe(ids.length);
    expect(done(revoked)).toBeLessThanOrEqual(ids.length);
    expect(await world.apps()).toEqual([]);
    const audits = await auditsOf(world.panel.store, world.accountId);
    expect(audits.filter(({ action }) => action === 'app.deleted')).toHaveLength(ids.length);
  });

  test('a role that is taken away in the middle ends it there', async () => {
    await using world = await BatchWorld.start(backend);
    const ids = await world.created(90);
    world.store.intercept('commit', 'after', () =>
      rewrite(world.panel, KEYS.members(world.accountId), () => ({ members: [] })),
    );
    const answer = await world.batch('revoke', ids);
    expect([answer.status, codeOf(answer)]).toEqual([404, 'not_found']);
    const entries = await entriesOf(world.panel.store, KEYS.app.under(world.accountId));
    const revoked = entries.filter(({ value }) => value.includes('"status":"revoked"')).length;
    expect(revoked).toBeGreaterThan(0);
    expect(revoked).toBeLessThan(ids.length);
  });

  test('a full store takes revocations and deletions, and no creation', async () => {
    await using world = await BatchWorld.start(backend);
    const ids = await world.created(30);
    world.store.full = LIMITS.storeFullnessMax + 0.01;
    expect((await world.batch('create', ['more'], 'a')).status).toBe(502);
    expect((await world.batch('issue-code', ids.slice(0, 2), 'b')).status).toBe(502);
    expect(outcomesOf(await world.batch('revoke', ids, 'c')).every(({ error }) => error === undefined)).toBe(true);
    expect(outcomesOf(await world.batch('delete', ids, 'd')).every(({ error }) => error === undefined)).toBe(true);
    world.store.full = undefined;
    expect(outcomesOf(await world.batch('create', ['more'], 'a'))[0]?.error).toBeUndefined();
    expect(await world.apps()).toHaveLength(1);
  });

  test('a record of an app that cannot be read holds up no other one', async () => {
    await using world = await BatchWorld.start(backend);
    const ids = await world.created(3);
    await world.batch('revoke', ids);
    const changes = await entriesOf(world.panel.store, KEYS.statusChange.under());
    await rewrite(world.panel, changes.find(({ key }) => key.endsWith(`/${ids[1]}`))?.key ?? '', () => ({
      at: 'never',
    }));
    const outcomes = outcomesOf(await world.batch('delete', ids));
    expect(outcomes.map(({ appId, error }) => appId ?? error?.code)).toEqual([ids[0], 'upstream_unavailable', ids[2]]);
  });

  describeOnce(backend, 'the kept answers', () => {
    test('an account keeps those of its last 50 batches, apart from those of single requests', async () => {
      await using world = await BatchWorld.start(backend);
      const single = () =>
        ask(world.panel, world.owner, `/accounts/${world.accountId}/apps`, {
          method: 'POST',
          body: {},
          headers: { 'idempotency-key': 'single' },
        });
      const one = await single();
      const first = await world.batch('create', ['edge'], 'batch 0');
      for (let n = 1; n < LIMITS.batchesKeptPerAccountMax; n += 1) await world.batch('create', ['edge'], `batch ${n}`);
      expect((await world.batch('create', ['edge'], 'batch 0')).body).toEqual(first.body);
      await world.batch('create', ['edge'], 'one more');
      const kept = await entriesOf(world.panel.store, idempotencyScope(batchScope(world.accountId)));
      expect(kept.filter(({ key }) => key.includes('/answer/'))).toHaveLength(LIMITS.batchesKeptPerAccountMax);
      expect((await world.batch('create', ['edge'], 'batch 0')).body).not.toEqual(first.body);
      expect((await single()).body).toEqual(one.body);
    });
  });
});
