import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import {
  accepted,
  accessTokens,
  audited,
  keepsToken,
  keptToken,
  keyStatus,
  leaver,
  madeKey,
  passes,
  refusedSince,
  refusedWithKeys,
  signedOutByProvider,
  type Leaver,
} from '../../support/offboarding/leavers.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { ask, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { meOf, signing, type Signing } from '../../support/panel/signing.ts';
import { expectUnchanged } from '../../../src/store/port.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { call, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/*
 * A17: an answer of the provider without the role ends the API keys that were made by it, the access tokens and, with
 * the last role, the sessions. A refused refresh ends what acts as the person, and no key; silence and a logout end
 * less than that.
 */

const MINUTE_MS = 60_000;

onEachBackend('somebody who leaves at the provider', (backend) => {
  test.each([
    ['another role', ['staff'], [200, 200, 401]],
    ['no role', [], [401, 401, 401]],
    ['the role that it was', ['owners', 'staff'], [200, 200, 200]],
  ])('has by the next sign-in with %s what that leaves', async (_name, groups, left) => {
    await using it = await signing({ backend });
    const bob = await leaver(it, 'bob');
    const ann = await leaver(it, 'ann');
    expect(await accepted(it.panel, ann)).toEqual([200, 200, 200]);
    await it.provider.set({ groups });
    const { at, token } = await it.signIn(new RedirectedBrowser());
    expect(at.pathname).toBe('/');
    // A session whose roles have changed gets another token with its next request.
    expect(await accepted(it.panel, ann)).toEqual(left);
    expect((await meOf(it, token)).status).toBe(200);
    expect(await accepted(it.panel, bob)).toEqual([200, 200, 200]);
    const revoked = (await audited(it)).filter(({ action }) => action === 'key.revoked');
    expect(revoked.map(({ detail }) => detail['maker'])).toEqual(left[2] === 401 ? [ann.userId] : []);
  });

  test('has by the renewal of an operator’s role nothing of any account, but for what a person gave', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann', ['platform']);
    const given = await leaver(it, 'bob', ['platform']);
    const members = { members: [{ userId: given.userId, role: 'owner', since: 1 }] };
    await rewrite(it.panel, KEYS.members(it.accountId), () => members);
    const tokens = await accessTokens(it, ann, given);
    expect(await tokens.statuses()).toEqual([200, 200]);
    await it.provider.set({ groups: [] });
    clock.advance(50 * MINUTE_MS);
    await passes(clock, async () => (await keyStatus(it.panel, ann.apiKey)) === 401);
    expect(await accepted(it.panel, ann)).toEqual([401, 401, 401]);
    await passes(clock, async () => (await audited(it)).filter(({ detail }) => 'mapped' in detail).length === 2);
    // Sessions get other tokens, since the roles have changed, and the key is that of an owner by invitation.
    expect(await accepted(it.panel, given)).toEqual([200, 200, 200]);
    expect(await tokens.statuses()).toEqual([401, 200]);
  });

  test.each([
    ['with offline access', {}],
    ['that ends with the session at the provider', { MUSTER_OIDC_SCOPES: 'openid profile groups' }],
  ])(
    'has no session and no access token once a refresh is refused, %s, and the keys stay and are shown',
    async (_of, env) => {
      const clock = new FakeClock(Date.now());
      await using it = await signing({ backend, clock, env });
      const ann = await leaver(it, 'ann');
      const bob = await leaver(it, 'bob');
      const members = { members: [{ userId: bob.userId, role: 'owner', since: 1 }] };
      await rewrite(it.panel, KEYS.members(it.accountId), () => members);
      const tokens = await accessTokens(it, ann, bob);
      expect(await tokens.statuses()).toEqual([200, 200]);
      expect([await refusedSince(it, ann), await refusedWithKeys(it)]).toEqual([null, 0]);
      await it.provider.set({ gone: true });
      clock.advance(46 * MINUTE_MS);
      await passes(clock, async () => (await refusedWithKeys(it)) === 2);
      expect(await accepted(it.panel, ann)).toEqual([401, 401, 200]);
      expect(await accepted(it.panel, bob)).toEqual([401, 401, 200]);
      expect(await tokens.statuses()).toEqual([401, 401]);
      expect([await keepsToken(it, ann.sessionId), await keepsToken(it, bob.sessionId)]).toEqual([false, false]);
      const told = (await audited(it)).filter(({ detail }) => detail['mapped'] === 'refused');
      expect(new Set(told.map(({ actor, detail }) => `${actor} ${String(detail['userId'])}`))).toEqual(
        new Set([`muster ${ann.userId}`, `muster ${bob.userId}`]),
      );
      expect([await refusedSince(it, ann), await refusedSince(it, bob)]).toEqual([
        expect.any(String),
        expect.any(String),
      ]);
      // The owner by invitation is one as before, and the role of groups gives nothing, by whatever way ann comes in.
      const [byPassword, owner] = [
        await signedIn(it.panel.store, ann.userId),
        await signedIn(it.panel.store, bob.userId),
      ];
      expect((await ask(it.panel, byPassword, '/me')).body).toMatchObject({ accounts: [] });
      expect((await ask(it.panel, owner, '/me')).body).toMatchObject({ accounts: [{ role: 'owner' }] });
    },
  );

  test.each([
    ['the role that it was', ['owners'], 200],
    ['another role', ['staff'], 401],
  ])(
    'is refused no more with the next sign-in, whose answer with %s is judged by what was before',
    async (_n, groups, left) => {
      const clock = new FakeClock(Date.now());
      await using it = await signing({ backend, clock });
      const ann = await leaver(it, 'ann');
      await it.provider.set({ gone: true });
      clock.advance(46 * MINUTE_MS);
      await passes(clock, async () => (await refusedWithKeys(it)) === 1);
      await it.provider.set({ gone: false, groups });
      const { token } = await it.signIn(new RedirectedBrowser());
      expect([(await meOf(it, token)).status, await keyStatus(it.panel, ann.apiKey)]).toEqual([200, left]);
      expect([await refusedSince(it, ann), await refusedWithKeys(it)]).toEqual([null, 0]);
      expect(await accepted(it.panel, ann)).toEqual([401, 401, left]);
    },
  );

  test.each([
    ['ends the keys', [], 401],
    ['keeps them by name', ['key'], 200],
  ])('is shown no more once an operator disables the user, which %s', async (_deed, kept, left) => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await refusedWithKeys(it)) === 1);
    const keepKeys = kept.length > 0 ? [keyIdOf(ann.apiKey)] : [];
    await changed(it, ann, { disabled: true, keepKeys });
    expect([await keyStatus(it.panel, ann.apiKey), await refusedWithKeys(it)]).toEqual([left, 0]);
    // A key that was kept by name is ended by no later answer.
    await changed(it, ann, { disabled: false });
    await it.provider.set({ gone: false, groups: ['staff'] });
    await it.signIn(new RedirectedBrowser());
    expect([await refusedSince(it, ann), await keyStatus(it.panel, ann.apiKey)]).toEqual([null, left]);
  });

  test('has no role of groups where an operator disables and enables the user after a refusal', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await refusedWithKeys(it)) === 1);
    await changed(it, ann, { disabled: true });
    await changed(it, ann, { disabled: false });
    const byPassword = await signedIn(it.panel.store, ann.userId);
    expect((await ask(it.panel, byPassword, '/me')).body).toMatchObject({ accounts: [] });
  });

  test('keeps what an owner has kept by name when the membership ended, where the groups gave no right any more', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    const owner = await signedIn(it.panel.store, { accounts: [{ accountId: it.accountId, role: 'owner' }] });
    await rewrite(it.panel, KEYS.members(it.accountId), ({ members }) => ({
      members: [...(members as object[]), { userId: ann.userId, role: 'owner', since: 1 }],
    }));
    const ended = await madeKey(it, ann.other, 'ends');
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await refusedWithKeys(it)) === 1);
    const path = `/accounts/${it.accountId}/members/${ann.userId}?keepKeys=${keyIdOf(ann.apiKey)}`;
    expect((await ask(it.panel, owner, path, { method: 'DELETE' })).status).toBe(204);
    expect([await keyStatus(it.panel, ann.apiKey), await keyStatus(it.panel, ended)]).toEqual([200, 401]);
    await it.provider.set({ gone: false, groups: ['staff'] });
    await it.signIn(new RedirectedBrowser());
    expect([await refusedSince(it, ann), await keyStatus(it.panel, ann.apiKey)]).toEqual([null, 200]);
  });

  test('loses a key of the groups’ role by the next answer, where one of another account was kept by name', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    const other = { ...it, accountId: (await tenant(it.panel.muster)).accountId };
    const membership = { accountId: other.accountId, role: 'owner' } as const;
    const owner = await signedIn(it.panel.store, { accounts: [membership] });
    await rewrite(it.panel, KEYS.members(other.accountId), ({ members }) => ({
      members: [...(members as object[]), { userId: ann.userId, role: 'owner', since: 1 }],
    }));
    const kept = await madeKey(other, ann.other, 'kept');
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await refusedWithKeys(it)) === 1);
    const path = `/accounts/${other.accountId}/members/${ann.userId}?keepKeys=${keyIdOf(kept)}`;
    expect((await ask(it.panel, owner, path, { method: 'DELETE' })).status).toBe(204);
    await it.provider.set({ gone: false, groups: ['staff'] });
    await it.signIn(new RedirectedBrowser());
    expect([await keyStatus(it.panel, ann.apiKey), await keyStatus(it.panel, kept)]).toEqual([401, 200]);
  });

  test('keeps keys and access tokens while the provider is away, and is not asked about once it is back', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ down: true });
    clock.advance(61 * MINUTE_MS);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    clock.advance(10 * MINUTE_MS);
    await passes(clock, async () => !(await keepsToken(it, ann.sessionId)));
    await it.provider.set({ down: false, gone: true });
    clock.advance(5 * MINUTE_MS);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    expect(await refusedSince(it, ann)).toBeNull();
  });

  test.each([
    ['signs out there', {}],
    ['signs out there, which revokes the refresh tokens', { revoke_offline_access: true }],
  ])(
    'is nobody who merely %s: the session ends, and no key, no access token and no question stays',
    async (_n, more) => {
      const clock = new FakeClock(Date.now());
      await using it = await signing({ backend, clock });
      const ann = await leaver(it, 'ann');
      const tokens = await accessTokens(it, ann);
      expect(await tokens.statuses()).toEqual([200]);
      await it.provider.set({ gone: true });
      expect((await signedOutByProvider(it, 'ann', it.panel, more)).status).toBe(200);
      expect([await keepsToken(it, ann.sessionId), await tokens.statuses()]).toEqual([false, [200]]);
      expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
      clock.advance(46 * MINUTE_MS);
      expect([await tokens.statuses(), await refusedSince(it, ann)]).toEqual([[200], null]);
      clock.advance(20 * MINUTE_MS);
      // The roles of groups end by age, and so does what a token may do; the key is of a machine.
      expect([await tokens.statuses(), await keyStatus(it.panel, ann.apiKey)]).toEqual([[403], 200]);
    },
  );

  test('keeps the keys where the provider leaves the groups away: that says nothing, and the roles end by age', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    const before = await keptToken(it, ann.sessionId);
    await it.provider.set({ groups: null });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await keptToken(it, ann.sessionId)) !== before);
    expect(await keyStatus(it.panel, ann.apiKey)).toBe(200);
    clock.advance(15 * MINUTE_MS);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    expect((await ask(it.panel, ann.other, '/me')).body).toMatchObject({ accounts: [] });
  });

  test('loses by a proof at the provider what its groups give no more', async () => {
    await using it = await signing({ backend });
    const cookie = `muster_${it.origin.port}`;
    await it.provider.set({ user: 'ann', groups: ['owners'] });
    const { browser, token } = await it.signIn();
    const { userId } = (await meOf(it, token)).body as { userId: string };
    const apiKey = await madeKey(it, await signedIn(it.panel.store, userId), 'ann');
    await it.provider.set({ groups: ['staff'] });
    const isPage = ({ pathname }: URL): boolean => ['/proved', '/sign-in'].includes(pathname);
    const { url } = await browser.go(`${it.origin.origin}/panel/v1/me/proof/provider`, isPage);
    expect([url.pathname, url.search]).toEqual(['/proved', '']);
    expect(await keyStatus(it.panel, apiKey)).toBe(401);
    expect((await meOf(it, browser.cookie(it.origin, cookie))).body).toMatchObject({ accounts: [{ role: 'viewer' }] });
  });

  test('has by a proof at the provider the refresh token that it gave', async () => {
    await using it = await signing({ backend });
    const cookie = `muster_${it.origin.port}`;
    const { browser, token } = await it.signIn();
    const sessionId = async (of: string | undefined): Promise<string> =>
      ((await meOf(it, of)).body as { session: { sessionId: string } }).session.sessionId;
    const refresh = await it.panel.store.get(KEYS.refresh(await sessionId(token)));
    if (!refresh) throw new Error('The session has no refresh token.');
    await it.panel.store.commit({
      expect: [expectUnchanged(refresh)],
      write: [{ remove: KEYS.refresh(await sessionId(token)) }],
    });
    await browser.go(`${it.origin.origin}/panel/v1/me/proof/provider`, ({ pathname }) => pathname === '/proved');
    expect(await keepsToken(it, await sessionId(browser.cookie(it.origin, cookie)))).toBe(true);
  });

  test('loses by linking another identity what its groups do not give', async () => {
    await using it = await signing({ backend });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ user: 'eve', groups: ['staff'] });
    const cookie = `muster_${it.origin.port}`;
    const asked = await call(`${it.origin.origin}/panel/v1/me/provider`, {
      method: 'POST',
      body: {},
      headers: {
        'content-type': 'application/json',
        cookie: `${cookie}=${ann.other.token}`,
        origin: it.origin.origin,
      },
    });
    const browser = new RedirectedBrowser();
    browser.keep(it.origin, asked.headers);
    browser.set(it.origin, cookie, ann.other.token);
    const { url } = await browser.go(String(asked.body['url']), ({ pathname }) =>
      ['/me', '/sign-in'].includes(pathname),
    );
    expect(url.pathname).toBe('/me');
    expect(await keyStatus(it.panel, ann.apiKey)).toBe(401);
    const next = browser.cookie(it.origin, cookie);
    expect((await meOf(it, next)).body).toMatchObject({ accounts: [{ role: 'viewer' }] });
  });

  test('keeps the keys by their own unlinking: nobody has shown them', async () => {
    await using it = await signing({ backend });
    const ann = await leaver(it, 'ann');
    const record = { password: { hash: 'x', at: 1 } };
    await rewrite(it.panel, KEYS.user(ann.userId), (user) => ({ ...user, ...record }));
    expect((await ask(it.panel, ann.other, '/me/provider', { method: 'DELETE' })).status).toBe(204);
    expect(await keyStatus(it.panel, ann.apiKey)).toBe(200);
  });

  test('leaves no API key that is made at the instant of the answer', async () => {
    await using it = await signing({ backend });
    for (let turn = 0; turn < 5; turn += 1) {
      const ann = await leaver(it, `ann-${turn}`);
      await it.provider.set({ groups: [] });
      const path = `/accounts/${it.accountId}/api-keys`;
      const making = Array.from({ length: 3 }, () => ask(it.panel, ann.other, path, { method: 'POST', body: {} }));
      const [, ...made] = await Promise.all([it.signIn(new RedirectedBrowser()), ...making]);
      const keys = made.flatMap(({ status, body }) => (status === 201 ? [String(body['apiKey'])] : []));
      for (const key of [ann.apiKey, ...keys]) expect(await keyStatus(it.panel, key)).toBe(401);
    }
  });

  test('loses a key once where an operator disables the user at the instant of the answer', async () => {
    await using it = await signing({ backend });
    for (let turn = 0; turn < 5; turn += 1) {
      const ann = await leaver(it, `ann-${turn}`);
      await it.provider.set({ groups: [] });
      await Promise.all([it.signIn(new RedirectedBrowser()), changed(it, ann, { disabled: true })]);
      expect(await accepted(it.panel, ann)).toEqual([401, 401, 401]);
      const ended = (await audited(it)).filter(({ detail }) => detail['maker'] === ann.userId);
      expect(ended.map(({ action }) => action)).toEqual(['key.revoked']);
    }
  });

  test('is accepted by no replica once one of them knows', async () => {
    if (backend.name === 'sqlite') return;
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    await using second = await it.replica();
    const ann = await leaver(it, 'ann');
    const bob = await leaver(it, 'bob');
    const tokens = await accessTokens(it, ann, bob);
    await until(async () => (await accepted(second, ann)).every((status) => status === 200));
    // An answer without a role ends everything, the key included.
    await it.provider.set({ groups: [] });
    await it.signIn(new RedirectedBrowser());
    const everywhere = (who: Leaver): Promise<readonly number[]>[] =>
      Array.from({ length: 20 }, async () => [...(await accepted(it.panel, who)), ...(await accepted(second, who))]);
    expect(new Set((await Promise.all(everywhere(bob))).flat())).toEqual(new Set([401]));
    expect(await tokens.statuses()).toEqual([200, 401]);
    // The audit of either replica tells a refusal: from then on the other one accepts nothing but keys.
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await audited(it)).some(({ detail }) => detail['mapped'] === 'refused'));
    for (const statuses of await Promise.all(everywhere(ann))) expect(statuses).toEqual([401, 401, 200, 401, 401, 200]);
    expect(await tokens.statuses()).toEqual([401, 401]);
  });
});

/** The id of an API key, which its text has. */
const keyIdOf = (apiKey: string): string => apiKey.split('_')[2] ?? '';

/** An operator changes the user. */
async function changed({ panel }: Signing, { userId }: Leaver, body: object): Promise<void> {
  const answer = await asOperator(panel.muster, `/users/${userId}`, { method: 'PATCH', body });
  expect([answer.status, answer.text]).toEqual([200, expect.any(String)]);
}
