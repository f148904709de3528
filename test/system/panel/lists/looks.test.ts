import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, createApp, OPERATOR_TOKEN, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';
import { PAGES } from '../panel-pages.ts';

/* Severities, times, notes and the turning of pages, as people tell them apart. */

const chromium = findChromium();
const title = chromium === undefined ? `what is told apart (skipped: ${NO_CHROMIUM})` : 'what is told apart';
const SEVERITIES = ['critical', 'high', 'medium', 'low'];
const NOTE = `\u202E<b>${'a long note '.repeat(38)}</b>`;

interface Shown {
  readonly word: string;
  readonly shape: string;
  readonly colour: string;
}

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 8, { timezoneId: 'Asia/Kathmandu' });
    ({ muster, account, visited, page } = world);
  });
  afterEach(() => page.unrouteAll());
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);

  test.each(['light', 'dark'] as const)(
    'in %s a severity has a word, a shape and a colour of its own, which can be seen',
    async (colorScheme) => {
      await page.emulateMedia({ colorScheme });
      await at('/reviews', /secrets-in-prompt/);
      const shown = await page.evaluate<Shown[]>(`[...document.querySelectorAll('.severity')].map((badge) => ({
        word: badge.textContent.trim(),
        shape: badge.querySelector('path').getAttribute('d'),
        colour: getComputedStyle(badge).color,
      }))`);
      for (const word of SEVERITIES) expect(shown.map((one) => one.word)).toContain(word);
      for (const part of ['shape', 'colour'] as const) {
        const pairs = new Set(shown.map((one) => `${one.word} ${one[part]}`));
        expect([part, pairs.size, new Set(shown.map((one) => one[part])).size]).toEqual([part, 4, 4]);
      }
      const found = await page.evaluate<{ text: string; contrast: number }[]>('judge.contrasts()');
      const badges = found.filter(({ text }) => SEVERITIES.includes(text));
      expect(badges.length).toBeGreaterThanOrEqual(4);
      expect(badges.filter(({ contrast }) => contrast < 4.5)).toEqual([]);
      await at('', /Newest events/);
      const marks = await page.evaluate<number[]>(`(() => {
        const canvas = document.createElement('canvas').getContext('2d');
        const rgb = (colour) => { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3); };
        const light = (parts) => { const [r, g, b] = parts.map((p) => p / 255).map((p) => p <= 0.04045 ? p / 12.92 : ((p + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = light(rgb(getComputedStyle(document.querySelector('.card')).backgroundColor));
        return ['critical', 'high', 'medium', 'low'].map((severity) => {
          const mark = light(rgb(getComputedStyle(document.querySelector('.swatch.' + severity)).backgroundColor));
          return (Math.max(mark, ground) + 0.05) / (Math.min(mark, ground) + 0.05);
        });
      })()`);
      expect(marks.filter((contrast) => contrast < 3)).toEqual([]);
      await page.emulateMedia({ colorScheme: null });
    },
  );

  test('with forced colours a severity keeps its word, its shape and an edge', async () => {
    await page.emulateMedia({ forcedColors: 'active' });
    await at('/reviews', /secrets-in-prompt/);
    const edges = await page.evaluate(
      `[...document.querySelectorAll('.severity')].map((badge) => getComputedStyle(badge).borderTopWidth)`,
    );
    expect(new Set(edges as string[])).toEqual(new Set(['1px']));
    expect(await page.locator('.severity svg').first().isVisible()).toBe(true);
    await page.emulateMedia({ forcedColors: null });
  });

  test('a time says how long ago it is, and beside it when, with the zone', async () => {
    await at('/apps', /edge-0/);
    expect(await page.locator('td time').first().innerText()).toMatch(
      /^(?:just now|.+ ago) \w{3} \d+, \d\d:\d\d GMT\+5:45$/,
    );
    expect(await page.locator('td time').first().getAttribute('title')).toMatch(/:\d\d:\d\d GMT\+5:45/);
    await at('', /Newest events/);
    expect(await page.locator('.timeline time').first().innerText()).toMatch(/(?:ago|just now)[^]*GMT\+5:45/);
  });

  test('a note of any length is one line, and all of it once it is pressed', async () => {
    await at('/reviews', /secrets-in-prompt/);
    await press(page.locator('article').first().getByRole('button', { name: 'Note' }));
    await page.getByRole('dialog').getByRole('textbox').fill(NOTE);
    await press(page.getByRole('dialog').getByRole('button', { name: 'Save' }));
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
    const note = page.locator('article .words').first();
    const height = () => note.evaluate((element) => (element as { offsetHeight: number }).offsetHeight);
    expect(await height()).toBeLessThan(30);
    expect(await note.getAttribute('aria-expanded')).toBe('false');
    await press(note);
    await expect.poll(height).toBeGreaterThan(30);
    expect(await note.getAttribute('aria-expanded')).toBe('true');
    expect(await page.locator('article b').count()).toBe(0);
  });

  test('with hostile names no page scrolls sideways at 360 pixels', async () => {
    for (const name of ['\u200B\u202E', 'W'.repeat(100), 'a\u0300'.repeat(50)]) {
      await createApp(muster, account.apiKey, name);
    }
    await page.setViewportSize({ width: 360, height: 800 });
    for (const { name, path, shows } of PAGES) {
      await openPage(page, muster, path(account), name === 'limits' ? /limit/ : shows);
      expect([name, await page.evaluate('Math.max(0, judge.overflow())')]).toEqual([name, 0]);
    }
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  test('a list has a way to newer entries only where there are newer, and to further ones where there are', async () => {
    await page.route(/\/panel\/v1\/accounts\?/, async (route) => {
      const answer = await route.fetch();
      const after = new URL(route.request().url()).searchParams.get('after');
      const list = (await answer.json()) as object;
      await route.fulfill({ json: { ...list, ...(after === null && { next: account.accountId }) } });
    });
    await openPage(page, muster, '/operator/accounts', /Acme Production/);
    const turns = () => page.locator('.pager').getByRole('button').allInnerTexts();
    await expect.poll(turns).toHaveLength(1);
    const [forth = ''] = await turns();
    // Rows on another page would not be part of the order.
    expect(await page.locator('thead button').count()).toBe(0);
    await page.getByRole('button', { name: forth }).focus();
    await page.keyboard.press('Enter');
    let back = '';
    const turned = async (): Promise<boolean> => {
      const names = await turns();
      [back = ''] = names;
      return names.length === 1 && back !== forth;
    };
    await expect.poll(turned).toBe(true);
    await page.getByRole('button', { name: back }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(turns).toEqual([forth]);
    await expect.poll(() => page.evaluate('document.activeElement.className')).toBe('pager');
    expect(visited.faults).toEqual([]);
  });

  test('newer entries of the audit are offered once there are some that the filters let through', async () => {
    await at('/audit?group=key.', /created an API key/);
    const newer = page.getByRole('button', { name: 'Show newer entries' });
    expect(await newer.count()).toBe(0);
    const isAsked = () => page.waitForResponse(/\/audit\?.*limit=1(?:&|$)/);
    let answered = isAsked();
    const { appId } = await createApp(muster, account.apiKey, 'filtered out');
    expect([200, 304]).toContain((await answered).status());
    answered = isAsked();
    await call(`${muster.api}/v1/apps/${appId}/revoke`, { method: 'POST', token: account.apiKey });
    // Nothing that fits is newer, which 304 says as well.
    expect([200, 304]).toContain((await answered).status());
    expect(await newer.count()).toBe(0);
    const keys = `${muster.ops}/operator/v1/accounts/${account.accountId}/api-keys`;
    expect((await call(keys, { method: 'POST', token: OPERATOR_TOKEN, body: { name: 'newest' } })).status).toBe(201);
    await press(newer);
    await expect.poll(() => page.locator('.timeline').innerText()).toContain('newest');
    expect(await newer.count()).toBe(0);
  });
});
