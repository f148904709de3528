import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { PanelApp } from '../../../../web/api/app-list.ts';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, createApp, enroll, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* New codes for apps that there are: few requests, shown once, and a list of what failed. */

const chromium = findChromium();
const title = chromium === undefined ? `codes for many apps (skipped: ${NO_CHROMIUM})` : 'codes for many apps';
const BATCH = '**/panel/v1/accounts/*/apps/batch';
const MANY = 250;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3);
    ({ muster, account, visited, page } = world);
    for (let from = 0; from < MANY; from += 50) {
      const names = Array.from({ length: 50 }, (_, index) => `bulk \u202E<b>${from + index}</b>`);
      await Promise.all(names.map((name) => createApp(muster, account.apiKey, name)));
    }
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const dialog = () => page.getByRole('dialog');
  const button = (name: string) => dialog().getByRole('button', { name });
  const chooseAll = async (path: string): Promise<void> => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps${path}`, /bulk/);
    await press(page.getByLabel('Choose all that are shown'));
    await press(page.getByRole('button', { name: 'Issue codes' }));
  };

  test('250 apps get their codes by three requests; one without an answer is sent again as it was', async () => {
    const sent: { key: string; size: number }[] = [];
    await page.route(BATCH, async (route) => {
      const { change, apps } = route.request().postDataJSON() as { change: string; apps: string[] };
      expect(change).toBe('issue-code');
      sent.push({ key: (await route.request().headerValue('idempotency-key')) ?? '', size: apps.length });
      if (sent.length !== 2) return await route.continue();
      await route.fetch();
      await route.abort('connectionreset');
    });
    await chooseAll('?q=bulk');
    await expect.poll(() => dialog().innerText()).toContain('Issue codes for 250 apps?');
    await press(button('Issue codes'));
    await expect.poll(() => dialog().innerText()).toContain('100 apps got no code.');
    expect(await dialog().innerText()).toContain('150 codes are issued');
    await press(button('Try again'));
    await expect.poll(() => dialog().innerText()).toContain('250 codes are issued');
    expect(sent.map(({ size }) => size)).toEqual([100, 100, 50, 100]);
    expect(sent[3]?.key).toBe(sent[1]?.key);
    // The dialog asks before a secret that is shown once is left.
    await page.keyboard.press('Escape');
    await press(page.getByRole('button', { name: 'Go back' }));
    const asked = page.waitForEvent('dialog');
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    const download = page.waitForEvent('download');
    await press(button('Download all as CSV'));
    const text = readFileSync(await (await download).path(), 'utf8');
    const codes = text.match(/mst_code_\w{49}/g) ?? [];
    expect(new Set(codes).size).toBe(MANY);
    await page.unroute(BATCH);
    await press(button('Done'));
    await expect.poll(() => page.locator('main').innerText()).not.toMatch(/apps? chosen/);
    const [, appId = '', enrollCode = ''] = /(\w{20})","(mst_code_\w{49})/.exec(text) ?? [];
    await enroll(muster, { appId, enrollCode });
  });

  test('an app that a FleetApp manages is left out in words, a revoked one comes back, a deleted one is listed', async () => {
    const { body } = await call(`${muster.api}/v1/apps`, { token: account.apiKey });
    const bulk = (body['apps'] as { appId: string; name: string }[]).filter(({ name }) => name.includes('>24'));
    const [managed, revoked, deleted] = bulk.map(({ appId }) => appId);
    await call(`${muster.api}/v1/apps/${revoked}/revoke`, { method: 'POST', token: account.apiKey });
    const lists = /\/panel\/v1\/accounts\/[^/]+\/apps$/;
    await page.route(lists, async (route) => {
      const answer = await route.fetch();
      const list = (await answer.json()) as { apps: PanelApp[] };
      const apps = list.apps.map((app) => (app.appId === managed ? { ...app, managedBy: 'fleet/edge' } : app));
      await route.fulfill({ json: { ...list, apps } });
    });
    const asked: string[] = [];
    await page.route(BATCH, async (route) => {
      asked.push(...(route.request().postDataJSON() as { apps: string[] }).apps);
      await call(`${muster.api}/v1/apps/${deleted}`, { method: 'DELETE', token: account.apiKey });
      await route.continue();
    });
    await chooseAll('?q=%3E24');
    expect(await dialog().innerText()).toContain('1 app is left out: a FleetApp manages it');
    expect(await dialog().innerText()).toContain('1 app is revoked. Its code brings it back.');
    await press(button('Issue codes'));
    await expect.poll(() => dialog().innerText()).toContain('1 app has no new code:');
    // It stays refused however often it is tried.
    expect(await button('Try again').count()).toBe(0);
    expect(await dialog().getByRole('listitem').innerText()).toContain('It was deleted meanwhile.');
    expect(asked).not.toContain(managed);
    expect(asked).toHaveLength(bulk.length - 1);
    expect(await dialog().innerText()).toContain(`${bulk.length - 2} codes are issued`);
    expect(await dialog().getByRole('listitem').count()).toBe(1);
    await leaveSecret(page);
    await expect.poll(() => page.locator('main').innerText()).toContain('1 app chosen');
    await page.unrouteAll({ behavior: 'wait' });
    await openPage(page, muster, `/accounts/${account.accountId}/apps/${revoked}`, /Open enrollment codes/);
    expect(await page.locator('main').innerText()).toContain('pending');
    expect(visited.faults).toEqual([]);
  });
});
