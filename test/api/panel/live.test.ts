import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { expectAbsent } from '../../../src/store/port.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { makeToken, type AccessToken } from '../../support/panel/access-tokens/tokens.ts';
import { openEvents } from '../../support/panel/event-stream.ts';
import { ask, panelMuster, rewrite, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { createApp, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { until } from '../../support/time/until.ts';

/** Sessions of somebody, in one commit. */
const putSessions = async ({ store }: PanelMuster, count: number) => {
  const session = { userId: 'somebody', createdAt: 0, expiresAt: Date.now() + 60_000, method: 'password', browser: '' };
  const keys = Array.from({ length: count }, () => KEYS.session(randomUUID()));
  const [first = ''] = keys;
  const write = keys.map((key) => ({ put: key, value: JSON.stringify(session) }));
  await store.commit({ expect: [expectAbsent(first)], write });
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
    const stranger = { name: 'Bob', login: 'bob@example.com', operator: true };
    expect((await asOperator(panel.muster, '/users', { method: 'POST', body: stranger })).status).toBe(201);
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
    // The creation of an operator writes the operators, and changes nothing for Ann.
    expect(stream.events.filter(({ data }) => data.includes('"me"'))).toEqual([]);
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
    expect(await statusOf(ann, `?account=${Array.from({ length: 11 }, () => accountId).join(',')}`)).toBe(400);
    expect(await statusOf(ann, '?watch=usage&watch=limits')).toBe(400);
    expect(await statusOf(ann, '')).toBe(200);
    const head = await ask(panel, ann, '/events', { method: 'HEAD' });
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const member = await signedIn(panel.store, { accounts: [{ accountId, role: 'viewer' }] });
    await rewrite(panel, KEYS.account(accountId), (record) => ({ ...record, disabled: true }));
    expect(await statusOf(member, `?account=${accountId}`)).toBe(403);
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

  test('a user hears of his own sessions; of those of others an operator hears, by few writes', async () => {
    await using panel = await panelMuster(backend);
    const [ann, root] = [await signedIn(panel.store), await signedIn(panel.store, { operator: true })];
    using own = await openEvents(panel, ann, '');
    using all = await openEvents(panel, root, '');
    await Promise.all([own.has('ready'), all.has('ready')]);
    const before = all.pieces;
    for (let batch = 0; batch < 10; batch += 1) await putSessions(panel, 100);
    await all.has('hint', { account: '', topic: 'users' });
    const second = await signedIn(panel.store, ann.userId);
    await own.has('hint', { account: '', topic: 'me' });
    const heard = own.events.length;
    expect((await ask(panel, second, '/sign-out', { method: 'POST' })).status).toBe(200);
    await until(() => own.events.length > heard);
    expect(own.events.filter(({ data }) => data.includes('users'))).toEqual([]);
    expect(all.pieces - before).toBeLessThan(50);
    expect([own.isOver, all.isOver]).toEqual([false, false]);
  });

  test('a user hears of an own access token that is made, and that ends; nobody else does', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const owner = () => signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const [ann, bob] = [await owner(), await owner()];
    const living = await makeToken(panel, ann, { accountId });
    using own = await openEvents(panel, ann, '');
    using others = await openEvents(panel, bob, '');
    await Promise.all([own.has('ready'), others.has('ready')]);
    const hints = () => own.events.filter(({ data }) => data.includes('"me"')).length;
    const heard = async (act: () => Promise<unknown>) => {
      const before = hints();
      await act();
      await until(() => hints() > before);
    };
    const revoke = ({ tokenId }: AccessToken) => ask(panel, ann, `/me/access-tokens/${tokenId}`, { method: 'DELETE' });
    // One that was there before the stream, and one that was made since.
    await heard(() => revoke(living));
    const made: AccessToken[] = [];
    await heard(async () => made.push(await makeToken(panel, ann, { accountId })));
    for (const token of made) await heard(() => revoke(token));
    expect(made).toHaveLength(1);
    await asOperator(panel.muster, `/users/${bob.userId}`, { method: 'PATCH', body: { name: 'Bob' } });
    await others.has('hint', { account: '', topic: 'me' });
    expect(others.events.filter(({ data }) => data.includes('"me"'))).toHaveLength(1);
  });

  test('a service that stops ends the streams at once, and not the sessions', async () => {
    await using panel = await panelMuster(backend);
    const ann = await signedIn(panel.store);
    using stream = await openEvents(panel, ann, '');
    await stream.has('ready');
    await panel.muster.service.stop();
    await until(() => stream.isOver);
    expect(stream.events.map(({ event }) => event)).toEqual(['ready']);
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
