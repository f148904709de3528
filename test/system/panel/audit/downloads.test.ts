import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvRows } from '../../../../src/text/csv-rows.ts';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { openPage, openWorld, operatorVisit, type PanelWorld } from '../panel-browser.ts';

/* An audit is downloaded as its page is filtered: the whole of it, and not the entries that are shown. */

const chromium = findChromium();
const title = chromium === undefined ? `downloads of an audit (skipped: ${NO_CHROMIUM})` : 'downloads of an audit';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let browser: Browser;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 70);
    ({ muster, browser, account, visited, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  async function downloaded(from: Page, name: string): Promise<{ readonly file: string; readonly text: string }> {
    const [one] = await Promise.all([
      from.waitForEvent('download'),
      press(from.getByRole('link', { name: `Download ${name}` })),
    ]);
    return { file: one.suggestedFilename(), text: readFileSync(await one.path(), 'utf8') };
  }

  test('what the filters let through, beyond the page that is shown', async () => {
    const body = { name: '=1+1' };
    const created = await call(`${muster.api}/v1/apps`, { method: 'POST', token: account.apiKey, body });
    expect(created.status).toBe(201);
    await openPage(page, muster, `/accounts/${account.accountId}/audit?group=app.`, /created an app/);
    const csv = await downloaded(page, 'CSV');
    expect(csv.file).toMatch(/^audit-\d{4}-\d\d-\d\d\.csv$/);
    const [head, ...rows] = [...csvRows(csv.text)].map(({ fields }) => fields);
    expect(head?.slice(0, 6)).toEqual(['at', 'action', 'actor', 'actorName', 'target', 'targetName']);
    expect(await page.locator('.timeline > li').count()).toBe(50);
    expect(rows.length).toBeGreaterThan(70);
    expect(rows.every(([at = '', action = '']) => at.endsWith('Z') && action.startsWith('app.'))).toBe(true);
    expect(rows.filter(([, action]) => action === 'app.created').map((row) => row[5])).toContain("'=1+1");

    await page.getByLabel('On', { exact: true }).selectOption({ label: 'edge-003' });
    // The link follows the choice at once, before the list does.
    const jsonl = await downloaded(page, 'JSON Lines');
    expect(jsonl.file).toMatch(/^audit-\d{4}-\d\d-\d\d\.jsonl$/);
    const lines = jsonl.text.trim().split('\n');
    const entries = lines.map((line) => JSON.parse(line) as { action: string; targetName?: string });
    expect(entries.map(({ action }) => action)).toContain('app.created');
    expect(new Set(entries.map(({ targetName }) => targetName))).toEqual(new Set(['edge-003']));
    expect(visited.faults).toEqual([]);
  });

  test('the audit of the service tells of it, and is downloaded as well', async () => {
    await using operator = await operatorVisit(browser, muster, 'odo@example.com');
    await openPage(operator.page, muster, '/operator/service-audit', /exported/);
    const csv = await downloaded(operator.page, 'CSV');
    expect(csv.text).toContain('"audit.exported"');
    expect(operator.faults).toEqual([]);
  });
});
