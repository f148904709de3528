import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import {
  openPage,
  openUserMenu,
  openWorld,
  pressSignOut,
  signInByLink,
  signInByPassword,
  untilSignedIn,
  type PanelWorld,
} from '../panel-browser.ts';

/* A browser that keeps nothing for a page: what a person chooses there holds for the visit, and every button works. */

const chromium = findChromium();
const title = chromium === undefined ? `a browser that keeps nothing (skipped: ${NO_CHROMIUM})` : 'a browser';

const FORBIDS = `for (const name of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, name, { get() { throw new DOMException('Access is denied.', 'SecurityError'); } });`;
const IS_FULL = `Storage.prototype.setItem = () => { throw new DOMException('It is full.', 'QuotaExceededError'); };`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 3);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test.each([
    ['forbids', FORBIDS],
    ['is full', IS_FULL],
  ])('whose storage %s keeps choices for the visit, and its person signs out and in again', async (name, script) => {
    const { muster, account, browser } = world;
    await using visited = await visit(browser);
    const { page } = visited;
    await page.addInitScript(script);
    const login = `${name.replace(' ', '-')}@example.com`;
    await signInByLink(visited, muster, login);
    await openPage(page, muster, `/accounts/${account.accountId}/apps`, /edge-001/);
    await page.keyboard.press('/');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('search');
    await press(page.getByRole('button', { name: 'Columns' }));
    await page.getByRole('group', { name: 'Columns' }).getByRole('checkbox', { name: 'Platform' }).uncheck();
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('columnheader', { name: 'Platform' }).count()).toBe(0);
    await openUserMenu(page);
    await page.locator('.user-menu').getByRole('radio', { name: 'Dark' }).check({ force: true });
    expect(await page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await page.keyboard.press('Escape');
    await pressSignOut(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signInByPassword(page, login);
    await untilSignedIn(page);
    const ours = page.getByRole('button', { name: 'That was me' });
    await press(ours);
    await expect.poll(() => ours.count()).toBe(0);
    expect(visited.faults).toEqual([]);
  });
});
