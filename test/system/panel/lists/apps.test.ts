import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { csvRows } from '../../../../src/text/csv-rows.ts';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, createApp, enroll, poll, type Muster } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';

/* The list of apps, as a person reads it on a screen and on a phone, and as a file. */

const chromium = findChromium();
const title = chromium === undefined ? `the list of apps (skipped: ${NO_CHROMIUM})` : 'the list of apps';
const FORMULA = '=HYPERLINK("https://example.com","open")';
const TILLS = ['one', 'two'].map((end) => `acme-retail-warehouse-frankfurt-building-7-till-${end}`);
const HOSTILE = [
  'W'.repeat(100),
  '\u202Eright to left, and long enough',
  '<img src=x onerror=alert(1)>',
  'a\u0300'.repeat(50),
];
const REASON = `exporter otlp: dial tcp: lookup otel.example.com: no such host; ${'tried again, '.repeat(20)}gave up`;
const WAREHOUSES = 50;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  let failed: string;
  beforeAll(async () => {
    world = await openWorld(chromium, 8, { viewport: { width: 1440, height: 900 } });
    ({ muster, account, visited, page } = world);
    await page.getByRole('button', { name: 'That was me' }).focus();
    await page.keyboard.press('Enter');
    const warehouses = Array.from({ length: WAREHOUSES }, (_, index) => `warehouse-${index + 1}`);
    for (const name of [FORMULA, ...TILLS, ...HOSTILE, ...warehouses]) await createApp(muster, account.apiKey, name);
    const app = await createApp(muster, account.apiKey, 'store-305');
    failed = app.appId;
    const token = await enroll(muster, app);
    const { revision } = (await poll(muster, token)).body;
    const body = { revision, status: 'failed', error: REASON };
    const answer = await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body });
    expect(answer.status).toBe(204);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp, on = page) =>
    openPage(on, muster, `/accounts/${account.accountId}${path}`, shows);
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  const sized = (width: number) => page.setViewportSize({ width, height: width === 360 ? 800 : 900 });

  /** The value of an expression of `element` for each that the selector finds. */
  const each = <Value>(selector: string, expression: string): Promise<Value[]> =>
    page.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => ${expression})`);

  /** The name and the rows of the file that the page saves. */
  async function saved(
    on = page,
  ): Promise<{ name: string; head: readonly string[]; rows: readonly (readonly string[])[] }> {
    const download = on.waitForEvent('download');
    await press(on.getByRole('button', { name: 'Download CSV', exact: true }));
    const file = await download;
    const [head = [], ...rows] = [...csvRows(readFileSync(await file.path(), 'utf8'))].map(({ fields }) => fields);
    return { name: file.suggestedFilename(), head, rows };
  }

  test('what the filters let through is a CSV in the order of the table, with what daemons said and no formula', async () => {
    await at('/apps?q=edge&sort=-name', /edge-008/);
    const { name, head, rows } = await saved();
    expect(name).toMatch(/^apps-Acme-Production-\d{4}-\d\d-\d\d\.csv$/);
    expect(head.join()).toBe(
      'appId,name,status,configuration,configurationError,configurationRevision,platform,agentVersion,connection,' +
        'createdAt,lastSeenAt',
    );
    expect(rows.map(([, shown]) => shown)).toEqual([8, 7, 6, 5, 4, 3, 2, 1].map((number) => `edge-00${number}`));
    const [pending] = rows;
    const unknown = ['', '', '', '', '', ''];
    const [instant, never] = [expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string, ''];
    expect(pending).toEqual([account.appIds[7], 'edge-008', 'pending', ...unknown, instant, never]);

    await at('/apps?configuration=failed&q=store', /store-305/);
    const revision = expect.stringMatching(/^[1-9]\d*$/) as string;
    const says = ['failed', REASON, revision, 'linux', '1.0.0', 'cloud', instant, instant];
    expect((await saved()).rows).toEqual([[failed, 'store-305', 'active', ...says]]);

    await at('/apps?q=hyperlink', /HYPERLINK/);
    expect((await saved()).rows.map(([, shown]) => shown)).toEqual([`'${FORMULA}`]);
    expect(visited.faults).toEqual([]);
  });

  test('where some are chosen these are the file, whatever the filters let through', async () => {
    await at(`/apps?q=edge&selected=${failed}.${account.appIds[0]}`, /2 apps chosen/);
    const { rows } = await saved();
    expect([rows.length, new Set(rows.map(([appId]) => appId))]).toEqual([2, new Set([failed, account.appIds[0]])]);
  });

  test('a viewer has the same file', async () => {
    await using viewer = await viewerVisit(world, 'reads@example.com');
    await at('/apps?q=edge', /edge-001/, viewer.page);
    expect((await saved(viewer.page)).rows).toHaveLength(8);
    expect(viewer.faults).toEqual([]);
  });

  test('filters are cleared at once, also where nothing fits; no choice is no words', async () => {
    await at('/apps', /store-305/);
    expect(await button('Clear the filters').count()).toBe(0);
    expect(await page.locator('.page-head [role=status]').allTextContents()).toEqual(['']);
    await page.getByRole('searchbox', { name: 'Search' }).fill('edge-001');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await press(page.getByLabel('Choose edge-001'));
    await expect.poll(() => page.locator('.page-head [role=status]').allTextContents()).toEqual(['1 app chosen']);
    await press(button('Clear the filters'));
    await expect.poll(() => page.locator('tbody tr').count()).toBeGreaterThan(20);
    expect(new URL(page.url()).search).toBe(`?selected=${account.appIds[0]}`);
    await at('/apps?q=nowhere&status=active&silent=week&platform=%3Dlinux', /No app fits/);
    await press(page.locator('.placeholder').getByRole('button', { name: 'Clear the filters' }));
    await expect.poll(() => new URL(page.url()).search).toBe('');
    expect(await button('Clear the filters').count()).toBe(0);
  });

  test('the heading stands as high as on another page, and the filters in one line of a wide window', async () => {
    for (const width of [1440, 768, 360]) {
      await sized(width);
      const tops: number[] = [];
      for (const [path, shows] of [
        ['/apps', /store-305/],
        ['/members', /Members/],
      ] as const) {
        await at(path, shows);
        tops.push((await page.locator('h1').boundingBox())?.y ?? NaN);
      }
      const [apps = NaN, other = NaN] = tops;
      expect([width, Math.abs(apps - other) < 1]).toEqual([width, true]);
    }
    await sized(1440);
    await at('/apps', /store-305/);
    const controls = page.locator('.toolbar :is(input, select, button)');
    const tops = await Promise.all((await controls.all()).map(async (one) => (await one.boundingBox())?.y));
    expect([tops.length, new Set(tops).size]).toEqual([8, 1]);
  });

  test('each header that sorts has a mark, which says by which column and how', async () => {
    await at('/apps', /store-305/);
    const marks = () => each<string>('thead .sort path', `element.getAttribute('d')`);
    const idle = await marks();
    expect([idle.length, new Set(idle).size]).toEqual([await page.locator('thead .sort').count(), 1]);
    await press(button('Name'));
    const ascending = await marks();
    expect(ascending.filter((mark, index) => mark !== idle[index])).toHaveLength(1);
    await press(button('Name'));
    await expect.poll(async () => (await marks())[0]).not.toBe(ascending[0]);
    expect((await marks())[0]).not.toBe(idle[0]);
  });

  test('on a phone names that begin alike are told apart by their ends, and no row of a long list is higher than another', async () => {
    await sized(360);
    for (const [query, names] of [
      ['warehouse-', ['warehouse-1', 'warehouse-10', 'warehouse-50']],
      ['till', TILLS],
      ['', []],
    ] as const) {
      await at(`/apps?q=${query}&sort=name`, /Search/);
      for (const name of names) {
        await page.getByRole('link', { name, exact: true }).waitFor();
        const end = `.name[title="${name}"]${name.length > 20 ? ' > :last-child' : ''}`;
        const [cut] = await each<number>(
          end,
          'Math.max(element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight)',
        );
        expect([name, cut]).toEqual([name, Math.min(cut ?? NaN, 1)]);
      }
    }
    const heights = await each<number>('tbody tr:not(.space)', 'element.getBoundingClientRect().height');
    expect(new Set(heights).size).toBe(1);
    expect(await page.evaluate('Math.max(0, judge.overflow())')).toBe(0);
    const room = await each<number>(
      'tbody .name',
      `element.closest('th, td').getBoundingClientRect().right - element.getBoundingClientRect().right`,
    );
    expect(Math.min(...room)).toBeGreaterThanOrEqual(0);
    // The rows that are not in sight take as much room as those that are.
    await each('.table.rows', 'element.scrollTo(0, element.scrollHeight)');
    await page.getByRole('link', { name: `warehouse-${WAREHOUSES}`, exact: true }).waitFor();
    const end = (await each<number>('tbody tr:not(.space)', 'element.getBoundingClientRect().bottom')).at(-1) ?? NaN;
    const [bottom = NaN] = await each<number>('.table.rows', 'element.getBoundingClientRect().bottom');
    expect(Math.abs(end - bottom)).toBeLessThan(3);
    expect(await axe(page)).toEqual([]);
    await sized(1440);
  });

  test('on a phone a box has 24 pixels at least', async () => {
    await sized(360);
    await at('/apps', /store-305/);
    const sizes = await each<number>(
      'main input[type=checkbox]',
      'Math.min(element.clientWidth, element.clientHeight)',
    );
    expect(sizes.length).toBeGreaterThan(20);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(24);
    await sized(1440);
  });

  test.each([1440, 360])('at %i pixels the reason of a failure is read whole', async (width) => {
    await sized(width);
    await at('/apps?configuration=failed&q=store', /store-305/);
    await press(page.locator('.delivery button'));
    const whole = page.getByRole('group', { name: 'What the daemon said' });
    await expect.poll(() => whole.innerText()).toBe(REASON);
    const box = await whole.boundingBox();
    expect(box?.width).toBeGreaterThan(250);
    expect(box && [box.x >= 0, box.x + box.width <= width, box.y >= 0]).toEqual([true, true, true]);
    await page.keyboard.press('Escape');
    await expect.poll(() => whole.isVisible()).toBe(false);
    await sized(1440);
  });

  test('what the daemon reported last stands among what happened', async () => {
    await at(`/apps/${failed}`, /could not apply the configuration, revision \d+\./);
    const lines = await page.locator('.timeline li').allInnerTexts();
    const [reported, enrolled] = ['could not apply', 'enrolled'].map((words) =>
      lines.findIndex((line) => line.includes(words)),
    );
    expect([reported, enrolled]).toEqual([0, 1]);
    await press(page.locator('.timeline').getByRole('button', { name: REASON }));
    await at(`/apps/${account.appIds[0]}`, /has applied the configuration, revision \d+\./);
    await at(`/apps/${account.appIds[7]}`, /created an app/);
    expect(await page.locator('.timeline').innerText()).not.toMatch(/the configuration, revision/);
    expect(visited.faults).toEqual([]);
  });
});
