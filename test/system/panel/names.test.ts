import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, operatorVisit, type PanelWorld } from './panel-browser.ts';

/* People, keys and apps stand by their names, with the way there; ids are for copying. */

const chromium = findChromium();
const title = chromium === undefined ? `names on the pages (skipped: ${NO_CHROMIUM})` : 'names on the pages';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let browser: Browser;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 8);
    ({ muster, browser, account, visited, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);
  const timeline = () => page.locator('.timeline').innerText();

  test('the audit names who did what to what, leads there, and its filters choose by name', async () => {
    await using other = await operatorVisit(browser, muster, 'otto@example.com');
    await openPage(other.page, muster, `/accounts/${account.accountId}/keys?new=key`, /Last used/);
    await other.page.getByRole('dialog').getByLabel('Name').fill('deploys');
    await press(other.page.getByRole('dialog').getByRole('button', { name: 'Create' }));
    await leaveSecret(other.page);
    await at('/audit', /otto[^]{0,40}created an API key deploys/);
    expect(await timeline()).toMatch(/otto[^]{0,40}created an API key deploys/);
    expect(await timeline()).toMatch(/enrolled/);
    await page.getByLabel('By', { exact: true }).selectOption({ label: 'otto' });
    await expect.poll(timeline).not.toMatch(/created an app/);
    expect(await timeline()).toMatch(/otto[^]{0,40}created an API key deploys/);
    await page.getByLabel('By', { exact: true }).selectOption({ label: 'Anybody' });
    await page.getByLabel('On', { exact: true }).selectOption({ label: 'edge-003' });
    const told = async () => (await timeline()).match(/edge-00[34]/g) ?? [];
    await expect.poll(async () => new Set(await told())).toEqual(new Set(['edge-003']));
    expect(await timeline()).toMatch(/created an app edge-003/);
    await page.reload();
    await expect.poll(timeline).toMatch(/edge-003/);
    await press(page.locator('.timeline').getByRole('link', { name: 'edge-003' }).first());
    await page.getByRole('heading', { name: 'edge-003' }).waitFor();
    expect(visited.faults).toEqual([]);
  });

  test('an actor without a name is its id, and never the name of the account that it changed', async () => {
    await at('/audit?group=otel.', /set the configuration/);
    const entries = page.locator('.timeline li').filter({ hasText: 'set the configuration' });
    expect(await entries.first().innerText()).toMatch(/API key [a-z0-9]{12,}\s[^]*set the configuration/);
    expect(await timeline()).not.toContain('Acme Production');
  });

  test('an id is copied when its chip is pressed, or says that it cannot be', async () => {
    await page.evaluate(`localStorage.setItem('muster-columns-keys', 'id')`);
    await at('/keys', /deploys/);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    const row = page.getByRole('row').filter({ hasText: 'deploys' });
    const chip = row.locator('.chip');
    const id = await chip.getAttribute('title');
    await press(chip);
    await expect.poll(() => chip.innerText()).toContain('Copied');
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(id);
  });

  test('a daemon that failed and an entry of the queue have the name of their app', async () => {
    await at('/configuration', /does not answer/);
    expect(await page.locator('main').innerText()).toMatch(/edge-00\d\s+the collector does not answer/);
    await at('/reviews', /secrets-in-prompt/);
    expect(await page.getByRole('article').first().innerText()).toMatch(/edge-00\d/);
  });

  test('the collector is tested: an address inside is not tried, and it is said who can allow it', async () => {
    const body = { enabled: true, endpoint: 'http://127.0.0.1:4318', evidenceLevel: 'hashes' };
    await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: account.apiKey, body });
    await at('/configuration', /Test the collector/);
    await press(page.getByRole('button', { name: 'Test the collector' }));
    await expect.poll(() => page.locator('main').innerText()).toMatch(/Not tried[^]*MUSTER_EGRESS_ALLOW/);
    await press(page.getByRole('button', { name: 'Test the collector' }));
    await expect.poll(() => page.getByRole('alert').innerText()).toMatch(/again in \d+ s/);
    expect(visited.faults).toEqual([]);
  });
});
