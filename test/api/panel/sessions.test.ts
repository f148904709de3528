import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { exchange, type RawAnswer } from '../../support/http/raw-http.ts';
import { ask, panelMuster, putUser, rewrite, signedIn, type Browser } from '../../support/panel/panel-users.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { tenant, type Call } from '../../support/service/muster.ts';
import { describeOnce, onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const HOUR_MS = 3_600_000;
const SESSION_IDLE_MS = 12 * HOUR_MS;
const SESSION_MS = 7 * 24 * HOUR_MS;

onEachBackend('the sessions of the panel', (backend) => {
  test('a session tells who is signed in; without one, or with a forged or ended one, it is 401', async () => {
    await using panel = await panelMuster(backend);
    const { accountId } = await tenant(panel.muster);
    const ann = await signedIn(panel.store, { name: 'Ann', accounts: [{ accountId, role: 'viewer' }] });
    const me = await ask(panel, ann, '/me');
    expect(me.status).toBe(200);
    expect(me.body).toMatchObject({
      userId: ann.userId,
      name: 'Ann',
      operator: false,
      accounts: [{ accountId, role: 'viewer', disabled: false }],
    });
    expect(me.headers.get('cache-control')).toBe('no-store, no-transform');
    for (const other of [undefined, { token: `mst_session_${'0'.repeat(43)}` }, { token: 'x' }]) {
      const refused = await ask(panel, other, '/me');
      expect([refused.status, refused.body['error']]).toMatchObject([401, { code: 'invalid_session' }]);
      expect(refused.headers.get('www-authenticate')).toBeNull();
    }
    expect((await ask(panel, ann, '/sign-out', { method: 'POST' })).status).toBe(200);
    expect((await ask(panel, ann, '/me')).status).toBe(401);
  });

  test('a read that no person asked for keeps no idle session alive; any other request does', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const [left, read, wrote] = [
      await signedIn(panel.store),
      await signedIn(panel.store),
      await signedIn(panel.store, { operator: true }),
    ];
    const unattended = { headers: { 'Muster-Unattended': '?1' } };
    clock.advance(SESSION_IDLE_MS - HOUR_MS);
    expect((await ask(panel, left, '/me', unattended)).status).toBe(200);
    expect((await ask(panel, read, '/me')).status).toBe(200);
    const write = { ...unattended, method: 'PATCH', body: { name: 'Ann' } };
    expect((await ask(panel, wrote, `/users/${read.userId}`, write)).status).toBe(200);
    clock.advance(2 * HOUR_MS);
    const statuses = [left, read, wrote].map(async (browser) => (await ask(panel, browser, '/me')).status);
    expect(await Promise.all(statuses)).toEqual([401, 200, 200]);
  });

  test('a change of roles gives a page that is left open no new session, and whoever comes back gets one', async () => {
    const clock = new FakeClock(Date.now());
    await using panel = await panelMuster(backend, { clock });
    const [left, back] = [await signedIn(panel.store), await signedIn(panel.store)];
    const unattended = { headers: { 'Muster-Unattended': '?1' } };
    clock.advance(SESSION_IDLE_MS - HOUR_MS);
    for (const { userId } of [left, back]) {
      await rewrite(panel, KEYS.user(userId), (record) => ({ ...record, rolesAt: clock.now() }));
    }
    const renewed = async (browser: typeof left, more: Call) =>
      (await ask(panel, browser, '/me', more)).headers.getSetCookie().length > 0;
    expect([await renewed(left, unattended), await renewed(back, {})]).toEqual([false, true]);
    clock.advance(2 * HOUR_MS);
    expect((await ask(panel, left, '/me')).status).toBe(401);
  });

  test('a user ends any session of his own, and none of another', async () => {
    await using panel = await panelMuster(backend);
    const userId = await putUser(panel.store);
    const [here, there] = [await signedIn(panel.store, userId), await signedIn(panel.store, userId)];
    const stranger = await signedIn(panel.store);
    const listed = (await ask(panel, here, '/me/sessions')).body['sessions'] as {
      sessionId: string;
      current: boolean;
    }[];
    expect(listed).toHaveLength(2);
    expect(new Map(listed.map(({ sessionId, current }) => [sessionId, current]))).toEqual(
      new Map([
        [here.sessionId, true],
        [there.sessionId, false],
      ]),
    );
    const end = (of: { sessionId: string }) => ask(panel, here, `/me/sessions/${of.sessionId}`, { method: 'DELETE' });
    expect((await end(stranger)).status).toBe(404);
    expect((await ask(panel, stranger, '/me')).status).toBe(200);
    expect((await end(there)).status).toBe(204);
    expect((await ask(panel, there, '/me')).status).toBe(401);
    expect((await ask(panel, here, '/me')).status).toBe(200);
  });

  test('a disabled user and a removed one are signed out at once', async () => {
    await using panel = await panelMuster(backend);
    const ann = await signedIn(panel.store);
    const entry = await panel.store.get(KEYS.user(ann.userId));
    const record = JSON.parse(entry?.value ?? '') as object;
    await panel.store.commit({
      expect: [expectRevision(KEYS.user(ann.userId), entry?.revision ?? 0)],
      write: [{ put: KEYS.user(ann.userId), value: JSON.stringify({ ...record, disabled: true }) }],
    });
    expect((await ask(panel, ann, '/me')).status).toBe(401);
  });

  test('a change of the roles gives the session another token, and the old one ends', async () => {
    await using panel = await panelMuster(backend);
    const ann = await signedIn(panel.store, { record: { rolesAt: Date.now() + 60_000 } });
    const renewed = await ask(panel, ann, '/me');
    const cookie = renewed.headers.get('set-cookie') ?? '';
    const token = /^muster_\d+=(mst_session_\w+);/.exec(cookie)?.[1] ?? '';
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
    expect((await ask(panel, ann, '/me')).status).toBe(401);
    expect((await ask(panel, { token }, '/me/sessions')).status).toBe(200);
  });

  test('a change whose session, user or role is gone by its commit is refused, and changes nothing', async () => {
    const race = new BeforeCommit(KEYS.audit.under());
    await using panel = await panelMuster(backend, { wrapStore: race.wrapStore });
    const { accountId } = await tenant(panel.muster);
    const operator = await signedIn(panel.store, { operator: true });
    const gone: readonly (readonly [status: number, act: (ann: Browser) => Promise<unknown>])[] = [
      [401, ({ sessionId }) => removed(KEYS.session(sessionId))],
      [401, ({ userId }) => rewrite(panel, KEYS.user(userId), (record) => ({ ...record, disabled: true }))],
      [404, () => rewrite(panel, KEYS.members(accountId), () => ({ members: [] }))],
    ];
    const changes = [
      { path: 'apps', body: { name: 'edge' } },
      { path: 'invitations', body: { role: 'owner' } },
    ] as const;
    async function removed(key: string): Promise<void> {
      const entry = await panel.store.get(key);
      await panel.store.commit({
        expect: [expectRevision(key, entry?.revision ?? 0)],
        write: [{ remove: rawKey(key) }],
      });
    }
    for (const { path, body } of changes) {
      const at = `/accounts/${accountId}/${path}`;
      for (const [status, act] of gone) {
        const ann = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
        race.next = () => act(ann);
        const refused = await ask(panel, ann, at, { method: 'POST', body });
        expect([path, refused.status, race.isDone]).toEqual([path, status, true]);
        expect((await ask(panel, operator, at)).body[path]).toEqual([]);
      }
    }
  });

  test('a session that is used all the time ends after seven days', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor } = await enteredUser(muster);
    for (let halfDays = 1; halfDays < SESSION_MS / SESSION_IDLE_MS; halfDays += 1) {
      clock.advance(SESSION_IDLE_MS);
      expect([halfDays, await visitor.me()]).toEqual([halfDays, 200]);
    }
    clock.advance(SESSION_IDLE_MS - 1);
    expect(await visitor.me()).toBe(200);
    clock.advance(1);
    expect(await visitor.me()).toBe(401);
  });

  test('a user has at most twenty; one more ends the oldest', async () => {
    await using panel = await panelMuster(backend);
    const { visitor: oldest, userId, login } = await enteredUser(panel.muster);
    const others: Browser[] = [];
    while (others.length < LIMITS.sessionsPerUserMax - 1) others.push(await signedIn(panel.store, userId));
    expect(await oldest.me()).toBe(200);
    const next = new Visitor(panel.muster);
    expect((await next.post('/sign-in/password', { login, password: GOOD_PASSWORD })).status).toBe(200);
    expect([await oldest.me(), await next.me()]).toEqual([401, 200]);
    expect((await next.ask('/me/sessions')).body['sessions']).toHaveLength(LIMITS.sessionsPerUserMax);
  });

  describeOnce(backend, 'over https', () => {
    test('the cookie is of this host alone, and goes by https alone; a proxy that does not say so is refused', async () => {
      const url = 'https://panel.example.com';
      await using muster = await backend.fresh({
        env: { MUSTER_PANEL_URL: url, MUSTER_TRUSTED_PROXIES: '127.0.0.1' },
      });
      const created = await asOperator(muster, '/users', { method: 'POST', body: { name: 'Ann', login: 'ann' } });
      const token = tokenOf((created.body['link'] as { url: string }).url);
      const send = (head: string, fields: readonly string[], body = ''): Promise<RawAnswer> => {
        const all = ['Host: panel.example.com', ...fields, `Content-Length: ${body.length}`, 'Connection: close'];
        return exchange(muster.service.panel.port, `${head} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n${body}`);
      };
      const accept = (scheme: string) =>
        send(
          'POST /panel/v1/links/accept',
          [`Origin: ${url}`, 'Content-Type: application/json', `X-Forwarded-Proto: ${scheme}`],
          JSON.stringify({ token, password: GOOD_PASSWORD }),
        );
      const plain = await accept('http');
      expect([plain.status, plain.headers.get('set-cookie')]).toEqual([400, undefined]);
      const cookies = (await accept('https')).headers.get('set-cookie') ?? [];
      const own = /^(__Host-muster=mst_session_\w{43}); Path=\/; HttpOnly; Secure; SameSite=Lax; Max-Age=604800$/;
      const [cookie] = cookies.flatMap((field) => own.exec(field)?.[1] ?? []);
      expect(cookie).toBeDefined();
      expect(cookies.filter((field) => !/^__Host-[^;]+; Path=\/; HttpOnly; Secure; /.test(field))).toEqual([]);
      const me = await send('GET /panel/v1/me', [`Cookie: ${cookie}`, 'X-Forwarded-Proto: https']);
      expect(me.status).toBe(200);
    });
  });

  test('a replica knows at once what another one has ended', async () => {
    if (backend.name === 'sqlite') return;
    const place = backend.place();
    await using first = await panelMuster({ fresh: (options) => backend.fresh({ ...place, ...options }) }, place);
    await using second = await panelMuster({ fresh: (options) => backend.fresh({ ...place, ...options }) }, place);
    const ann = await signedIn(first.store);
    await until(async () => (await ask(second, ann, '/me')).status === 200);
    expect((await ask(first, ann, '/sign-out', { method: 'POST' })).status).toBe(200);
    expect((await ask(second, ann, '/me')).status).toBe(401);
  });
});
