import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { tenant } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The focus is never lost: a dialog gives it back, and what goes away leaves it to the heading. */

const chromium = findChromium();
const title = chromium === undefined ? `where the focus goes (skipped: ${NO_CHROMIUM})` : 'where the focus goes';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3);
    ({ page } = world);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  const dialog = () => page.getByRole('dialog').first();
  const at = (path: string, shows: RegExp) =>
    openPage(page, world.muster, `/accounts/${world.account.accountId}${path}`, shows);
  const focused = () =>
    page.evaluate<string>('document.activeElement.tagName + " " + document.activeElement.innerText');
  async function closeSecret(): Promise<void> {
    await dialog().locator('.secret code').first().waitFor();
    await press(dialog().getByRole('button', { name: 'Done' }));
    await press(page.getByRole('button', { name: 'Close anyway' }));
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  }

  test.each([
    ['Create a key', '/keys', /Last used/, 'Create'],
    ['Invite somebody', '/members', /Members/, 'Make the link'],
    ['Add a daemon', '/apps', /edge-001/, 'Get the code'],
  ])('%s: it goes back to the button that opened the dialog of the secret', async (opens, path, shows, makes) => {
    await at(path, shows);
    await page.getByRole('button', { name: opens, exact: true }).focus();
    await page.keyboard.press('Enter');
    await press(dialog().getByRole('button', { name: makes }));
    await closeSecret();
    await expect.poll(focused).toBe(`BUTTON ${opens}`);
  });

  test('a dialog that an address has opened gives it to the heading of the page', async () => {
    await at('/keys?new=key', /Last used/);
    await press(dialog().getByRole('button', { name: 'Create' }));
    await closeSecret();
    await expect.poll(focused).toBe('H1 API keys');
  });

  test('codes for the chosen apps: it begins on Cancel, is in the dialog while it works, and ends on the heading', async () => {
    await at('/apps', /edge-001/);
    await press(page.getByLabel('Choose all that are shown'));
    await press(page.getByRole('button', { name: 'Issue codes' }));
    await expect.poll(focused).toBe('BUTTON Cancel');
    await press(dialog().getByRole('button', { name: 'Issue codes' }));
    await expect.poll(focused).toMatch(/^H2 \d+ codes are issued$/);
    await closeSecret();
    await expect.poll(focused).toBe('H1 Apps');
  });

  test('a key that is revoked takes its row away, and the first steps that are hidden their button', async () => {
    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Name').fill('gone');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await closeSecret();
    await press(page.getByRole('button', { name: 'Actions for gone' }));
    await press(page.getByRole('menuitem', { name: 'Revoke' }));
    await press(dialog().getByRole('button', { name: 'Revoke' }));
    await expect.poll(() => page.getByRole('button', { name: 'Actions for gone' }).count()).toBe(0);
    await expect.poll(focused).toBe('H1 API keys');

    const { accountId } = await tenant(world.muster);
    await openPage(page, world.muster, `/accounts/${accountId}`, /First steps/);
    await page.getByRole('button', { name: 'Hide' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(focused).toMatch(/^H1 /);
    expect(world.visited.faults).toEqual([]);
  });
});
