import { SignJWT } from 'jose';
import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { identityKey } from '../../../src/domain/users/user-state.ts';
import { put } from '../../../src/domain/records/codec.ts';
import type { Identity } from '../../../src/domain/records/user-records.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { CLIENT_SECRET, RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { ask, putUser, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { meOf, problemOf, signing, type Signing } from '../../support/panel/signing.ts';
import { GOOD_PASSWORD, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { call, type Answer } from '../../support/service/muster.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const MINUTE_MS = 60_000;
const IDENTITIES = KEYS.identity('');

/**
 * Links the identity that the provider names to the user of a session. @returns where the browser came to, and its
 * token then
 */
async function linked(it: Signing, token: string): Promise<{ url: URL; token: string }> {
  const cookie = `muster_${it.origin.port}`;
  const asked = await call(`${it.origin.origin}/panel/v1/me/provider`, {
    method: 'POST',
    body: {},
    headers: { 'content-type': 'application/json', cookie: `${cookie}=${token}`, origin: it.origin.origin },
  });
  const browser = new RedirectedBrowser();
  browser.keep(it.origin, asked.headers);
  browser.set(it.origin, cookie, token);
  const { url } = await browser.go(String(asked.body['url']), ({ pathname }) => ['/me', '/sign-in'].includes(pathname));
  return { url, token: browser.cookie(it.origin, cookie) ?? '' };
}

const unlinked = (it: Signing, token: string): Promise<Answer> =>
  ask(it.panel, { token }, '/me/provider', { method: 'DELETE' });

/** Puts a user who has the identity into the store. @returns the user's id */
async function putLinked(store: Store, identity: Identity): Promise<string> {
  const userId = await putUser(store, { record: { identities: [identity] } });
  const key = identityKey(identity);
  await store.commit({ expect: [expectAbsent(key)], write: [put(key, { userId })] });
  return userId;
}

const passwordUser = (it: Signing): Promise<string> =>
  putUser(it.panel.store, { name: 'Ann', record: { password: { hash: 'x', at: 1 } } });

/** A logout token as the provider signs it. */
const logoutToken = (it: Signing, { sub, sid }: { sub?: string; sid?: string }, jti: string): Promise<string> => {
  const jwt = new SignJWT({
    events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    ...(sid !== undefined && { sid }),
    ...(sub !== undefined && { sub }),
  });
  const { kid, privateKey } = it.provider.key;
  return jwt
    .setProtectedHeader({ alg: 'ES256', kid, typ: 'logout+jwt' })
    .setIssuer(it.provider.issuer)
    .setAudience('muster')
    .setIssuedAt()
    .setJti(jti)
    .sign(privateKey);
};

const logOut = (origin: string, body: string, type = 'application/x-www-form-urlencoded'): Promise<Answer> =>
  call(`${origin}/panel/v1/sign-in/provider/back-channel-logout`, {
    method: 'POST',
    headers: { 'content-type': type },
    body,
  });
const form = (token: string): string => new URLSearchParams({ logout_token: token }).toString();

/** Puts so many users into the store, who cannot sign in. */
async function manyUsers(store: Store, count: number): Promise<void> {
  const user = { name: 'x', login: '', createdAt: 1, disabled: false, identities: [], passkeys: [] };
  for (let from = 0; from < count; from += 100) {
    const keys = Array.from({ length: Math.min(100, count - from) }, (_, index) => KEYS.user(`many${from + index}`));
    const { outcome } = await store.commit({
      expect: [expectAbsent(KEYS.user(`many${from}`))],
      write: keys.map((key) => put(key, user)),
    });
    if (outcome !== 'committed') throw new Error(`A commit of users: ${outcome}`);
  }
}

onEachBackend('the users of a provider', (backend) => {
  test('an operator by the groups who comes just before the first operator’s link is used makes it void', async () => {
    const race = new BeforeCommit(KEYS.operators());
    await using it = await signing({ backend, wrapStore: race.wrapStore });
    await it.provider.set({ user: 'ann', groups: [] });
    expect((await it.signIn()).token).toBeDefined();
    const link = (await it.panel.muster.service.firstLink())?.reveal();
    await it.provider.set({ user: 'ann', groups: ['platform'] });
    race.next = async () => expect((await it.signIn()).token).toBeDefined();
    const founder = { token: tokenOf(link), name: 'Bob', login: 'bob@example.com', password: GOOD_PASSWORD };
    const accepted = await new Visitor(it.panel.muster).post('/links/accept', founder);
    expect([race.isDone, accepted.status]).toEqual([true, 400]);
  });

  test('two first sign-ins of one person at once make one user', async () => {
    await using it = await signing({ backend });
    const both = await Promise.all([it.signIn(), it.signIn()]);
    const bodies = await Promise.all(both.map(async ({ token }) => (await meOf(it, token)).body));
    expect(bodies.map(({ userId }) => userId)).toEqual([bodies[0]?.['userId'], bodies[0]?.['userId']]);
    expect(bodies[0]?.['userId']).toBeTypeOf('string');
  });

  test('a first sign-in that another one overtakes finds the user, though the watch has not told of him', async () => {
    let [asked, userId, issuer] = [0, '', ''];
    const wrapStore = (opened: Store): Store => {
      const faulty = faultyStore(opened);
      return wrappedStore(faulty, {
        get: async (key) => {
          // It has looked whether there is a user, and looks again as it plans its change.
          if (key.startsWith(IDENTITIES) && (asked += 1) === 2) {
            faulty.deaf = true;
            userId = await putLinked(opened, { issuer, subject: 'ann' });
          }
          return await faulty.get(key);
        },
        commit: async (change) => {
          if (change.write.some((write) => 'put' in write && write.put === KEYS.user(userId))) {
            faulty.deaf = false;
            faulty.sever();
          }
          return await faulty.commit(change);
        },
      });
    };
    await using it = await signing({ backend, wrapStore });
    ({ issuer } = it.provider);
    const { token } = await it.signIn();
    expect(asked).toBe(2);
    expect((await meOf(it, token)).body).toMatchObject({ userId });
  });

  test('whoever has the same subject at another provider is somebody else', async () => {
    await using it = await signing({ backend });
    const identity = { issuer: 'https://elsewhere.example.com', subject: 'ann' };
    const userId = await putLinked(it.panel.store, identity);
    const { at, token } = await it.signIn();
    expect(at.pathname).toBe('/');
    const { body } = await meOf(it, token);
    expect(body['userId']).toEqual(expect.stringMatching(/^[a-z0-9]{16}$/));
    expect(body['userId']).not.toBe(userId);
  });

  test('an unlinked identity is another user, and takes its roles along; the last way to sign in stays', async () => {
    await using it = await signing({ backend });
    const userId = await passwordUser(it);
    const { url, token } = await linked(it, (await signedIn(it.panel.store, userId)).token);
    expect(url.pathname).toBe('/me');
    const me = await meOf(it, token);
    expect(me.body).toMatchObject({ accounts: [{ role: 'viewer' }], methods: { provider: true } });
    // The session has its other token already, though the roles have changed with the link.
    expect(me.headers.getSetCookie()).toEqual([]);
    const answer = await unlinked(it, token);
    expect(answer.status).toBe(204);
    const next = /^muster_\d+=([^;]+)/.exec(answer.headers.getSetCookie()[0] ?? '')?.[1];
    expect((await meOf(it, next)).body).toMatchObject({ userId, accounts: [], methods: { provider: false } });
    const stranger = await it.signIn();
    const { body } = await meOf(it, stranger.token);
    expect(body['userId']).not.toBe(userId);
    await stranger.browser.go(
      `${it.origin.origin}/panel/v1/me/proof/provider`,
      ({ pathname }) => pathname === '/proved',
    );
    const refused = await unlinked(it, stranger.browser.cookie(it.origin, `muster_${it.origin.port}`) ?? '');
    expect([refused.status, refused.body['error']]).toMatchObject([409, { code: 'conflict' }]);
  });

  test(`a user has at most ${LIMITS.identitiesPerUserMax} identities`, async () => {
    await using it = await signing({ backend });
    const identities = Array.from({ length: LIMITS.identitiesPerUserMax }, (_, index) => ({
      issuer: 'https://elsewhere.example.com',
      subject: `ann ${index}`,
    }));
    const full = await putUser(it.panel.store, { record: { identities } });
    expect(problemOf((await linked(it, (await signedIn(it.panel.store, full)).token)).url)).toBe('too_many');
    const last = await putUser(it.panel.store, { record: { identities: identities.slice(1) } });
    expect((await linked(it, (await signedIn(it.panel.store, last)).token)).url.pathname).toBe('/me');
  });

  test(`the ${LIMITS.usersMax + 1}st user is told that there is no room, and one of the others still signs in`, async () => {
    await using it = await signing({ backend });
    await it.signIn();
    await manyUsers(it.panel.store, LIMITS.usersMax - 2);
    await it.provider.set({ user: 'bob' });
    expect(problemOf((await it.signIn()).at)).toBeNull();
    await it.provider.set({ user: 'eve' });
    expect(problemOf((await it.signIn()).at)).toBe('too_many');
    await it.provider.set({ user: 'ann' });
    expect(problemOf((await it.signIn()).at)).toBeNull();
  });

  test('a link that another user’s session ends links nothing', async () => {
    await using it = await signing({ backend });
    const ann = await signedIn(it.panel.store, await passwordUser(it));
    const bob = await signedIn(it.panel.store, await passwordUser(it));
    const cookie = `muster_${it.origin.port}`;
    const asked = await call(`${it.origin.origin}/panel/v1/me/provider`, {
      method: 'POST',
      body: {},
      headers: { 'content-type': 'application/json', cookie: `${cookie}=${ann.token}`, origin: it.origin.origin },
    });
    const browser = new RedirectedBrowser();
    browser.keep(it.origin, asked.headers);
    browser.set(it.origin, cookie, bob.token);
    const { url } = await browser.go(String(asked.body['url']), ({ pathname }) => pathname === '/sign-in');
    expect(problemOf(url)).toBe('expired');
    for (const one of [ann, bob])
      expect((await meOf(it, one.token)).body).toMatchObject({ methods: { provider: false } });
  });

  test('mapped roles end after an hour for every session; given ones stay', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    await it.provider.set({ groups: ['owners', 'platform'] });
    const accounts = [{ accountId: it.accountId, role: 'viewer' as const }];
    const userId = await putUser(it.panel.store, { accounts, record: { password: { hash: 'x', at: 1 } } });
    await linked(it, (await signedIn(it.panel.store, userId)).token);
    const { token } = await signedIn(it.panel.store, userId);
    const read = async (): Promise<unknown[]> => {
      const { body } = await meOf(it, token);
      return [body['operator'], (body['accounts'] as { role: string }[]).map(({ role }) => role)];
    };
    expect(await read()).toEqual([true, ['owner']]);
    clock.advance(59 * MINUTE_MS);
    expect(await read()).toEqual([true, ['owner']]);
    clock.advance(2 * MINUTE_MS);
    expect(await read()).toEqual([false, ['viewer']]);
  });

  test('whoever is refused a refresh is out at once, and the session is removed', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const { token } = await it.signIn();
    const { body } = await meOf(it, token);
    const { sessionId } = body['session'] as { sessionId: string };
    expect(await it.panel.store.get(KEYS.refresh(sessionId))).toBeDefined();
    await it.provider.set({ gone: true });
    clock.advance(44 * MINUTE_MS);
    expect((await meOf(it, token)).status).toBe(200);
    clock.advance(2 * MINUTE_MS);
    await until(async () => {
      clock.advance(1000);
      return (await it.panel.store.get(KEYS.session(sessionId))) === undefined;
    });
    expect((await meOf(it, token)).status).toBe(401);
    expect(await it.panel.store.get(KEYS.refresh(sessionId))).toBeUndefined();
  });

  test('the refresh token goes on with a session that gets another token', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    let { token } = await it.signIn();
    const read = async (): Promise<Answer> => {
      const me = await meOf(it, token);
      token = /^muster_\d+=([^;]+)/.exec(me.headers.getSetCookie()[0] ?? '')?.[1] ?? token;
      return me;
    };
    // Each time the roles differ, and the session gets another token.
    for (const [group, role] of [
      ['owners', 'owner'],
      ['staff', 'viewer'],
    ] as const) {
      await it.provider.set({ groups: [group] });
      clock.advance(50 * MINUTE_MS);
      await until(async () => {
        clock.advance(1000);
        return JSON.stringify((await read()).body['accounts']).includes(`"${role}"`);
      });
    }
    expect((await read()).status).toBe(200);
  });

  test('a refresh token that another replica has claimed is left alone until that time is over', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const { token } = await it.signIn();
    const { sessionId } = (await meOf(it, token)).body['session'] as { sessionId: string };
    await it.provider.set({ groups: ['owners'] });
    const claimedUntil = clock.now() + 55 * MINUTE_MS;
    await rewrite(it.panel, KEYS.refresh(sessionId), (record) => ({ ...record, claimedUntil }));
    clock.advance(50 * MINUTE_MS);
    let renewedAt = 0;
    let looks = 0;
    await until(async () => {
      // The clock leaves the other process time: at 60 minutes the session would be over.
      if (looks % 10 === 0) clock.advance(clock.now() < claimedUntil ? MINUTE_MS : 10_000);
      looks += 1;
      renewedAt = clock.now();
      return JSON.stringify((await meOf(it, token)).body['accounts'] ?? []).includes('"owner"');
    });
    expect(renewedAt).toBeGreaterThanOrEqual(claimedUntil);
  });

  test('a refresh token of a provider that was here before is not sent to this one', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const { token } = await it.signIn();
    const { userId, session } = (await meOf(it, token)).body as { userId: string; session: { sessionId: string } };
    const identity = { issuer: 'https://before.example.com', subject: 'ann' };
    await rewrite(it.panel, KEYS.session(session.sessionId), (record) => ({ ...record, identity }));
    await rewrite(it.panel, KEYS.user(userId), (record) => ({ ...record, identities: [identity] }));
    await it.provider.set({ groups: ['owners'] });
    clock.advance(50 * MINUTE_MS);
    const rolesNow = async (): Promise<string> => JSON.stringify((await meOf(it, token)).body['accounts'] ?? []);
    await until(async () => {
      clock.advance(1000);
      const isRefused = it.panel.muster.logged.join('').includes('the roles of a user could not be renewed');
      return isRefused || (await rolesNow()).includes('"owner"');
    });
    expect(await rolesNow()).toContain('"viewer"');
  });

  test('a logout at the provider ends the session on every replica at once', async () => {
    if (backend.name === 'sqlite') return;
    await using it = await signing({ backend });
    await using second = await it.replica();
    const { token } = await it.signIn();
    await until(async () => (await ask(second, { token: token ?? '' }, '/me')).status === 200);
    expect((await logOut(it.panel.muster.panel, form(await logoutToken(it, { sub: 'ann' }, 'a')))).status).toBe(200);
    expect((await ask(second, { token: token ?? '' }, '/me')).status).toBe(401);
  });

  test('whoever signs out at the provider is signed out here by it', async () => {
    await using it = await signing({ backend });
    const { browser, token } = await it.signIn();
    const other = await it.signIn();
    const page = await browser.go(`${it.provider.issuer}/session/end?client_id=muster`);
    const [, xsrf = ''] = /name="xsrf" value="(\w+)"/.exec(await page.response.text()) ?? [];
    await browser.go(`${it.provider.issuer}/session/end/confirm`, () => true, { xsrf, logout: 'yes' });
    await until(async () => (await meOf(it, token)).status === 401);
    expect((await meOf(it, other.token)).status).toBe(200);
  });

  test('a logout of one session at the provider leaves the others, and other people', async () => {
    await using it = await signing({ backend });
    const [here, there] = [await it.signIn(), await it.signIn()];
    const sidOf = async (token: string | undefined): Promise<string> => {
      const { sessionId } = (await meOf(it, token)).body['session'] as { sessionId: string };
      const entry = await it.panel.store.get(KEYS.session(sessionId));
      return (JSON.parse(entry?.value ?? '') as { identity: { sid: string } }).identity.sid;
    };
    const sid = await sidOf(here.token);
    expect(await sidOf(there.token)).not.toBe(sid);
    const { panel } = it.panel.muster;
    expect((await logOut(panel, form(await logoutToken(it, { sub: 'bob', sid }, 'a')))).status).toBe(200);
    expect((await meOf(it, here.token)).status).toBe(200);
    const answer = await logOut(panel, form(await logoutToken(it, { sid }, 'b')));
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'no-store, no-transform']);
    expect([(await meOf(it, here.token)).status, (await meOf(it, there.token)).status]).toEqual([401, 200]);
    const good = form(await logoutToken(it, { sub: 'ann' }, 'c'));
    for (const [body, type] of [
      [good, 'application/json'],
      [`${good}&${good}`, undefined],
      ['', undefined],
      [form('x'.repeat(70_000)), undefined],
    ] as const) {
      expect((await logOut(panel, body, type)).status).toBeGreaterThanOrEqual(400);
    }
    expect((await meOf(it, there.token)).status).toBe(200);
    expect((await logOut(panel, good)).status).toBe(200);
    expect((await meOf(it, there.token)).status).toBe(401);
  });

  test('a panel that is opened by another address leads to its own first; a provider that was away is asked again', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const other = await fetch(`${it.panel.muster.panel}/panel/v1/sign-in/provider`, { redirect: 'manual' });
    expect([other.status, other.headers.get('location')]).toEqual([
      303,
      `${it.origin.origin}/panel/v1/sign-in/provider`,
    ]);
    await it.provider.set({ down: true });
    expect(problemOf((await it.signIn()).at)).toBe('provider_unavailable');
    await it.provider.set({ down: false });
    // It is not asked again at once.
    expect(problemOf((await it.signIn()).at)).toBe('provider_unavailable');
    clock.advance(2000);
    expect(problemOf((await it.signIn()).at)).toBeNull();
  });

  test('no log has a code, a token or the client’s secret', async () => {
    await using it = await signing({ backend });
    const browser = new RedirectedBrowser();
    const begun = await browser.go(`${it.origin.origin}/panel/v1/sign-in/provider`, ({ pathname }) =>
      pathname.endsWith('/callback'),
    );
    const forged = new URL(begun.url);
    forged.searchParams.set('code', 'the-code-of-somebody');
    const { url } = await browser.go(forged.href, ({ pathname }) => pathname === '/sign-in');
    expect(problemOf(url)).toBe('provider_refused');
    const { token } = await it.signIn();
    await logOut(it.panel.muster.panel, form('a.b.c'));
    const log = it.panel.muster.logged.join('');
    expect(log).toContain('a sign-in at the provider failed');
    expect(log).toContain('invalid_grant');
    const secrets = [
      CLIENT_SECRET,
      'the-code-of-somebody',
      begun.url.searchParams.get('code') ?? '',
      token ?? '',
      'a.b.c',
    ];
    expect(secrets.filter((secret) => secret === '' || log.includes(secret))).toEqual([]);
  });
});
