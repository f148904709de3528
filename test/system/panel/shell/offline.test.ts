import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The service is away under an open page. */

const chromium = findChromium();
const title = chromium === undefined ? `an outage (skipped: ${NO_CHROMIUM})` : 'an outage';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3, { viewport: { width: 1280, height: 900 } });
    ({ page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = async (path: string, shows: RegExp): Promise<void> => {
    if (world) await openPage(page, world.muster, `/accounts/${world.account.accountId}${path}`, shows);
  };
  const offline = (isOffline: boolean): Promise<void> => page.context().setOffline(isOffline);
  const said = (): Promise<number> => page.getByText('cannot be reached').count();

  test('one banner says it, typed work stays, and the banner goes when the service answers', async () => {
    await at('/configuration', /Endpoint/);
    await page.getByLabel('Endpoint').fill('https://typed.example.com');
    await offline(true);
    await expect.poll(said).toBe(1);
    // Each card of a page that reads, and fails to: still one place says why.
    await press(page.getByRole('button', { name: 'Review the change' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Save' }));
    await expect.poll(() => page.getByRole('dialog').innerText()).toMatch(/may have happened, or not/);
    expect(await said()).toBe(1);
    await press(page.getByRole('dialog').getByRole('button', { name: 'Cancel' }));
    expect(await page.getByLabel('Endpoint').inputValue()).toBe('https://typed.example.com');
    await offline(false);
    await expect.poll(said).toBe(0);
    expect(await page.getByLabel('Endpoint').inputValue()).toBe('https://typed.example.com');
  });

  test('a page of many reads that is opened meanwhile waits for the service, and reads then', async () => {
    await at('/apps', /edge-001/);
    await offline(true);
    await press(page.getByRole('link', { name: 'Overview', exact: true }));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await expect.poll(said).toBe(1);
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await offline(false);
    await expect.poll(() => page.locator('main').innerText()).toMatch(/created an app/);
    await expect.poll(said).toBe(0);
    expect(await page.locator('.skeleton').count()).toBe(0);
  });

  test('a page whose file did not come is shown when the service is back', async () => {
    await at('', /Newest events/);
    await offline(true);
    await press(page.getByRole('link', { name: 'Members', exact: true }));
    await expect.poll(said).toBe(1);
    await offline(false);
    await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
    await expect.poll(said).toBe(0);
  });

  test('a refusal that is final has no button to try it again', async () => {
    await page.route('**/panel/v1/accounts/*/members', (route) =>
      route.fulfill({ status: 403, json: { error: { code: 'forbidden', message: 'Not yours.' } } }),
    );
    await at('/members', /Not yours/);
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    expect(await said()).toBe(0);
  });
});
