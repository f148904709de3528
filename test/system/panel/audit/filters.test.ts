import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, createApp } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The audit by time, and what leads to it: equal events that are gathered, and apps that are gone. */

const chromium = findChromium();
const title = `the way to entries of the audit${chromium === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 12);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) =>
    openPage(world.page, world.muster, `/accounts/${world.account.accountId}${path}`, shows);
  const entries = () => world.page.locator('.timeline li');
  const time = () => world.page.getByLabel('Time', { exact: true });

  test('the time is one of the last days, or between two days, and stands in the address', async () => {
    const { page } = world;
    await at('/audit', /created an app/);
    expect(await page.getByLabel('From', { exact: true }).count()).toBe(0);
    const all = await entries().count();
    const today = await page.evaluate('new Date().toLocaleDateString("sv")');
    for (const [choice, from] of [
      ['Today', today],
      ['Last 7 days', expect.stringMatching(/^\d{4}-\d\d-\d\d$/)],
    ] as const) {
      await time().selectOption(choice);
      await expect.poll(() => new URL(page.url()).searchParams.get('from')).toEqual(from);
      await expect.poll(() => entries().count()).toBe(all);
    }
    await page.reload();
    await expect.poll(() => time().evaluate((box: { value: string }) => box.value)).toBe('week');
    await time().selectOption('Between two days');
    await page.getByLabel('From', { exact: true }).fill('2999-01-01');
    await page.getByText('No entry fits the filters').waitFor();
    await press(page.getByRole('button', { name: 'Clear the filters' }));
    await expect.poll(() => entries().count()).toBe(all);
    expect(await page.getByLabel('From', { exact: true }).count()).toBe(0);
    expect(world.visited.faults).toEqual([]);
  });

  test('equal events one after the other are one line, which leads to all of them', async () => {
    const { page, muster, account } = world;
    for (let made = 0; made < 5; made += 1) await createApp(muster, account.apiKey);
    await at('', /Newest events/);
    const [newest] = await entries().allInnerTexts();
    expect(newest).toMatch(/created an app[^]*and \d+ more/);
    expect(await entries().count()).toBeLessThanOrEqual(8);
    await press(page.getByRole('link', { name: /^and \d+ more$/ }).first());
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/\/audit$/);
    await expect.poll(() => entries().count()).toBeGreaterThan(5);
    for (const line of await entries().allInnerTexts()) expect(line).toMatch(/created an app/);
    expect(world.visited.faults).toEqual([]);
  });

  test('an entry about an app that was deleted leads to what the audit says about it', async () => {
    const { page, muster, account } = world;
    const app = await createApp(muster, account.apiKey, 'old-edge');
    const gone = { method: 'DELETE', token: account.apiKey } as const;
    expect((await call(`${muster.api}/v1/apps/${app.appId}`, gone)).status).toBe(204);
    await at('/audit', /deleted an app/);
    await press(page.locator('.timeline').getByRole('link', { name: 'old-edge' }).first());
    await page.getByRole('heading', { name: 'No such app' }).waitFor();
    await press(page.getByRole('link', { name: 'What the audit says about it' }));
    await expect.poll(() => entries().count()).toBe(2);
    for (const line of await entries().allInnerTexts()) expect(line).toMatch(/old-edge/);
    expect(world.visited.faults).toEqual([]);
  });
});
