import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { ConnectProxy } from '../../support/http/connect-proxy.ts';
import { ask, panelMuster, putUser, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { forgingProvider, type Forgery } from '../../support/panel/forging-provider.ts';
import { RedirectedBrowser, signingKey, type SigningKey } from '../../support/panel/oidc-provider.ts';
import { meOf, problemOf, secretFile, signing } from '../../support/panel/signing.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { lookAtFiles } from '../../support/files/looks.ts';
import { call, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* Sign-in at a real provider, which is a process of its own. */

/** A panel at which everybody signs in by this provider. */
const atProvider = ({ issuer }: { readonly issuer: string }): Promise<PanelMuster> =>
  panelMuster(undefined, {
    env: {
      MUSTER_OIDC_NEWCOMERS: 'all',
      MUSTER_OIDC_ISSUER: issuer,
      MUSTER_OIDC_CLIENT_ID: 'muster',
      MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile(),
    },
  });

describe('sign-in at a provider', () => {
  test('makes a user with the roles that his groups give, by ids alone; another sign-in is the same user', async () => {
    await using it = await signing();
    await it.provider.set({ user: 'ann', groups: ['staff', 'acme'] });
    const first = await it.signIn();
    expect([first.at.pathname, first.at.search]).toEqual(['/', '']);
    const me = await meOf(it, first.token);
    expect(me.body).toMatchObject({
      name: 'ann of the provider',
      operator: false,
      accounts: [{ accountId: it.accountId, role: 'viewer' }],
      session: { method: 'provider' },
    });
    await it.provider.set({ groups: ['owners', 'platform'] });
    const second = await it.signIn();
    const again = await meOf(it, second.token);
    expect(again.body).toMatchObject({ userId: me.body['userId'], operator: true, accounts: [{ role: 'owner' }] });
    // The first session has the new roles as well, under another token.
    const old = await meOf(it, first.token);
    expect([old.status, old.headers.getSetCookie().length > 0]).toEqual([200, true]);
    await it.provider.set({ user: 'bob', groups: ['staff'] });
    const bob = await meOf(it, (await it.signIn()).token);
    expect(bob.body['userId']).not.toBe(me.body['userId']);
  });

  test('goes by the proxy of MUSTER_EGRESS_PROXY with every call; a proxy that refuses is a provider that is away', async () => {
    await using proxy = await ConnectProxy.start();
    await using it = await signing({ env: { MUSTER_EGRESS_PROXY: proxy.url } });
    await it.provider.set({ user: 'ann', groups: ['platform'] });
    const { token } = await it.signIn();
    expect((await meOf(it, token)).body).toMatchObject({ operator: true });
    const paths = proxy.seen.map(({ target }) => target.replace(it.provider.issuer, ''));
    expect(new Set(paths)).toEqual(new Set(['/.well-known/openid-configuration', '/token', '/jwks']));
    proxy.instead = 403;
    expect(problemOf((await it.signIn()).at)).not.toBeNull();
  });

  test('another secret of the client, and other rules of groups, are used at the next sign-in', async () => {
    const clock = new FakeClock(Date.now());
    const folder = scratchDirectory('oidc');
    const [secret, groups] = [join(folder, 'secret'), join(folder, 'groups')];
    writeFileSync(secret, 'the secret of before', { mode: 0o600 });
    writeFileSync(groups, '', { mode: 0o600 });
    const env = { MUSTER_OIDC_CLIENT_SECRET_FILE: secret, MUSTER_OIDC_GROUPS_FILE: groups };
    await using it = await signing({ clock, env });
    await it.provider.set({ user: 'ann', groups: ['platform'] });
    expect(problemOf((await it.signIn()).at)).toBe('provider_refused');

    const took = (): number =>
      it.panel.muster.logged.filter((line) => line.includes('configuration has changed')).length;
    secretFile(folder);
    await lookAtFiles(it.panel.muster, clock);
    await until(() => took() === 1);
    expect((await meOf(it, (await it.signIn()).token)).body).toMatchObject({ operator: false });

    writeFileSync(groups, 'operator platform', { mode: 0o600 });
    await lookAtFiles(it.panel.muster, clock);
    await until(() => took() === 2);
    expect((await meOf(it, (await it.signIn()).token)).body).toMatchObject({ operator: true });
  });

  test.each(['http_proxy', 'HTTP_PROXY', 'https_proxy'])('asks no proxy of %s', async (variable) => {
    await using proxy = await ConnectProxy.start();
    vi.stubEnv(variable, proxy.url);
    onTestFinished(() => void vi.unstubAllEnvs());
    await using it = await signing({ env: { [variable]: proxy.url } });
    await it.provider.set({ user: 'ann', groups: ['platform'] });
    expect((await meOf(it, (await it.signIn()).token)).body).toMatchObject({ operator: true });
    expect(proxy.seen).toEqual([]);
  });

  test('a missing or over-long groups claim refuses, and says so; an empty one is a user without roles', async () => {
    await using it = await signing();
    await it.provider.set({ groups: null });
    expect(problemOf((await it.signIn()).at)).toBe('groups_missing');
    await it.provider.set({ groups: Array.from({ length: 501 }, (_, index) => `group ${index}`) });
    expect(problemOf((await it.signIn()).at)).toBe('groups_too_many');
    await it.provider.set({ groups: [] });
    const { token } = await it.signIn();
    expect((await meOf(it, token)).body).toMatchObject({ accounts: [], operator: false });
  });

  test('rotated keys are found; a provider that is away, and one who is disabled, are said', async () => {
    await using it = await signing();
    const { token } = await it.signIn();
    await it.provider.rotate(signingKey('second'));
    // Keys that were read within the last minute are not read again for a key that is not among them, but once.
    await it.signIn();
    expect(problemOf((await it.signIn()).at)).toBeNull();
    await it.provider.set({ down: true });
    expect((await meOf(it, token)).status).toBe(200);
    await it.provider.set({ down: false });
    const { userId } = (await meOf(it, token)).body as { userId: string };
    const entry = await it.panel.store.get(KEYS.user(userId));
    await it.panel.store.commit({
      expect: [expectRevision(KEYS.user(userId), entry?.revision ?? 0)],
      write: [
        {
          put: KEYS.user(userId),
          value: JSON.stringify({ ...(JSON.parse(entry?.value ?? '{}') as object), disabled: true }),
        },
      ],
    });
    expect(problemOf((await it.signIn()).at)).toBe('disabled');
  });

  test('a callback with another state, without the cookie, or a second time lets nobody in', async () => {
    await using it = await signing();
    const browser = new RedirectedBrowser();
    const begun = await browser.go(`${it.origin.origin}/panel/v1/sign-in/provider`, (url) =>
      url.pathname.endsWith('/callback'),
    );
    const flow = `muster-flow_${it.origin.port}`;
    const sealed = browser.cookie(it.origin, flow) ?? '';
    const forged = new URL(begun.url);
    forged.searchParams.set('state', 'another');
    const land = (url: URL, by = browser) => by.go(url.href, ({ pathname }) => ['/', '/sign-in'].includes(pathname));
    expect(problemOf((await land(forged)).url)).toBe('expired');
    browser.set(it.origin, flow, sealed);
    expect(problemOf((await land(begun.url, new RedirectedBrowser())).url)).toBe('expired');
    expect((await land(begun.url)).url.pathname).toBe('/');
    browser.set(it.origin, flow, sealed);
    expect(problemOf((await land(begun.url)).url)).toBe('expired');
  });

  test('whatever others do behind an address, whoever comes back from the provider with a valid state is let in', async () => {
    await using it = await signing();
    const browser = new RedirectedBrowser();
    const begun = await browser.go(`${it.origin.origin}/panel/v1/sign-in/provider`, (url) =>
      url.pathname.endsWith('/callback'),
    );
    const empty = `${it.origin.origin}/panel/v1/sign-in/provider/callback`;
    for (let i = 0; i < 50; i += 1) {
      const { status, headers } = await fetch(empty, { redirect: 'manual' });
      expect([status, headers.get('location')]).toEqual([303, '/sign-in?problem=expired']);
    }
    const landed = await browser.go(begun.url.href, ({ pathname }) => ['/', '/sign-in'].includes(pathname));
    expect(landed.url.pathname).toBe('/');
  });

  test('each sign-in has a state, a nonce and a challenge of its own', async () => {
    await using it = await signing();
    const begun = async (): Promise<URLSearchParams> => {
      const stop = ({ host }: URL): boolean => host !== it.origin.host;
      return (await new RedirectedBrowser().go(`${it.origin.origin}/panel/v1/sign-in/provider`, stop)).url.searchParams;
    };
    const [one, other] = [await begun(), await begun()];
    for (const name of ['state', 'nonce', 'code_challenge']) {
      expect([name, one.get(name)]).toEqual([name, expect.stringMatching(/^[\w-]{43}$/)]);
      expect([name, other.get(name)]).not.toEqual([name, one.get(name)]);
    }
    expect(one.get('code_challenge_method')).toBe('S256');
  });

  test('the signed-in user links his identity; it signs him in then, and one of another user is refused', async () => {
    await using it = await signing();
    const userId = await putUser(it.panel.store, { name: 'Ann', record: { password: { hash: 'x', at: 1 } } });
    const session = await signedIn(it.panel.store, userId);
    const browser = new RedirectedBrowser();
    const linked = async (by: typeof session) => {
      const asked = await call(`${it.origin.origin}/panel/v1/me/provider`, {
        method: 'POST',
        body: {},
        headers: {
          'content-type': 'application/json',
          cookie: `muster_${it.origin.port}=${by.token}`,
          origin: it.origin.origin,
        },
      });
      browser.keep(it.origin, asked.headers);
      browser.set(it.origin, `muster_${it.origin.port}`, by.token);
      return (await browser.go(String(asked.body['url']), ({ pathname }) => ['/me', '/sign-in'].includes(pathname)))
        .url;
    };
    expect((await linked(session)).pathname).toBe('/me');
    const { token } = await it.signIn();
    expect((await meOf(it, token)).body).toMatchObject({ userId, accounts: [{ role: 'viewer' }] });
    expect(problemOf(await linked(await signedIn(it.panel.store)))).toBe('already_linked');
  });

  test('roles are renewed by the refresh token; a provider that refuses ends the session within the hour', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ clock });
    await it.provider.set({ groups: ['owners'] });
    const { token } = await it.signIn();
    expect((await meOf(it, token)).body).toMatchObject({ accounts: [{ role: 'owner' }] });
    await it.provider.set({ groups: ['staff'] });
    clock.advance(50 * 60_000);
    let current = token;
    await until(async () => {
      clock.advance(1000);
      const { body, headers } = await meOf(it, current);
      // With another role the session has another token, and the refresh token goes with it.
      current = /=(mst_session_\w+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? current;
      return JSON.stringify(body).includes('viewer');
    });
    await it.provider.set({ groups: ['owners'] });
    clock.advance(50 * 60_000);
    await until(async () => {
      clock.advance(1000);
      const { body, headers } = await meOf(it, current);
      current = /=(mst_session_\w+)/.exec(headers.get('set-cookie') ?? '')?.[1] ?? current;
      return JSON.stringify(body).includes('owner');
    });
    // An outage is no refusal: the session goes on until the hour is over, and no longer.
    await it.provider.set({ down: true });
    clock.advance(50 * 60_000);
    expect((await meOf(it, current)).status).toBe(200);
    clock.advance(11 * 60_000);
    expect((await meOf(it, current)).status).toBe(401);
  });

  test('back-channel logout ends the sessions of an identity; a forged or repeated token ends none', async () => {
    await using it = await signing();
    const { token } = await it.signIn();
    const post = (logoutToken: string) =>
      call(`${it.panel.muster.panel}/panel/v1/sign-in/provider/back-channel-logout`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ logout_token: logoutToken }).toString(),
      });
    const claims = { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } };
    const signed = (key: SigningKey, more: object = {}, change: (jwt: SignJWT) => SignJWT = (jwt) => jwt) =>
      change(
        new SignJWT({ ...claims, ...more })
          .setProtectedHeader({ alg: 'ES256', kid: key.kid })
          .setIssuer(it.provider.issuer)
          .setAudience('muster')
          .setSubject('ann')
          .setIssuedAt()
          .setJti('once'),
      ).sign(key.privateKey);
    const { key } = it.provider;
    const refused = [
      await signed(signingKey('first')),
      await signed(key, { nonce: 'n' }),
      await signed(key, { events: {} }),
      await signed(key, {}, (jwt) => jwt.setAudience('another')),
      await signed(key, {}, (jwt) => jwt.setIssuer('https://elsewhere.example.com')),
      await signed(key, {}, (jwt) => jwt.setIssuedAt(Math.floor(Date.now() / 1000) - 3600)),
      await signed(key, {}, (jwt) => jwt.setIssuedAt(Math.floor(Date.now() / 1000) + 600)),
    ];
    for (const forged of refused) expect((await post(forged)).status).toBe(400);
    expect((await post('no token')).status).toBe(400);
    expect((await meOf(it, token)).status).toBe(200);
    // Half a minute of skew between two clocks is none of its faults.
    const good = await signed(key, {}, (jwt) => jwt.setIssuedAt(Math.floor(Date.now() / 1000) + 30));
    expect((await post(good)).status).toBe(200);
    expect((await meOf(it, token)).status).toBe(401);
    expect((await post(good)).status).toBe(400);
  });

  test('signing out tells where to sign out at the provider', async () => {
    await using it = await signing();
    const { token } = await it.signIn();
    const out = await ask(it.panel, { token: token ?? '' }, '/sign-out', { method: 'POST' });
    expect(String(out.body['providerUrl'])).toMatch(new RegExp(`^${it.provider.issuer}/session/end`));
    expect((await meOf(it, token)).status).toBe(401);
  });

  test.each<[says: string, forgery: Forgery, problem: string | null]>([
    ['the token of a sound provider', {}, null],
    ['a clock that is half a minute ahead', { aheadSeconds: 30 }, null],
    ['a clock that is ten minutes ahead', { aheadSeconds: 600 }, 'provider_refused'],
    ['an expired token', { aheadSeconds: -7200 }, 'provider_refused'],
    ['another audience', { audience: 'another' }, 'provider_refused'],
    ['another issuer', { issuer: 'https://elsewhere.example.com' }, 'provider_refused'],
    ['another nonce', { nonce: 'another' }, 'provider_refused'],
    ['a subject of 255 characters', { subject: 's'.repeat(255) }, null],
    ['a subject of 256 characters', { subject: 's'.repeat(256) }, 'provider_refused'],
    ['a subject without a character', { subject: '' }, 'provider_refused'],
    ['a subject that is not ASCII', { subject: 'anné' }, 'provider_refused'],
    ['a subject with a control character', { subject: 'ann\n' }, 'provider_refused'],
    ['a session of 255 characters', { claims: { sid: 's'.repeat(255) } }, null],
    ['a session of 256 characters', { claims: { sid: 's'.repeat(256) } }, 'provider_refused'],
    ['a session without a character', { claims: { sid: '' } }, 'provider_refused'],
    ['a session that is no text', { claims: { sid: 7 } }, 'provider_refused'],
    ['a key that the provider does not publish', { key: signingKey('key') }, 'provider_refused'],
  ])('%s', async (_says, forgery, problem) => {
    await using forger = await forgingProvider(forgery);
    await using panel = await atProvider(forger);
    const home = panel.muster.panel.replace('127.0.0.1', 'localhost');
    const browser = new RedirectedBrowser();
    const { url } = await browser.go(`${home}/panel/v1/sign-in/provider`, ({ pathname }) =>
      ['/', '/sign-in'].includes(pathname),
    );
    expect(problemOf(url)).toBe(problem);
  });

  test('the name that a provider tells is cleaned, and another claim is taken where nothing of it would be seen', async () => {
    const shownAs = async (forgery: Forgery): Promise<unknown> => {
      await using forger = await forgingProvider(forgery);
      await using panel = await atProvider(forger);
      const home = panel.muster.panel.replace('127.0.0.1', 'localhost');
      await new RedirectedBrowser().go(`${home}/panel/v1/sign-in/provider`, ({ pathname }) => pathname === '/');
      const { users } = (await asOperator(panel.muster, '/users')).body as { users: { name: string }[] };
      return users.map(({ name }) => name);
    };
    expect(await shownAs({ claims: { name: ' Ann\u202e\u0000 \u2066Lee\u2069 ' } })).toEqual(['Ann Lee']);
    expect(await shownAs({ claims: { name: '\u200b\u3164' } })).toEqual(['ann']);
    expect(await shownAs({ claims: { name: 'שרה כהן' } })).toEqual(['שרה כהן']);
  });

  test('without a provider its operations are not there', async () => {
    await using panel = await panelMuster();
    await tenant(panel.muster);
    expect((await ask(panel, undefined, '/sign-in/provider')).status).toBe(404);
    expect((await ask(panel, undefined, '/sign-in')).body).toEqual({ password: true });
  });
});
