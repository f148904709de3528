import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { createApp, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM } from '../../browser/chromium.ts';
import { atPanel, openWorld, type PanelWorld } from '../panel-browser.ts';
import { PAGES } from '../panel-pages.ts';

/* Nothing that a person looks at moves by itself while a page reads, however slowly its answers come. */

const chromium = findChromium();
const title = chromium === undefined ? `layout shifts (skipped: ${NO_CHROMIUM})` : 'layout shifts';
/** A fifth of what the field calls good (web.dev/cls). */
const SHIFT_MAX = 0.02;

const OBSERVE = `globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput, sources } of list.getEntries()) {
      if (hadRecentInput) continue;
      const what = sources.map(({ node, previousRect: a, currentRect: b }) =>
        (node?.parentElement?.className ?? '') + ' > ' + (node?.nodeName ?? '') + '.' + (node?.className ?? '') + ' ' + a.y + ' to ' + b.y);
      globalThis.shifts.push({ value, what: what.join('; ') });
    }
  }).observe({ type: 'layout-shift', buffered: true });`;
/** Until the page has drawn what it shows; on a busy machine it may draw nothing of its own accord. */
const DRAWN = `Promise.race([
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
  new Promise((done) => setTimeout(done, 500)),
])`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 12, { reducedMotion: 'reduce' });
    ({ muster, account, page } = world);
    await createApp(muster, account.apiKey, 'W'.repeat(100));
    await page.addInitScript(OBSERVE);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  /** Opens a page whose answers come one by one, each after the page has drawn what it had. */
  async function opened(path: string, shows: RegExp): Promise<void> {
    const held: (() => void)[] = [];
    let isHolding = true;
    await page.route(/\/panel\/v1\/(?!events)/, async (route) => {
      if (isHolding) await new Promise<void>((resolve) => held.push(resolve));
      await route.continue();
    });
    await page.goto(atPanel(muster, `http://panel${path}`));
    await expect
      .poll(
        async () => {
          await page.evaluate(DRAWN);
          held.shift()?.();
          const isRead = held.length === 0 && (await page.locator('.skeleton').count()) === 0;
          return isRead ? await page.locator('main').innerText() : '';
        },
        { timeout: 60_000 },
      )
      .toMatch(shows);
    isHolding = false;
    for (const release of held) release();
    await page.unrouteAll({ behavior: 'wait' });
    await page.evaluate(DRAWN);
  }

  test.each(PAGES.flatMap((one) => [1440, 768, 360].map((width) => ({ ...one, width }))))(
    '$name at $width pixels keeps its place while its answers come',
    async ({ path, shows, width }) => {
      await page.setViewportSize({ width, height: width === 360 ? 800 : 900 });
      await opened(path(account), shows);
      const shifts = await page.evaluate<{ value: number; what: string }[]>('globalThis.shifts');
      const sum = shifts.reduce((all, { value }) => all + value, 0);
      expect(sum > SHIFT_MAX ? shifts : []).toEqual([]);
    },
  );
});
