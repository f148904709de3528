import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The page of users tells who has API keys and sessions, and when each was last used. */

const chromium = findChromium();
const title = chromium === undefined ? `what users have (skipped: ${NO_CHROMIUM})` : 'what users have';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 1);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('is in the list, and a key that was made is there without another deed', async () => {
    const { muster, account, page, visited } = world;
    await openPage(page, muster, '/operator/users', /Signs in as/);
    const row = page.getByRole('row', { name: /ann@example\.com/ });
    const cells = async (): Promise<readonly string[]> => await row.getByRole('cell').allInnerTexts();
    expect(await cells()).toEqual(expect.arrayContaining(['none', expect.stringMatching(/^1, used /)]));
    await openPage(page, muster, `/accounts/${account.accountId}/keys`, /Last used/);
    await press(page.getByRole('button', { name: 'Create a key' }));
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('ci');
    await press(dialog.getByRole('button', { name: 'Create', exact: true }));
    await dialog.locator('.secret code').first().waitFor();
    await leaveSecret(page);
    await openPage(page, muster, '/operator/users', /Signs in as/);
    await expect.poll(cells).toEqual(expect.arrayContaining(['1, never used', expect.stringMatching(/^1, used /)]));
    expect(await axe(page)).toEqual([]);
    expect(visited.faults).toEqual([]);
  });

  test('has whom the provider refuses while keys of the person work, and nobody else', async () => {
    const { muster, page, visited } = world;
    const refused = page.getByRole('row', { name: /refused by the provider/ });
    await openPage(page, muster, '/operator/users', /Signs in as/);
    expect(await refused.count()).toBe(0);
    await page.route('**/panel/v1/users', async (route) => {
      const response = await route.fetch();
      const { users } = (await response.json()) as { users: object[] };
      const providerRefusedAt = new Date(Date.now() - 3_600_000).toISOString();
      await route.fulfill({ response, json: { users: users.map((user) => ({ ...user, providerRefusedAt })) } });
    });
    await openPage(page, muster, '/operator/users', /Signs in as/);
    await expect.poll(() => refused.count()).toBe(1);
    expect(await refused.first().innerText()).toMatch(/refused by the provider\s+1 hour ago/);
    expect(await axe(page)).toEqual([]);
    expect(visited.faults).toEqual([]);
  });
});
