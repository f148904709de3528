import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, OPERATOR_TOKEN } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';

/* The overview warns of the keys that expire soon. */

const chromium = findChromium();
const title = chromium === undefined ? `keys that expire (skipped: ${NO_CHROMIUM})` : 'keys that expire';

const DAY_MS = 86_400_000;
const HOSTILE = `<b>ci</b>${'a\u0301'.repeat(20)}`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 2);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('are named on the overview for whoever can act, with the way to another key; nothing while none does', async () => {
    const { muster, account, page, visited } = world;
    const overview = `/accounts/${account.accountId}`;
    const made = async (name: string, days: number): Promise<void> => {
      const body = { name, expiresAt: new Date(Date.now() + days * DAY_MS).toISOString() };
      const url = `${muster.ops}/operator/v1${overview}/api-keys`;
      expect((await call(url, { method: 'POST', token: OPERATOR_TOKEN, body })).status).toBe(201);
    };
    const warning = page.getByText(/expires? within 14 days/);
    await made('later', 15);
    await openPage(page, muster, overview, /Newest events/);
    expect(await warning.count()).toBe(0);
    await made(HOSTILE, 3);
    // The page is not reloaded: the service says that the keys have changed.
    await expect.poll(() => page.locator('main').innerText()).toContain('An API key expires within 14 days:');
    await made('second', 13);
    await expect.poll(() => page.locator('main').innerText()).toContain('2 API keys expire within 14 days:');
    expect(await page.locator('.note li').allInnerTexts()).toEqual([
      expect.stringMatching(/^<b>ci<\/b>.* in 3 days \w+ \d+, [\d:]+ \S+$/) as string,
      expect.stringMatching(/^second in 13 days \w+ \d+, [\d:]+ \S+$/) as string,
    ]);
    await press(page.locator('.note').getByRole('link', { name: 'Create a key' }));
    await page.getByRole('dialog').getByLabel('Name').waitFor();
    await openPage(page, muster, overview, /Newest events/);
    await press(page.locator('.note').getByRole('link', { name: 'second' }));
    await expect
      .poll(() => page.getByRole('rowheader').allInnerTexts())
      .toEqual([expect.stringContaining('<b>ci') as string, 'second', 'later', expect.anything() as string]);

    await using viewer = await viewerVisit(world, 'looks@example.com');
    await openPage(viewer.page, muster, overview, /Newest events/);
    expect(await viewer.page.getByText(/expires? within 14 days/).count()).toBe(0);
    expect([...visited.faults, ...viewer.faults]).toEqual([]);
  });
});
