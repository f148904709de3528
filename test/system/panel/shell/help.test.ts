import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../../support/repository/source-tree.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import { atPanel, openPage, openUserMenu, openWorld, signInByLink, type PanelWorld } from '../panel-browser.ts';
import { PAGES } from '../panel-pages.ts';

/* The help of each page: the part of a document that is about it, as the panel serves it to everybody. */

const chromium = findChromium();
const title = chromium === undefined ? `the help (skipped: ${NO_CHROMIUM})` : 'the help';

/** The addresses of all documents. */
const documents = (): readonly string[] =>
  readdirSync(join(ROOT, 'web/dist/help')).map((name) =>
    name === 'index.html' ? '/help' : `/help/${name.replace('.html', '')}`,
  );
const helpOf = (page: Page) => page.getByRole('link', { name: 'Help with this page, in a new tab', exact: true });

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 2, { reducedMotion: 'reduce' });
    ({ page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const ask = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(world.muster.panel + path, { redirect: 'manual', ...init });
  /** Holds that the one link to help of a page leads to a document, and to an anchor in it. */
  const expectHelp = async (on: Page): Promise<void> => {
    await helpOf(on).waitFor();
    expect(await helpOf(on).count()).toBe(1);
    expect(await helpOf(on).getAttribute('target')).toBe('_blank');
    const [path = '', anchor] = ((await helpOf(on).getAttribute('href')) ?? '').split('#');
    const answer = await ask(path);
    expect([path, answer.status]).toEqual([expect.stringMatching(/^\/help\/[a-z]+$/), 200]);
    if (anchor !== undefined) expect(await answer.text()).toContain(` id="${anchor}"`);
  };

  test.each(PAGES)('$name has help, which is there', async ({ path, shows }) => {
    await openPage(page, world.muster, path(world.account), shows);
    await expectHelp(page);
  });

  test.each(['/sign-in', '/link', '/proved?problem=x'])('%s has help for those who are not signed in', async (path) => {
    await using stranger = await visit(world.browser);
    await stranger.page.goto(atPanel(world.muster, `http://panel${path}`));
    await expectHelp(stranger.page);
    expect(await axe(stranger.page)).toEqual([]);
  });

  test('somebody without an account has help, too', async () => {
    await using eve = await visit(world.browser);
    await signInByLink(eve, world.muster, 'eve@example.com', 'none');
    await expectHelp(eve.page);
  });

  test('it opens beside the page, at its heading, and what was typed stays', async () => {
    await openPage(page, world.muster, `/accounts/${world.account.accountId}/apps`, /edge-001/);
    await page.getByLabel('Search', { exact: true }).fill('edge');
    const [opened] = await Promise.all([page.context().waitForEvent('page'), press(helpOf(page))]);
    await opened.getByRole('heading', { name: 'Apps', exact: true }).waitFor();
    expect(new URL(opened.url()).hash).toBe('#apps');
    expect(await opened.evaluate('window.opener')).toBe(null);
    expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('edge');
    await opened.close();
  });

  test('the menu of the user leads to the index, and that to each document', async () => {
    await openPage(page, world.muster, `/accounts/${world.account.accountId}`, /Newest events/);
    await openUserMenu(page);
    const [index] = await Promise.all([
      page.context().waitForEvent('page'),
      press(page.locator('.user-menu').getByRole('link', { name: 'Documents' })),
    ]);
    await index.getByRole('heading', { name: 'Documents' }).waitFor();
    const links = await index.locator('dt a').all();
    const led = await Promise.all(links.map(async (link) => String(await link.getAttribute('href'))));
    expect(led.toSorted()).toEqual(
      documents()
        .filter((path) => path !== '/help')
        .toSorted(),
    );
    await index.close();
  });

  test('a document loads its style alone, and axe finds nothing in it, in light and in dark', async () => {
    for (const path of documents()) {
      // Each has a browser's connections to itself: one that was opened ahead of its use is refused after 10 s.
      await using stranger = await visit(world.browser);
      await stranger.page.goto(atPanel(world.muster, `http://panel${path}`));
      for (const colorScheme of ['light', 'dark'] as const) {
        await stranger.page.emulateMedia({ colorScheme });
        expect([path, colorScheme, await axe(stranger.page)]).toEqual([path, colorScheme, []]);
      }
      expect([path, stranger.faults]).toEqual([path, []]);
      const loaded = new Set(stranger.requested.map((url) => new URL(url).pathname.replace(/-.{8}\./, '.')));
      const files = [path, '/assets/favicon.svg', '/assets/help.css', '/assets/index.css'];
      expect([...loaded].toSorted()).toEqual(files.toSorted());
    }
  });

  test('the contents are open where there is room, and opened by a press where there is none', async () => {
    await using stranger = await visit(world.browser);
    const { page } = stranger;
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(atPanel(world.muster, 'http://panel/help/panel'));
    const contents = page.getByRole('navigation', { name: 'On this page' });
    await contents.focus();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect.poll(() => new URL(page.url()).hash).toBe('#the-pages');
    await page.setViewportSize({ width: 360, height: 800 });
    await contents.getByText('On this page').click();
    await contents.getByRole('link', { name: 'Usage' }).click();
    expect(new URL(page.url()).hash).toBe('#usage');
  });

  test.each([320, 700, 1280])('%i px wide no document scrolls sideways', async (width) => {
    await using stranger = await visit(world.browser);
    await stranger.page.setViewportSize({ width, height: 800 });
    for (const path of documents()) {
      await stranger.page.goto(atPanel(world.muster, `http://panel${path}`));
      const over = await stranger.page.evaluate('document.documentElement.scrollWidth - innerWidth');
      expect([path, Number(over) <= 0]).toEqual([path, true]);
    }
  });

  test('its headers are those of the pages; a browser keeps it for minutes, in gzip', async () => {
    const page = await ask('/');
    for (const path of documents()) {
      const answer = await ask(path, { headers: { 'accept-encoding': 'gzip' } });
      expect([path, answer.status, answer.headers.get('content-encoding')]).toEqual([path, 200, 'gzip']);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('public, max-age=300, no-transform');
      expect(answer.headers.get('vary')).toBe('Accept-Encoding');
      for (const name of ['content-security-policy', 'x-content-type-options', 'referrer-policy'])
        expect([name, answer.headers.get(name)]).toEqual([name, page.headers.get(name)]);
      expect((await ask(path, { method: 'HEAD' })).status).toBe(200);
      expect((await ask(path, { method: 'POST' })).status).toBe(404);
    }
    expect(page.headers.get('cache-control')).toBe('no-store, no-transform');
  });

  test('an address below it that is none is one of the panel, and no file', async () => {
    for (const path of ['/help/gone', '/help/', '/help/index']) {
      const answer = await ask(path);
      expect([path, answer.status, await answer.text()]).toEqual([path, 200, await (await ask('/')).text()]);
    }
    for (const path of ['/help/panel.html', '/help/..%2findex.html', '/help/index.html'])
      expect([path, (await ask(path)).status]).toEqual([path, 404]);
  });
});
