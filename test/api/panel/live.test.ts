import { expect, test } from 'vitest';
import { ABSENT } from '../../../src/store/port.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { openEvents } from '../../support/panel/event-stream.ts';
import { ask, panelMuster, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { createApp, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { until } from '../../support/time/until.ts';

const rewrite = async ({ store }: PanelMuster, key: string, change: (record: Record<string, unknown>) => object) => {
  const entry = await store.get(key);
  await store.commit({
    expect: [{ key, revision: entry?.revision ?? ABSENT }],
    write: [{ put: key, value: JSON.stringify(change(JSON.parse(entry?.value ?? '{}') as Record<string, unknown>)) }],
  });
};

onEachBackend('live events', (backend) => {
  test('a stream tells what changed in its accounts, and nothing of others', async () => {
    await using panel = await panelMuster(backend);
    const own = await tenant(panel.muster, 'enterprise');
    const other = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId: own.accountId, role: 'owner' }] });
    using stream = await openEvents(panel, ann, `?account=${own.accountId}`);
    expect(stream.status).toBe(200);
    await stream.has('ready');
    await createApp(panel.muster, other.apiKey, 'hidden');
    const created = await ask(panel, ann, `/accounts/${own.accountId}/apps`, {
      method: 'POST',
      body: { name: 'edge' },
    });
    expect(created.status).toBe(201);
    await stream.has('hint', { account: own.accountId, topic: 'apps' });
    const stored = await ask(panel, ann, `/accounts/${own.accountId}/otel-config`, {
      method: 'PUT',
      body: { enabled: true, endpoint: 'https://otel.example.com' },
    });
    expect(stored.status).toBe(200);
    await stream.has('hint', { account: own.accountId, topic: 'config' });
    expect(stream.events.filter(({ data }) => data.includes(other.accountId))).toEqual([]);
  });

  test('it is refused without a session, without a right on an account, and for what is no list of accounts', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store);
    const statusOf = async (browser: Parameters<typeof openEvents>[1], query: string): Promise<number> => {
      using stream = await openEvents(panel, browser, query);
      return stream.status;
    };
    expect(await statusOf(undefined, '')).toBe(401);
    expect(await statusOf(ann, `?account=${accountId}`)).toBe(404);
    expect(await statusOf(ann, '?account=x')).toBe(400);
    expect(await statusOf(ann, '?watch=everything')).toBe(400);
    expect(await statusOf(ann, '')).toBe(200);
  });

  test('it ends at once when the session ends, the user is disabled, or the membership is taken away', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const member = () => signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    const [ended, disabled, removed, stays] = [await member(), await member(), await member(), await member()];
    using first = await openEvents(panel, ended, `?account=${accountId}`);
    using second = await openEvents(panel, disabled, `?account=${accountId}`);
    using third = await openEvents(panel, removed, `?account=${accountId}`);
    using fourth = await openEvents(panel, stays, `?account=${accountId}`);
    expect((await ask(panel, ended, '/sign-out', { method: 'POST' })).status).toBe(200);
    await first.has('ended');
    await rewrite(panel, KEYS.user(disabled.userId), (record) => ({ ...record, disabled: true }));
    await second.has('ended');
    await rewrite(panel, KEYS.members(accountId), ({ members }) => ({
      members: (members as { userId: string }[]).filter(({ userId }) => userId !== removed.userId),
    }));
    await third.has('ended');
    await until(() => first.isOver && second.isOver && third.isOver);
    await fourth.has('hint', { account: accountId, topic: 'members' });
    expect(fourth.isOver).toBe(false);
  });

  test('a browser that comes back is told to read everything anew, unless it has missed nothing', async () => {
    await using panel = await panelMuster(backend);
    const ann = await signedIn(panel.store);
    using first = await openEvents(panel, ann, '');
    await first.has('ready');
    const revision = first.events.find(({ event }) => event === 'ready')?.id ?? '';
    for (const id of ['1', 'another past', String(Number(revision) + 1000)]) {
      using again = await openEvents(panel, ann, '', { 'last-event-id': id });
      await again.has('reset');
    }
    await until(async () => {
      using same = await openEvents(panel, ann, '');
      await same.has('ready');
      const now = same.events[0]?.id ?? '';
      using again = await openEvents(panel, ann, '', { 'last-event-id': now });
      await again.has('ready');
      return again.events[0]?.id === now && !again.events.some(({ event }) => event === 'reset');
    });
  });

  test('many changes are few writes, and a user’s streams are bounded', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    using stream = await openEvents(panel, ann, `?account=${accountId}`);
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        ask(panel, ann, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: `edge ${index}` } }),
      ),
    );
    await stream.has('hint', { account: accountId, topic: 'apps' });
    expect(stream.pieces).toBeLessThan(60);
    const more = await Promise.all(Array.from({ length: 20 }, () => openEvents(panel, ann, '')));
    await until(() => stream.isOver);
    expect(more.every(({ isOver }) => !isOver)).toBe(true);
    for (const one of more) one[Symbol.dispose]();
  });

  test('a change by another replica is told, and a right that is taken away there is lost here', async () => {
    if (backend.name === 'sqlite') return;
    const place = backend.place();
    await using first = await panelMuster({ fresh: (options) => backend.fresh({ ...place, ...options }) }, place);
    await using second = await panelMuster({ fresh: (options) => backend.fresh({ ...place, ...options }) }, place);
    const { accountId } = await tenant(first.muster);
    const ann = await signedIn(first.store, { accounts: [{ accountId, role: 'owner' }] });
    await until(async () => (await ask(second, ann, '/me')).status === 200);
    using stream = await openEvents(second, ann, `?account=${accountId}`);
    await ask(first, ann, `/accounts/${accountId}/apps`, { method: 'POST', body: { name: 'edge' } });
    await stream.has('hint', { account: accountId, topic: 'apps' });
    await ask(first, ann, '/sign-out', { method: 'POST' });
    await stream.has('ended');
  });
});
