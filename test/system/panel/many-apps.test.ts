import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { SeededAccount } from '../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../browser/chromium.ts';
import { wholeList } from './lists/panel-apps.ts';
import { leaveSecret, openPage, openWorld, type PanelWorld } from './panel-browser.ts';

/* What people do with hundreds of apps: few requests, progress, and a list of what failed. */

const chromium = findChromium();
const title = chromium === undefined ? `many apps in the panel (skipped: ${NO_CHROMIUM})` : 'many apps in the panel';
const BATCH = '**/panel/v1/accounts/*/apps/batch';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3);
    ({ muster, account, visited, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const dialog = () => page.getByRole('dialog');
  const heading = () => dialog().getByRole('heading').first().innerText();
  const named = async (name: string): Promise<readonly { name: string; status: string }[]> => {
    const { body } = await call(`${muster.api}/v1/apps`, { token: account.apiKey });
    return (body['apps'] as { name: string; status: string }[]).filter((app) => app.name.startsWith(name));
  };

  test('250 apps are three requests; of one whose answer is lost the same codes come with the next attempt', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps`, /edge-001/);
    const sent: string[] = [];
    await page.route(BATCH, async (route) => {
      sent.push((await route.request().headerValue('idempotency-key')) ?? '');
      if (sent.length !== 2) return await route.continue();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await press(page.getByRole('button', { name: 'Add many daemons' }));
    await dialog().getByLabel('Name').fill('bulk {n}');
    await dialog().getByLabel('How many').fill('250');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(() => dialog().getByRole('alert').innerText()).toContain('100 apps got no code.');
    expect(await dialog().getByRole('listitem').first().innerText()).toMatch(/^bulk 101: /);
    expect(await heading()).toBe('150 of 250 apps are created');
    await press(dialog().getByRole('button', { name: 'Create the rest' }));
    await expect.poll(heading).toBe('250 apps are created');
    expect(sent).toHaveLength(4);
    expect(sent[3]).toBe(sent[1]);
    expect(await named('bulk')).toHaveLength(250);
    expect(await dialog().innerText()).toContain('The first 50 of 250 are shown.');
    const download = page.waitForEvent('download');
    await press(dialog().getByRole('button', { name: 'Download all as CSV' }));
    const text = readFileSync(await (await download).path(), 'utf8');
    const codes = text.match(/mst_code_\w{49}/g) ?? [];
    expect(new Set(codes).size).toBe(250);
    await press(dialog().getByRole('button', { name: 'Done' }));
    await page.unroute(BATCH);
    await page.keyboard.press('Control+k');
    await dialog().getByRole('combobox').fill('bulk');
    await expect.poll(() => dialog().getByRole('status').innerText()).toBe('first 8 of 250 results');
    await page.keyboard.press('Escape');
  });

  test('250 apps are revoked by three requests; what failed is listed, and tried again alone', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps`, /bulk \d+/);
    await page.getByRole('searchbox', { name: 'Search' }).fill('bulk');
    await press(page.getByLabel('Choose all that are shown'));
    await press(page.getByRole('button', { name: 'Revoke' }).first());
    const sizes: number[] = [];
    await page.route(BATCH, async (route) => {
      sizes.push((route.request().postDataJSON() as { apps: string[] }).apps.length);
      if (sizes.length !== 2) return await route.continue();
      const error = { code: 'upstream_unavailable', message: 'Temporarily unavailable; retry later.' };
      await route.fulfill({ status: 502, json: { error } });
    });
    await dialog().getByRole('textbox').fill('250');
    await press(dialog().getByRole('button', { name: 'Revoke' }));
    await expect.poll(() => dialog().innerText()).toContain('100 apps are not changed.');
    expect(await dialog().innerText()).toContain('250 of 250 processed');
    expect(await dialog().getByRole('listitem').first().innerText()).toContain('Temporarily unavailable');
    await press(dialog().getByRole('button', { name: 'Try again' }));
    await expect.poll(() => dialog().count()).toBe(0);
    expect(sizes).toEqual([100, 100, 50, 100]);
    expect((await named('bulk')).every(({ status }) => status === 'revoked')).toBe(true);
    await openPage(page, muster, `/accounts/${account.accountId}/audit?action=app.revoked`, /revoked an app bulk/);
    expect(await page.locator('.timeline li').first().innerText()).toMatch(/1 enrollment code voided/);
    await page.unroute(BATCH);
    expect(visited.faults.filter((fault) => !/502|Failed to load/.test(fault))).toEqual([]);
  });

  test('the creation of many is stopped after the request that is under way, and goes on with the rest', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps`, /bulk \d/);
    let sent = 0;
    await page.route(BATCH, async (route) => {
      sent += 1;
      if (sent === 1) await press(dialog().getByRole('button', { name: 'Stop' }));
      await route.continue();
    });
    await press(page.getByRole('button', { name: 'Add many daemons' }));
    await dialog().getByLabel('Name').fill('stopped {n}');
    await dialog().getByLabel('How many').fill('250');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(() => dialog().innerText()).toContain('150 apps got no code.');
    expect(sent).toBe(1);
    expect(await named('stopped')).toHaveLength(100);
    await press(dialog().getByRole('button', { name: 'Create the rest' }));
    await expect.poll(heading).toBe('250 apps are created');
    expect(await named('stopped')).toHaveLength(250);
    await press(dialog().getByRole('button', { name: 'Done' }));
    await press(dialog().getByRole('button', { name: 'Close anyway' }));
    await expect.poll(() => dialog().count()).toBe(0);
    await page.unroute(BATCH);
  });

  test('the form says how many more fit, and sends no more than these', async () => {
    const lists = /\/panel\/v1\/accounts\/[^/]+\/apps$/;
    const max = LIMITS.appsPerAccountMax;
    const open = async (count: number, name: string): Promise<void> => {
      await page.route(lists, (route) => route.fulfill({ json: wholeList(count) }));
      // The page before may know another list.
      await page.goto('about:blank');
      await openPage(page, muster, `/accounts/${account.accountId}/apps?new=${name}`, /edge-0/);
    };
    let sent = 0;
    await page.route(BATCH, async (route) => {
      sent += 1;
      await route.continue();
    });
    const fault = async () => (await dialog().locator('.fault').allInnerTexts()).map((text) => text.trim());
    await open(max - 2, 'app');
    expect(await dialog().innerText()).toContain('2 more fit: an account has at most 1,000 apps.');
    await dialog().getByLabel('Name').fill('fits {n}');
    await dialog().getByLabel('How many').fill('3');
    await expect.poll(fault).toEqual(['More than fit: ask for at most 2.']);
    await press(dialog().getByRole('button', { name: 'Create' }));
    expect(await page.evaluate('document.activeElement.value')).toBe('3');
    await dialog().getByLabel('How many').fill('2');
    await expect.poll(fault).toEqual([]);
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(heading).toBe('2 apps are created');
    expect([sent, (await named('fits')).length]).toEqual([1, 2]);
    await leaveSecret(page);
    await page.unroute(lists);
    await open(max, 'daemon');
    await dialog().getByLabel('Name').fill('no room');
    await press(dialog().getByRole('button', { name: 'Get the code' }));
    await expect.poll(fault).toEqual(['None fits: delete an app that is not needed first.']);
    expect(sent).toBe(1);
    await page.unrouteAll({ behavior: 'wait' });
  });

  test('where an account is full before all are created, the outcome says so above the codes', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps?new=app`, /fits \d/);
    let sent = 0;
    await page.route(BATCH, async (route) => {
      sent += 1;
      if (sent === 1) return await route.continue();
      const { apps } = route.request().postDataJSON() as { apps: string[] };
      const error = { code: 'limit_reached', message: 'The account already has 1000 apps.' };
      await route.fulfill({ json: { outcomes: apps.map(() => ({ error })) } });
    });
    await dialog().getByLabel('Name').fill('some {n}');
    await dialog().getByLabel('How many').fill('150');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(heading).toBe('100 of 150 apps are created');
    const alert = dialog().getByRole('alert');
    await expect.poll(() => alert.innerText()).toBe('50 apps are not created. The account already has 1000 apps.');
    const [told, code] = await Promise.all([alert.boundingBox(), dialog().locator('.secret').first().boundingBox()]);
    expect(told && code && told.y < code.y).toBe(true);
    expect(await dialog().getByRole('button', { name: 'Create the rest' }).count()).toBe(0);
    await leaveSecret(page);
    await page.unroute(BATCH);
  });
});
