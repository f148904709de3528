import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import {
  accepted,
  accessTokens,
  audited,
  keepsToken,
  keyStatus,
  leaver,
  lookedAfter,
  madeKey,
  passes,
  signedOutByProvider,
} from '../../support/offboarding/leavers.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { ask, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { meOf, signing } from '../../support/panel/signing.ts';
import { asOperator } from '../../support/panel/visitor.ts';
import { call } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/*
 * A17: whoever loses the right at the provider loses with it the sessions and the API keys that were made by it, once
 * the provider has said so. Silence of the provider ends rights and sessions, and no key.
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

  test('has nothing once a refresh is refused, and whoever an account has by invitation keeps the keys', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    const bob = await leaver(it, 'bob');
    await rewrite(it.panel, KEYS.members(it.accountId), () => ({
      members: [{ userId: bob.userId, role: 'owner', since: 1 }],
    }));
    const tokens = await accessTokens(it, ann, bob);
    expect(await tokens.statuses()).toEqual([200, 200]);
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await keyStatus(it.panel, ann.apiKey)) === 401);
    expect(await accepted(it.panel, ann)).toEqual([401, 401, 401]);
    await passes(clock, async () => (await ask(it.panel, bob.other, '/me')).status === 401);
    expect(await accepted(it.panel, bob)).toEqual([401, 401, 200]);
    // An access token acts as its person, as a session does.
    expect(await tokens.statuses()).toEqual([401, 401]);
    expect([await keepsToken(it, ann.sessionId), await keepsToken(it, bob.sessionId)]).toEqual([false, false]);
    const told = (await audited(it)).filter(({ detail }) => detail['mapped'] === 'refused');
    expect(new Set(told.map(({ actor, detail }) => `${actor} ${String(detail['userId'])}`))).toEqual(
      new Set([`muster ${ann.userId}`, `muster ${bob.userId}`]),
    );
  });

  test('keeps the keys where the refused refresh token was bound to the session at the provider', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock, env: { MUSTER_OIDC_SCOPES: 'openid profile groups' } });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ gone: true });
    clock.advance(46 * MINUTE_MS);
    await passes(clock, async () => (await meOf(it, ann.token)).status === 401);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
  });

  test('keeps the keys while the provider is away, and not once it is back and knows nobody', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const [ann, bob] = [await leaver(it, 'ann'), await leaver(it, 'bob')];
    await it.provider.set({ down: true });
    clock.advance(61 * MINUTE_MS);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    clock.advance(10 * MINUTE_MS);
    await passes(clock, async () => (await it.panel.store.get(KEYS.session(ann.sessionId))) === undefined);
    for (let hour = 1; hour <= 3; hour += 1) {
      clock.advance(60 * MINUTE_MS);
      // Each replica asks again and again: a token that nobody looks after may be of a copy of the store.
      for (const { sessionId } of [ann, bob]) await lookedAfter(it, sessionId, clock);
    }
    expect([await keyStatus(it.panel, ann.apiKey), await keyStatus(it.panel, bob.apiKey)]).toEqual([200, 200]);
    await it.provider.set({ down: false, gone: true });
    await passes(clock, async () => (await keyStatus(it.panel, ann.apiKey)) === 401);
    await passes(clock, async () => (await keyStatus(it.panel, bob.apiKey)) === 401);
  });

  test('is nobody who merely signs out there: the keys of that person stay, also after an outage', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    expect((await signedOutByProvider(it, 'ann')).status).toBe(200);
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    await passes(clock, async () => !(await keepsToken(it, ann.sessionId)));
    expect(await accepted(it.panel, ann)).toEqual([401, 200, 200]);
    const again = await leaver(it, 'ann');
    await it.provider.set({ down: true });
    clock.advance(71 * MINUTE_MS);
    await passes(clock, async () => (await it.panel.store.get(KEYS.session(again.sessionId))) === undefined);
    await it.provider.set({ down: false });
    await passes(clock, async () => !(await keepsToken(it, again.sessionId)));
    expect([await keyStatus(it.panel, ann.apiKey), await keyStatus(it.panel, again.apiKey)]).toEqual([200, 200]);
  });

  test('has nothing within the minute after a logout token, where the provider knows them no more', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ gone: true });
    expect((await signedOutByProvider(it, 'ann')).status).toBe(200);
    expect((await meOf(it, ann.token)).status).toBe(401);
    const began = clock.now();
    await passes(clock, async () => (await keyStatus(it.panel, ann.apiKey)) === 401);
    expect(clock.now() - began).toBeLessThan(MINUTE_MS);
    expect(await accepted(it.panel, ann)).toEqual([401, 401, 401]);
  });

  test('who has signed in again since the logout is there, whatever the earlier token would say', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    expect((await signedOutByProvider(it, 'ann')).status).toBe(200);
    const { token } = await it.signIn(new RedirectedBrowser());
    expect(await keepsToken(it, ann.sessionId)).toBe(false);
    await it.provider.set({ gone: true });
    clock.advance(5 * MINUTE_MS);
    await until(async () => (await meOf(it, token)).status === 200);
    expect(await keyStatus(it.panel, ann.apiKey)).toBe(200);
  });

  test.each([
    ['disabled', { method: 'PATCH', body: { disabled: true } }],
    ['deleted', { method: 'DELETE' }],
  ])('is asked about no more once an operator has %s the user', async (_deed, request) => {
    await using it = await signing({ backend });
    const ann = await leaver(it, 'ann');
    expect((await signedOutByProvider(it, 'ann')).status).toBe(200);
    expect([await keepsToken(it, ann.sessionId), await keyStatus(it.panel, ann.apiKey)]).toEqual([true, 200]);
    expect((await asOperator(it.panel.muster, `/users/${ann.userId}`, request)).status).toBeLessThan(300);
    expect(await keepsToken(it, ann.sessionId)).toBe(false);
    expect(await accepted(it.panel, ann)).toEqual([401, 401, 401]);
  });

  test('keeps the keys where the logout itself revokes the tokens by which the provider would be asked', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const [ann, bob] = [await leaver(it, 'ann'), await leaver(it, 'bob')];
    await it.provider.set({ gone: true });
    const revoking = { revoke_offline_access: true };
    expect((await signedOutByProvider(it, 'ann', it.panel, revoking)).status).toBe(200);
    expect([await keepsToken(it, ann.sessionId), (await meOf(it, ann.token)).status]).toEqual([false, 401]);
    expect((await signedOutByProvider(it, 'bob')).status).toBe(200);
    await passes(clock, async () => (await keyStatus(it.panel, bob.apiKey)) === 401);
    expect(await keyStatus(it.panel, ann.apiKey)).toBe(200);
  });

  test('keeps the keys where the provider leaves the groups away: that says nothing, and the roles end by age', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    const ann = await leaver(it, 'ann');
    await it.provider.set({ groups: null });
    clock.advance(46 * MINUTE_MS);
    await lookedAfter(it, ann.sessionId, clock);
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

  test('loses by their own unlinking what the identity gave', async () => {
    await using it = await signing({ backend });
    const ann = await leaver(it, 'ann');
    const record = { password: { hash: 'x', at: 1 } };
    await rewrite(it.panel, KEYS.user(ann.userId), (user) => ({ ...user, ...record }));
    const owner = await signedIn(it.panel.store, { accounts: [{ accountId: it.accountId, role: 'owner' }] });
    const kept = await madeKey(it, owner, 'of another owner');
    expect((await ask(it.panel, ann.other, '/me/provider', { method: 'DELETE' })).status).toBe(204);
    expect([await keyStatus(it.panel, ann.apiKey), await keyStatus(it.panel, kept)]).toEqual([401, 200]);
  });

  test('is accepted by no replica once one of them knows', async () => {
    if (backend.name === 'sqlite') return;
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    await using second = await it.replica();
    const ann = await leaver(it, 'ann');
    await until(async () => (await accepted(second, ann)).every((status) => status === 200));
    await it.provider.set({ gone: true });
    expect((await signedOutByProvider(it, 'ann', second)).status).toBe(200);
    expect((await meOf(it, ann.token)).status).toBe(401);
    // The audit of either replica tells it: from then on the other one accepts nothing.
    await passes(clock, async () => (await audited(it)).some(({ detail }) => detail['mapped'] === 'refused'));
    const all = Array.from({ length: 20 }, async () => [
      ...(await accepted(it.panel, ann)),
      ...(await accepted(second, ann)),
    ]);
    expect((await Promise.all(all)).flat().filter((status) => status !== 401)).toEqual([]);
  });
});
