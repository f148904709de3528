import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { BatchWorld, namesOf, outcomesOf } from '../../support/panel/app-batches.ts';
import { auditsOf, halfWritten } from '../../support/service/accounts.ts';
import { call, createApp, enroll, poll } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';

/* P15: one change of many apps. */

const UNKNOWN = 'a'.repeat(20);

onEachBackend('a batch of apps', (backend) => {
  test('apps are created, get further codes, are revoked and deleted; each has its outcome and its audit entry', async () => {
    await using world = await BatchWorld.start(backend);
    const { muster, store } = world.panel;
    const created = outcomesOf(await world.batch('create', ['edge 1', '', 'edge 1']));
    const ids = created.map(({ appId = '' }) => appId);
    expect(new Set(ids).size).toBe(3);
    const { apps } = (await call(`${muster.api}/v1/apps`, { token: world.apiKey })).body as {
      apps: { name: string }[];
    };
    expect(apps.map(({ name }) => name).toSorted()).toEqual(['', 'edge 1', 'edge 1']);
    const [first = '', second = '', third = ''] = ids;
    const enrolled = (index: number, code = created[index]?.enrollCode ?? '') =>
      enroll(muster, { appId: ids[index] ?? '', enrollCode: code });
    const credentials = [await enrolled(0), await enrolled(1)];

    const issued = outcomesOf(await world.batch('issue-code', [third, UNKNOWN, 'no id at all', third]));
    expect(issued.map(({ error }) => error?.code)).toEqual([undefined, 'not_found', 'not_found', undefined]);
    expect(issued[3]).toEqual(issued[0]);
    await enrolled(2, issued[0]?.enrollCode);

    const revoked = outcomesOf(await world.batch('revoke', [first, UNKNOWN, second]));
    expect(revoked).toMatchObject([{ appId: first }, { error: { code: 'not_found' } }, { appId: second }]);
    for (const credential of credentials) expect((await poll(muster, credential)).status).toBe(401);

    const deleted = outcomesOf(await world.batch('delete', [first, UNKNOWN, first, third]));
    expect(deleted.map(({ appId, error }) => appId ?? error?.code)).toEqual([first, 'not_found', first, third]);
    expect(await world.apps()).toMatchObject([{ appId: second, status: 'revoked' }]);
    const audits = await auditsOf(store, world.accountId);
    const told = (action: string) =>
      audits.filter((entry) => entry.action === action && entry.actor.startsWith('user:'));
    expect(['app.created', 'code.issued', 'app.revoked', 'app.deleted'].map((action) => told(action).length)).toEqual([
      3, 1, 2, 2,
    ]);
    expect(await halfWritten(store, world.accountId)).toEqual([]);
  });

  test('a thousand apps are made by ten requests, and the limit refuses each app beyond it by itself', async () => {
    await using world = await BatchWorld.start(backend);
    await createApp(world.panel.muster, world.apiKey);
    for (let request = 0; request < 9; request += 1) await world.created(LIMITS.appsPerBatchMax);
    const last = outcomesOf(await world.batch('create', namesOf(LIMITS.appsPerBatchMax)));
    expect(last.map(({ error }) => error?.code).filter((code) => code !== undefined)).toEqual(['limit_reached']);
    expect(last.at(-1)?.error?.code).toBe('limit_reached');
    const full = outcomesOf(await world.batch('create', ['one', 'more']));
    expect(full.map(({ error }) => error?.code)).toEqual(['limit_reached', 'limit_reached']);
    expect(await world.apps()).toHaveLength(LIMITS.appsPerAccountMax);
    expect(await halfWritten(world.panel.store, world.accountId)).toEqual([]);
  });

  test('the trips to the store of 100 apps are a few, whatever becomes of them', async () => {
    await using world = await BatchWorld.start(backend);
    await world.created(1, 'first of the day');
    const trips = async (change: string, apps: readonly string[]) => {
      const before = { ...world.store.calls };
      const outcomes = outcomesOf(await world.batch(change, apps, `${change} once`));
      expect(outcomes.every(({ error }) => error === undefined)).toBe(true);
      const { get, list, head, commit } = world.store.calls;
      return {
        ids: outcomes.map(({ appId = '' }) => appId),
        commits: commit - before.commit,
        reads: get + list + head - before.get - before.list - before.head,
      };
    };
    const made = await trips('create', namesOf(LIMITS.appsPerBatchMax));
    const issued = await trips('issue-code', made.ids);
    const revoked = await trips('revoke', made.ids);
    const deleted = await trips('delete', made.ids);
    expect.soft(made.commits).toBeLessThanOrEqual(2);
    expect.soft(issued.commits).toBeLessThanOrEqual(2);
    expect.soft(revoked.commits).toBeLessThanOrEqual(4);
    expect.soft(deleted.commits).toBeLessThanOrEqual(10);
    expect.soft(made.reads).toBeLessThanOrEqual(12);
    expect.soft(issued.reads).toBeLessThanOrEqual(12);
    expect.soft(revoked.reads).toBeLessThanOrEqual(8);
    // One more for each app: what became of it before on this day.
    expect.soft(deleted.reads).toBeLessThanOrEqual(LIMITS.appsPerBatchMax + 30);
  });
});
