import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';

/* The access tokens on the page of one's own profile: made, shown once, listed and revoked. */

const chromium = findChromium();
const title =
  chromium === undefined ? `access tokens on the pages (skipped: ${NO_CHROMIUM})` : 'access tokens on the pages';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 2);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('a member makes one, which is shown once and works, and revokes it', async () => {
    const { muster, account } = world;
    await using member = await viewerVisit(world, 'member@example.com');
    const { page } = member;
    const dialog = page.getByRole('dialog').last();
    await openPage(page, muster, '/me', /You have no access tokens/);
    await press(page.getByRole('button', { name: 'Make an access token' }));
    await dialog.getByLabel('Name').fill('nightly report');
    // A viewer has no greater role to give.
    expect(await dialog.getByLabel('Role').locator('option').allInnerTexts()).toEqual(['Viewer']);
    expect(await dialog.getByLabel('Expires').locator('option').allInnerTexts()).not.toContain('Never');
    expect(await axe(page)).toEqual([]);
    await press(dialog.getByRole('button', { name: 'Make', exact: true }));
    const token = await dialog.locator('.secret code').first().innerText();
    expect(token).toMatch(/^mst_pat_[a-z0-9]{12}_\w{49}$/);
    // A command is kept in the history of the shell.
    expect(await dialog.locator('pre').innerText()).not.toContain(token.slice(0, 20));
    expect(await axe(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await press(dialog.getByRole('button', { name: 'Go back' }));
    await leaveSecret(page);
    const row = page.getByRole('row').filter({ hasText: 'nightly report' });
    expect(await row.innerText()).toMatch(/viewer/i);
    expect(await page.content()).not.toContain(token);
    expect(await axe(page)).toEqual([]);

    const status = async (path: string, method = 'GET'): Promise<number> =>
      (await call(`${muster.panel}/panel/v1/accounts/${account.accountId}${path}`, { token, method })).status;
    expect([await status('/rollout'), await status('/apps', 'POST')]).toEqual([200, 403]);
    await press(row.getByRole('button', { name: 'Revoke the access token' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }));
    await expect.poll(() => page.getByText('You have no access tokens.').count()).toBe(1);
    expect(await status('/rollout')).toBe(401);
    expect(member.faults).toEqual([]);
  });

  test('the dialog that ends a membership shows those that end with it', async () => {
    const { muster, account, page } = world;
    await using member = await viewerVisit(world, 'leaver@example.com');
    const own = member.page;
    await openPage(own, muster, '/me', /You have no access tokens/);
    await press(own.getByRole('button', { name: 'Make an access token' }));
    await own.getByRole('dialog').getByLabel('Name').fill('left behind');
    await press(own.getByRole('dialog').getByRole('button', { name: 'Make', exact: true }));
    await leaveSecret(own);
    await openPage(page, muster, `/accounts/${account.accountId}/members`, /Viewer/);
    const row = page.getByRole('row').filter({ hasText: 'leaver@example.com' });
    await press(row.getByRole('button', { name: /^(?:End|Remove)/ }).last());
    await expect.poll(() => page.getByRole('dialog').innerText()).toContain('left behind');
    expect(world.visited.faults).toEqual([]);
  });
});
