import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { seedAccount, userLink, type SeededAccount } from '../../support/panel/seeded-panel.ts';
import { Muster } from '../../support/service/muster.ts';
import { axe } from '../browser/axe.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, visit, type Visit } from '../browser/chromium.ts';
import { atPanel, openPage, operatorVisit, PASSWORD, untilSignedIn, signOut } from './panel-browser.ts';
import { PAGES } from './panel-pages.ts';

/* Every page of the panel in a real browser, with data: what it shows, its policy, and who can use it. */

const chromium = findChromium();
const title = chromium === undefined ? `the pages (skipped: ${NO_CHROMIUM})` : 'the pages';

/** By how many pixels the page is wider than its window. */
const overflow = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

describe.skipIf(chromium === undefined)(title, () => {
  let muster: Muster;
  let browser: Browser;
  let account: SeededAccount;
  let visited: Visit;
  beforeAll(async () => {
    await buildPages();
    muster = await Muster.start();
    account = await seedAccount(muster);
    browser = await openChromium(chromium ?? '');
    visited = await operatorVisit(browser, muster, 'ann@example.com', { reducedMotion: 'reduce' });
  });
  afterAll(async () => {
    await visited?.[Symbol.asyncDispose]();
    await browser?.close();
    await muster?.[Symbol.asyncDispose]();
  });

  test.each(PAGES)('$name: axe finds nothing, and the policy forbids nothing', async ({ path, shows }) => {
    const { page } = visited;
    await page.setViewportSize({ width: 1280, height: 900 });
    await openPage(page, muster, path(account), shows);
    expect(await axe(page)).toEqual([]);
    expect(visited.faults).toEqual([]);
    const [own] = new Set(visited.requested.map((url) => new URL(url).host));
    expect(visited.requested.filter((url) => new URL(url).host !== own)).toEqual([]);
  });

  test.each(PAGES)('$name: 320 px wide it does not scroll sideways', async ({ path, shows }) => {
    const { page } = visited;
    await page.setViewportSize({ width: 320, height: 800 });
    await openPage(page, muster, path(account), shows);
    expect(await overflow(page)).toBeLessThanOrEqual(0);
  });

  test.each([
    ['dark', { colorScheme: 'dark' }],
    ['forced colours', { forcedColors: 'active' }],
  ] as const)('%s: axe finds nothing on a table, a form and a dialog', async (_mode, media) => {
    const { page } = visited;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.emulateMedia(media);
    for (const name of ['apps', 'configuration']) {
      const found = PAGES.find((one) => one.name === name);
      if (found) await openPage(page, muster, found.path(account), found.shows);
      expect(await axe(page)).toEqual([]);
    }
    await openPage(page, muster, `/accounts/${account.accountId}/keys`, /Last used/);
    await press(page.getByRole('button', { name: 'Create a key' }));
    await page.getByRole('dialog').waitFor();
    expect(await axe(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: null, forcedColors: null });
  });

  test('zoomed to 200 % a form and a table do not scroll sideways', async () => {
    const { page } = visited;
    // Half the width is what a zoom of two leaves of a window of 1280.
    await page.setViewportSize({ width: 640, height: 450 });
    for (const name of ['configuration', 'apps', 'audit']) {
      const found = PAGES.find((one) => one.name === name);
      if (found) await openPage(page, muster, found.path(account), found.shows);
      expect(await overflow(page)).toBeLessThanOrEqual(0);
    }
  });

  test('nothing of the panel is stored in the browser but its cookies, which no script reads', async () => {
    const { page } = visited;
    expect(await page.evaluate('judge.stored()')).toEqual([]);
    const cookies = await page.context().cookies();
    expect(cookies.length).toBeGreaterThan(0);
    expect(cookies.filter(({ httpOnly, sameSite }) => !httpOnly || sameSite !== 'Lax')).toEqual([]);
  });

  test('the page keeps its place: no layout shifts while the overview loads', async () => {
    const { page } = visited;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.addInitScript(`globalThis.shifted = 0;
      new PerformanceObserver((list) => { for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shifted += value; })
        .observe({ type: 'layout-shift', buffered: true });`);
    await openPage(page, muster, `/accounts/${account.accountId}`, /Newest events/);
    // 0.1 is where the field calls a page good.
    expect(Number(await page.evaluate('globalThis.shifted'))).toBeLessThan(0.1);
  });

  test('the link of a user is taken out of the history, works once, and a spent one says so', async () => {
    const link = atPanel(muster, await userLink(muster, 'eve@example.com', 'none'));
    await using eve = await visit(browser);
    await eve.page.goto(link);
    await eve.page.getByLabel('Password').fill('too short');
    await expect.poll(() => eve.page.locator('.fault').innerText()).toMatch(/at least 12/);
    expect(eve.page.url()).not.toContain('mst_link');
    await eve.page.getByLabel('Password').fill('justinbieber');
    await expect.poll(() => eve.page.locator('.fault').innerText()).toMatch(/easy to guess/);
    await press(eve.page.getByRole('button', { name: 'Continue' }));
    await expect.poll(() => eve.page.evaluate('document.activeElement.type')).toBe('password');
    expect(eve.page.url()).toContain('/link');
    expect(eve.faults).toEqual([]);
    await eve.page.getByLabel('Password').fill(PASSWORD);
    await press(eve.page.getByRole('button', { name: 'Continue' }));
    await untilSignedIn(eve.page);
    await using other = await visit(browser);
    await other.page.goto(link);
    await expect.poll(() => other.page.locator('main').innerText()).toMatch(/not valid/);
  });

  test('the lists of passwords are fetched once somebody types a new password, and not before', async () => {
    const lists = /\/assets\/password-strength-[^/]+\.js$/;
    const link = atPanel(muster, await userLink(muster, 'lists@example.com', 'none'));
    await using visitor = await visit(browser);
    const fetched = (): number => visitor.requested.filter((url) => lists.test(url)).length;
    await visitor.page.goto(link);
    await visitor.page.getByLabel('Password').waitFor();
    expect(fetched()).toBe(0);
    await visitor.page.getByLabel('Password').fill('j');
    await expect.poll(fetched).toBe(1);
    await visitor.page.getByLabel('Password').fill('justinbieber');
    await expect.poll(() => visitor.page.locator('.fault').innerText()).toMatch(/easy to guess/);
    expect(fetched()).toBe(1);
  });

  test('after the sign-out, back shows nothing; the password signs in again', async () => {
    await using visitor = await operatorVisit(browser, muster, 'out@example.com');
    const { page } = visitor;
    await openPage(page, muster, `/accounts/${account.accountId}/keys`, /Last used/);
    await signOut(page);
    await page.goBack();
    await expect.poll(() => page.url()).toMatch(/\/sign-in$/);
    expect(await page.locator('body').innerText()).not.toContain('Last used');
    await page.getByLabel('Name').fill('out@example.com');
    await page.getByLabel('Password').fill('wrong, all of it');
    await press(page.getByRole('button', { name: 'Sign in', exact: true }));
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(PASSWORD);
    await press(page.getByRole('button', { name: 'Sign in', exact: true }));
    await untilSignedIn(page);
  });
});
