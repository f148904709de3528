import { expect, test } from 'vitest';
import { signedIn } from '../../support/panel/panel-users.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { meOf, problemOf, signing, type Signing } from '../../support/panel/signing.ts';
import { asOperator, tokenOf, Visitor } from '../../support/panel/visitor.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

/* Who becomes a user by a first sign-in at the provider (`MUSTER_OIDC_NEWCOMERS`). */

const usersOf = async ({ panel }: Signing): Promise<number> =>
  ((await asOperator(panel.muster, '/users?limit=1000')).body['users'] as unknown[]).length;

/** Opens a link in a browser, as its page does. */
async function open({ origin }: Signing, browser: RedirectedBrowser, token: string): Promise<number> {
  const response = await fetch(`${origin.origin}/panel/v1/links/read`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: origin.origin, 'sec-fetch-site': 'same-origin' },
    body: JSON.stringify({ token }),
  });
  browser.keep(origin, response.headers);
  return response.status;
}

async function invitation({ panel, accountId }: Signing) {
  const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
  const visitor = new Visitor(panel.muster, { browser: owner });
  const { body } = await visitor.post(`/accounts/${accountId}/invitations`, { role: 'viewer' });
  const path = `/accounts/${accountId}/invitations/${String(body['linkId'])}`;
  return { token: tokenOf(body['url']), withdraw: () => visitor.ask(path, { method: 'DELETE' }) };
}

onEachBackend('a first sign-in at the provider', (backend) => {
  test('without a role and an invitation is refused in words, and writes nothing', async () => {
    await using it = await signing({ backend, newcomers: 'roles' });
    await it.provider.set({ user: 'nobody', groups: ['others'] });
    const before = await usersOf(it);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await it.provider.set({ user: `nobody-${attempt}`, groups: ['others'] });
      expect(problemOf((await it.signIn()).at)).toBe('no_role');
    }
    expect(await usersOf(it)).toBe(before);
    await it.provider.set({ user: 'staff', groups: ['staff'] });
    const { at, browser } = await it.signIn();
    expect([at.pathname, await usersOf(it)]).toEqual(['/', before + 1]);
    // Who is known comes in again, whatever the groups give now.
    await it.provider.set({ user: 'staff', groups: ['others'] });
    expect((await it.signIn(browser)).at.pathname).toBe('/');
  });

  test('with an invitation that is good and was opened in the same browser makes a user', async () => {
    await using it = await signing({ backend, newcomers: 'roles' });
    const { token, withdraw } = await invitation(it);
    const [browser, late] = [new RedirectedBrowser(), new RedirectedBrowser()];
    expect([await open(it, browser, token), await open(it, late, token)]).toEqual([200, 200]);
    await it.provider.set({ user: 'elsewhere', groups: ['others'] });
    expect(problemOf((await it.signIn()).at)).toBe('no_role');
    await it.provider.set({ user: 'guest', groups: ['others'] });
    expect((await it.signIn(browser)).at.pathname).toBe('/');
    expect((await withdraw()).status).toBe(204);
    await it.provider.set({ user: 'late', groups: ['others'] });
    expect(problemOf((await it.signIn(late)).at)).toBe('no_role');
  });

  test('and every later one that is refused is told of with the user', async () => {
    const clock = new FakeClock(Date.now());
    await using it = await signing({ backend, clock });
    await it.provider.set({ user: 'ann', groups: ['staff'] });
    const { token } = await it.signIn();
    const userId = String((await meOf(it, token)).body['userId']);
    await it.provider.set({ user: 'ann', groups: null });
    expect(problemOf((await it.signIn()).at)).toBe('groups_missing');
    const told = async (): Promise<unknown> => {
      const { entries } = (await asOperator(it.panel.muster, '/audit?limit=1000')).body as {
        entries: { action: string; detail: object }[];
      };
      return entries.filter(({ action }) => action === 'sign-in.refused').map(({ detail }) => detail);
    };
    await untilPassing(clock, async () => JSON.stringify(await told()).includes(userId), 10_000);
    expect(await told()).toEqual([expect.objectContaining({ userId, count: 1, ways: 'provider' })]);
  });

  test('makes a user of everybody where the installation says so', async () => {
    await using it = await signing({ backend, newcomers: 'all' });
    await it.provider.set({ user: 'anybody', groups: ['others'] });
    expect((await it.signIn()).at.pathname).toBe('/');
  });
});
