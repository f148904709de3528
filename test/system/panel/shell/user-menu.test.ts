import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { axe } from '../../browser/axe.ts';
import { openPage, openUserMenu, openWorld, signOut, type PanelWorld } from '../panel-browser.ts';

/* The menu of the person who is signed in, and the theme that is chosen there. */

const chromium = findChromium();
const title = chromium === undefined ? `the user menu (skipped: ${NO_CHROMIUM})` : 'the user menu';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 2, { reducedMotion: 'reduce' });
    ({ page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const overview = async (on = page): Promise<void> => {
    if (world) await openPage(on, world.muster, `/accounts/${world.account.accountId}`, /Newest events/);
  };
  const menu = () => page.locator('.user-menu');
  const focused = (): Promise<unknown> => page.evaluate('document.activeElement.innerText');
  const shown = (on = page): Promise<unknown> => on.evaluate('getComputedStyle(document.documentElement).colorScheme');
  const choose = (theme: string): Promise<void> => menu().getByRole('radio', { name: theme }).check({ force: true });

  test('it has the profile, the theme, documents, the keys and the sign-out, one below the other', async () => {
    await overview();
    expect(await menu().isVisible()).toBe(false);
    await openUserMenu(page);
    const entries = menu().locator('a, button');
    expect(await entries.allInnerTexts()).toEqual([
      'Your profile',
      'API reference',
      'Documents',
      'Keyboard',
      'Sign out',
    ]);
    const boxes = await Promise.all((await entries.all()).map((entry) => entry.boundingBox()));
    expect(new Set(boxes.map((box) => box?.x)).size, 'aligned to the left').toBe(1);
    expect(await axe(page)).toEqual([]);
  });

  test('Escape and a press elsewhere close it; the focus goes back to what opened it', async () => {
    await overview();
    await openUserMenu(page);
    await menu().getByRole('link', { name: 'Your profile' }).focus();
    await page.keyboard.press('Escape');
    expect(await menu().isVisible()).toBe(false);
    expect(await focused()).toMatch(/ann$/);
    await openUserMenu(page);
    await page.mouse.click(700, 40);
    await menu().waitFor({ state: 'hidden' });
    await openUserMenu(page);
    await press(menu().getByRole('link', { name: 'Your profile' }));
    await page.getByRole('heading', { name: 'Your profile' }).waitFor();
    expect(await menu().isVisible()).toBe(false);
  });

  test('a theme is kept over a reload, holds before any module runs, and reaches the other tabs', async () => {
    await overview();
    const other = await page.context().newPage();
    await overview(other);
    await openUserMenu(page);
    await choose('Dark');
    expect(await shown()).toBe('dark');
    await expect.poll(() => shown(other)).toBe('dark');
    await other.close();

    await page.route(/\/assets\/index-[^/]*\.js$/, (route) => route.abort());
    await page.reload({ waitUntil: 'domcontentloaded' });
    expect(await page.locator('.shell').count()).toBe(0);
    expect(await shown()).toBe('dark');
    await page.unroute(/\/assets\/index-[^/]*\.js$/);
    await overview();
    expect(await axe(page)).toEqual([]);
    expect(world?.visited.faults).toEqual([]);
  });

  test('paper stays light, whatever the theme; the system decides again where it is asked to', async () => {
    await overview();
    await openUserMenu(page);
    await choose('Dark');
    await page.emulateMedia({ media: 'print' });
    expect(await shown()).toBe('light');
    await page.emulateMedia({ media: 'screen', colorScheme: 'dark' });
    await choose('Light');
    const ground = (): Promise<unknown> =>
      page.evaluate('getComputedStyle(document.body.parentElement).backgroundColor');
    await expect.poll(ground).toBe('rgb(245, 246, 249)');
    await choose('System');
    await expect.poll(ground).toBe('rgb(13, 17, 23)');
    expect(await page.evaluate('judge.stored()')).toEqual([]);
    await page.emulateMedia({ colorScheme: null });
  });

  test('on a phone it opens within the navigation, and nothing of it is cut off', async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    await overview();
    await press(page.getByRole('button', { name: 'Menu', exact: true }));
    await openUserMenu(page);
    expect(await axe(page)).toEqual([]);
    await press(menu().getByRole('button', { name: 'Keyboard' }));
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test('the sign-out is there', async () => {
    await overview();
    await signOut(page);
    expect(await axe(page)).toEqual([]);
  });
});
