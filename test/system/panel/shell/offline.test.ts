import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { userLink } from '../../../support/panel/seeded-panel.ts';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import { atPanel, openPage, openWorld, PASSWORD, untilSignedIn, type PanelWorld } from '../panel-browser.ts';

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

  test('a session has not ended where the service is too busy to say whether it goes on', async () => {
    await at('', /Newest events/);
    const ended = { error: { code: 'invalid_session', message: 'You are not signed in.' } };
    const busy = { error: { code: 'overloaded', message: 'Too busy.' } };
    const onMe = /\/panel\/v1\/me$/;
    await page.route('**/panel/v1/accounts/*/members', (route) => route.fulfill({ status: 401, json: ended }));
    await page.route(onMe, (route) => route.fulfill({ status: 503, json: busy }));
    await press(page.getByRole('link', { name: 'Members' }));
    await expect.poll(() => page.locator('main').innerText()).toContain('Too busy');
    await page.unroute(onMe);
    await page.unroute('**/panel/v1/accounts/*/members');
    await press(page.getByRole('button', { name: 'Try again' }));
    await expect.poll(() => page.locator('main').innerText()).not.toContain('Too busy');
    expect(await page.locator('main').innerText()).toContain('Invite');
    expect(new URL(page.url()).pathname).toMatch(/\/members$/);
  });

  test('who has used a link up without an answer is let in by the password that it has set', async () => {
    const { muster, browser } = world ?? expect.unreachable();
    await using eve = await visit(browser);
    await eve.page.goto(atPanel(muster, await userLink(muster, 'eve@example.com', 'none')));
    let tries = 0;
    await eve.page.route('**/links/accept', async (route) => {
      tries += 1;
      const response = await route.fetch();
      if (tries > 1) return await route.fulfill({ response });
      const json = { error: { code: 'upstream_unavailable', message: 'Temporarily unavailable; retry later.' } };
      await route.fulfill({ status: 502, json, headers: { 'retry-after': '1' } });
    });
    const enter = () => press(eve.page.getByRole('button', { name: 'Continue' }));
    await eve.page.getByLabel('Password').fill(PASSWORD);
    await enter();
    await eve.page.getByText('Temporarily unavailable').waitFor();
    // Another password than the one that was set lets nobody in.
    await eve.page.getByLabel('Password').fill(`${PASSWORD}, and another`);
    await enter();
    await eve.page.getByText('This link is not valid').waitFor();
    await eve.page.getByLabel('Password').fill(PASSWORD);
    await enter();
    await untilSignedIn(eve.page);
    expect(tries).toBe(3);
  });
});
