import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from './panel-browser.ts';

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
    await press(page.getByRole('button', { name: 'Create apps' }));
    await dialog().getByLabel('Name').fill('bulk {n}');
    await dialog().getByLabel('How many').fill('250');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(() => dialog().getByRole('alert').innerText()).toContain('100 apps got no code.');
    expect(await dialog().getByRole('listitem').first().innerText()).toMatch(/^bulk 101: /);
    await press(dialog().getByRole('button', { name: 'Create the rest' }));
    await expect.poll(() => dialog().innerText()).toContain('250 apps are created');
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
    await press(page.getByRole('button', { name: 'Create apps' }));
    await dialog().getByLabel('Name').fill('stopped {n}');
    await dialog().getByLabel('How many').fill('250');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await expect.poll(() => dialog().innerText()).toContain('150 apps got no code.');
    expect(sent).toBe(1);
    expect(await named('stopped')).toHaveLength(100);
    await press(dialog().getByRole('button', { name: 'Create the rest' }));
    await expect.poll(() => dialog().innerText()).toContain('250 apps are created');
    expect(await named('stopped')).toHaveLength(250);
    await press(dialog().getByRole('button', { name: 'Done' }));
    await press(dialog().getByRole('button', { name: 'Close anyway' }));
    await expect.poll(() => dialog().count()).toBe(0);
    await page.unroute(BATCH);
  });
});
