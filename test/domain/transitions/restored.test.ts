import { expect, test } from 'vitest';
import { OTEL_REVISIONS_SKIPPED } from '../../../src/domain/backup/restore-rules.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { settleFormat } from '../../../src/domain/replicas/format.ts';
import { ACCOUNT } from '../../support/records/audit.ts';
import { backupText, putAll, restoreText } from '../../support/records/backups.ts';
import { STALE_MS, ToldFleet } from '../../support/records/told-fleet.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

onEachStore('after a restore', (stores) => {
  test('nothing is told twice, no fleet is silent at once, and what becomes so is told', async () => {
    const clock = new FakeClock();
    await using before = await stores.open();
    await settleFormat(before);
    const fleet = new ToldFleet(before, clock);
    await fleet.begin();
    fleet.account(ACCOUNT);
    for (const id of ['app1', 'app2']) fleet.app(ACCOUNT, id);
    fleet.app(ACCOUNT, 'app3', { enrolledAt: clock.now() - 2 * STALE_MS, connection: 'private' });
    fleet.key(ACCOUNT, 'k1', clock.now() - 1);
    fleet.otel(ACCOUNT, 7);
    await fleet.ack(ACCOUNT, 'app1', 7, 'failed');
    await fleet.leader().round();
    await fleet.ack(ACCOUNT, 'app1', 7);
    await fleet.ack(ACCOUNT, 'app2', 7);
    await fleet.leader().round();
    const told = ['app.silent', 'key.expired', 'rollout.failed', 'rollout.completed'];
    expect((await fleet.entries(ACCOUNT)).map(([action]) => action)).toEqual(told);
    await putAll(before, { [KEYS.otel(ACCOUNT)]: { revision: 7, tag: 'before', at: 1 } });

    await using after = await stores.open();
    await restoreText(after, await backupText(before));
    clock.advance(10 * STALE_MS);
    const restored = new ToldFleet(after, clock);
    restored.remember(
      put(KEYS.account(ACCOUNT), { name: '', entitlement: 'enterprise', disabled: false, createdAt: 0 }),
    );
    const old = { enrolledAt: clock.now() - 10 * STALE_MS };
    for (const id of ['app1', 'app2']) restored.app(ACCOUNT, id, old);
    restored.app(ACCOUNT, 'app3', { ...old, connection: 'private' });
    restored.key(ACCOUNT, 'k1', clock.now() - 10 * STALE_MS - 1);
    const revision = 7 + OTEL_REVISIONS_SKIPPED;
    restored.otel(ACCOUNT, revision);
    const leader = restored.leader({ heardMs: STALE_MS - 1 });
    const news = async () => {
      await leader.round();
      return (await restored.entries(ACCOUNT)).slice(told.length).map(([action, appId]) => [action, appId]);
    };
    expect(await news()).toEqual([]);
    // The same configuration has another revision now, which all daemons apply once more.
    for (const id of ['app1', 'app2']) await restored.ack(ACCOUNT, id, revision);
    expect(await news()).toEqual([]);
    restored.app(ACCOUNT, 'app3', { connection: 'private' });
    expect(await news()).toEqual([['app.back', 'app3']]);
    restored.otel(ACCOUNT, revision + 1);
    for (const id of ['app1', 'app2']) await restored.ack(ACCOUNT, id, revision + 1);
    expect(await news()).toEqual([
      ['app.back', 'app3'],
      ['rollout.completed', undefined],
    ]);
  });
});
