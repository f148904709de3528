import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, createApp, enroll, tenant, type Tenant } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* An account without apps: the first steps, each ticked by what the service knows. */

const chromium = findChromium();
const title = chromium === undefined ? `the first steps (skipped: ${NO_CHROMIUM})` : 'the first steps';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 2, { viewport: { width: 1280, height: 900 } });
    ({ page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const there = (): PanelWorld => world ?? expect.unreachable('the world is open');
  const overviewOf = ({ accountId }: { accountId: string }): Promise<void> =>
    openPage(page, there().muster, `/accounts/${accountId}`, /Newest events/);
  const steps = () => page.locator('.steps > li');
  const done = (): Promise<string[]> => page.locator('.steps > .done').allInnerTexts();
  const names = async (): Promise<string[]> => (await done()).map((text) => /Done:\s+(.*)/.exec(text)?.[1] ?? text);

  test('each is ticked when it has happened, without a reload, and all are gone at the end', async () => {
    const { muster } = there();
    const fresh: Tenant = await tenant(muster);
    await overviewOf(fresh);
    await expect.poll(() => steps().count()).toBe(4);
    expect(await names()).toEqual([]);
    // No zeros as figures, and no card about what is not there.
    expect(await page.locator('.figure:visible').count()).toBe(0);
    expect(await axe(page)).toEqual([]);
    const app = await createApp(muster, fresh.apiKey, 'first');
    await expect.poll(names).toEqual(['Create an app']);
    await enroll(muster, app);
    await expect.poll(names).toEqual(['Create an app', 'Enroll its daemon']);
    const body = { enabled: true, endpoint: 'https://otel.example.com', evidenceLevel: 'redacted' };
    await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: fresh.apiKey, body });
    await expect.poll(names).toEqual(['Create an app', 'Enroll its daemon', 'Set the collector']);
    await press(steps().getByRole('link', { name: 'Invite somebody' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Make the link' }));
    await leaveSecret(page);
    await overviewOf(fresh);
    await expect.poll(() => page.getByText('First steps').count()).toBe(0);
    expect(await page.locator('.figure:visible').count()).toBeGreaterThan(2);
    expect(await page.evaluate('judge.stored()')).toEqual([]);
  });

  test('put away they stay so in this browser; what is left says how to begin', async () => {
    const fresh = await tenant(there().muster);
    await overviewOf(fresh);
    await press(page.getByRole('button', { name: 'Hide' }));
    await expect.poll(() => page.locator('main').innerText()).toContain('No apps yet');
    await page.reload();
    await expect.poll(() => page.locator('main').innerText()).toContain('No apps yet');
    expect(await steps().count()).toBe(0);
    await press(page.locator('.placeholder').getByRole('link', { name: 'Create an app' }));
    await page.getByRole('dialog', { name: 'Add a daemon' }).getByLabel('Name').waitFor();
  });

  test('an account with apps has none', async () => {
    await overviewOf(there().account);
    expect(await page.locator('.figure:visible').count()).toBeGreaterThan(2);
    expect(await steps().count()).toBe(0);
  });
});
