import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildPages } from '../../../../scripts/build-web.ts';
import { KEYS } from '../../../../src/domain/records/keys.ts';
import { expectAbsent } from '../../../../src/store/port.ts';
import { DAY_MS, HOUR_MS, startOfDay, dayAt } from '../../../../src/time/utc-days.ts';
import { panelMuster, type PanelMuster } from '../../../support/panel/panel-users.ts';
import { createApp, tenant } from '../../../support/service/muster.ts';
import { rawPut } from '../../../support/store/raw-key.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, type Visit } from '../../browser/chromium.ts';
import { openPage, operatorVisit } from '../panel-browser.ts';

/** The helpers that in-page.js puts into each page. */
declare const judge: {
  hasLine: (chart: unknown, share: number, token: string) => boolean;
  timedRows: (table: unknown) => [at: number, text: string][];
};

/* The fleet over time on the overview: the chart, and the table that has the same numbers. */

const chromium = findChromium();
const title = `the fleet over time${chromium === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`;

type Counts = readonly [active: number, silent: number, failed: number];

/** The counts of the history for an hour since 1970: five hours of each day are not counted. */
function countsOf(hour: number): Counts | null {
  return [3, 4, 13, 14, 17].includes(hour % 24) ? null : [40 + (hour % 7), hour % 5, hour % 11 === 0 ? 2 : 0];
}
const said = (counts: Counts | null): string => (counts ?? ['not counted', 'not counted', 'not counted']).join(' ');
/** The worst of six hours. */
function worstOf(hour: number): Counts | null {
  const counted = [0, 1, 2, 3, 4, 5].flatMap((more) => [countsOf(hour + more) ?? []]).filter((one) => one.length > 0);
  const worst = (place: 0 | 1 | 2, of: (...all: number[]) => number): number =>
    of(...counted.map((one) => one[place] ?? 0));
  return counted.length === 0 ? null : [worst(0, Math.min), worst(1, Math.max), worst(2, Math.max)];
}

describe.skipIf(chromium === undefined)(title, () => {
  let panel: PanelMuster;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  let accountId: string;
  beforeAll(async () => {
    await buildPages();
    panel = await panelMuster();
    accountId = await accountWithApp();
    const today = startOfDay(dayAt(Date.now())) / DAY_MS;
    const write = Array.from({ length: 90 }, (_, back) => {
      const number = today - back;
      const hours = Array.from({ length: 24 }, (_hour, hour) => countsOf(number * 24 + hour));
      return rawPut(KEYS.fleetDay(accountId, number), { day: dayAt(number * DAY_MS), hours });
    });
    await panel.store.commit({ expect: [expectAbsent('none')], write, quiet: true });
    browser = await openChromium(chromium ?? '');
    // A zone with summer time, in which the hours of the chart are those of the person.
    const options = { reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' } as const;
    visited = await operatorVisit(browser, panel.muster, 'ann@example.com', options);
    ({ page } = visited);
  });
  afterAll(async () => {
    await visited?.[Symbol.asyncDispose]();
    await browser?.close();
    await panel?.[Symbol.asyncDispose]();
  });
  beforeEach(() => openPage(page, panel.muster, `/accounts/${accountId}`, /Newest events/));

  /** An account without an app has the first steps in the place of the chart. */
  async function accountWithApp(): Promise<string> {
    const { accountId: made, apiKey } = await tenant(panel.muster);
    await createApp(panel.muster, apiKey);
    return made;
  }
  const card = () => page.getByRole('region', { name: 'Fleet over time' });
  const chart = () => card().getByRole('slider');
  const range = (name: string) => card().getByRole('button', { name, exact: true });
  /** The rows of the table that are there, by the hour since 1970. */
  async function rows(): Promise<ReadonlyMap<number, string>> {
    const found = await card()
      .locator('tbody')
      .evaluate((table) => judge.timedRows(table));
    return new Map(found.map(([at, text]) => [at / HOUR_MS, text]));
  }
  const showTable = () => press(card().getByText('Show as table'));
  const drawn = () => card().locator('canvas').waitFor();

  test('its table has the hours of the history, and those that were not counted as such', async () => {
    await drawn();
    await showTable();
    const shown = await rows();
    expect(shown.size).toBeGreaterThanOrEqual(23);
    for (const [hour, text] of shown) expect([hour, text]).toEqual([hour, said(countsOf(hour))]);
    const missing = [...shown.values()].filter((text) => text.includes('not counted')).length;
    expect(missing).toBeGreaterThanOrEqual(2);
    expect(await card().innerText()).toContain(`${missing} of ${shown.size} hours were not counted`);
    expect(visited.faults).toEqual([]);
  });

  test('a gap has no line: neither zero nor a bridge', async () => {
    await drawn();
    await showTable();
    const hours = [...(await rows()).keys()].toSorted((a, b) => a - b);
    const [first = 0, last = 0] = [hours[0], hours.at(-1)];
    /** Tells whether the line of active daemons is in the column of an hour. */
    const hasLine = (hour: number): Promise<boolean> =>
      chart().evaluate((element, share) => judge.hasLine(element, share, '--good'), (hour - first) / (last - first));
    // One of the two is within the range at any time of the day.
    const isInGap = (hour: number): boolean => [3, 13].includes(hour % 24) && hour > first && hour + 1 < last;
    const isCounted = (hour: number): boolean => [hour - 1, hour, hour + 1].every((one) => countsOf(one) !== null);
    const gap = hours.find(isInGap) ?? expect.unreachable('a day has hours that are not counted');
    const counted = hours.find((hour) => hour > first && hour < last && isCounted(hour)) ?? expect.unreachable();
    await expect.poll(() => hasLine(counted)).toBe(true);
    // Between the two hours that were not counted.
    expect(await hasLine(gap + 0.5)).toBe(false);
  });

  test('the range stands in the address; 90 days have the worst of six hours', async () => {
    await press(range('7 days'));
    await expect.poll(() => page.url()).toMatch(/\?range=7d$/);
    await drawn();
    await showTable();
    expect(Number(await card().locator('table').getAttribute('aria-rowcount'))).toBeGreaterThanOrEqual(168);
    for (const [hour, text] of await rows()) expect([hour, text]).toEqual([hour, said(countsOf(hour))]);
    await press(range('90 days'));
    await expect.poll(() => page.url()).toMatch(/\?range=90d$/);
    await page.reload();
    await drawn();
    await showTable();
    const shown = await rows();
    expect(shown.size).toBeGreaterThan(10);
    // The first row may still last: its hours are not all counted.
    for (const [hour, text] of [...shown].slice(1)) expect([hour, text]).toEqual([hour, said(worstOf(hour))]);
    expect(await card().locator('table').getAttribute('aria-rowcount')).toMatch(/^3(?:5\d|6[01])$/);
    expect(await range('90 days').getAttribute('aria-pressed')).toBe('true');
    expect(visited.faults).toEqual([]);
  });

  test('keys and the pointer go from point to point, and the zone is named', async () => {
    await drawn();
    const says = () => chart().getAttribute('aria-valuetext');
    await chart().press('Home');
    const oldest = await says();
    expect(oldest).toMatch(/^\w+ \d+, \d{4}, \d\d:00.+\d\d:00.+GMT\+[12]: /);
    await chart().press('ArrowRight');
    const next = (await says()) ?? '';
    expect(next).not.toBe(oldest);
    expect(await card().locator('.fleet-says').innerText()).toBe(next);
    await chart().press('ArrowLeft');
    expect(await says()).toBe(oldest);
    await card()
      .locator('.u-over')
      .hover({ position: { x: 300, y: 60 } });
    await expect.poll(says).not.toBe(oldest);
    expect(visited.faults).toEqual([]);
  });

  test.each(['light', 'dark'] as const)('axe finds nothing beside chart and table (%s)', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await openPage(page, panel.muster, `/accounts/${accountId}`, /Newest events/);
    await drawn();
    await showTable();
    // The landmarks are those of the frame.
    expect(await axe(page)).toEqual([]);
  });

  test('what was before the first count is left out where it would be most of the chart, and is said', async () => {
    const young = await accountWithApp();
    const now = Math.floor(Date.now() / HOUR_MS);
    const since = now - 5;
    const days = [...new Set([since, now].map((hour) => Math.floor(hour / 24)))];
    const write = days.map((number) => {
      const hours = Array.from({ length: 24 }, (_hour, hour): Counts | null => {
        const at = number * 24 + hour;
        return at < since || at > now || at === since + 2 ? null : [5, 0, 0];
      });
      return rawPut(KEYS.fleetDay(young, number), { day: dayAt(number * DAY_MS), hours });
    });
    await panel.store.commit({ expect: [expectAbsent('none')], write, quiet: true });
    await openPage(page, panel.muster, `/accounts/${young}`, /Nothing was counted in this time before/);
    await drawn();
    await showTable();
    const shown = [...(await rows())];
    expect(shown.map(([hour]) => hour)).toEqual([now, now - 1, now - 2, now - 3, now - 4, now - 5]);
    expect(shown.map(([, text]) => text)).toEqual(shown.map(([hour]) => said(hour === since + 2 ? null : [5, 0, 0])));
    expect(await card().innerText()).toContain('1 of 6 hours were not counted');
    expect(visited.faults).toEqual([]);
  });

  test('an account without a history has words in the place of a chart', async () => {
    await openPage(page, panel.muster, `/accounts/${await accountWithApp()}`, /Nothing was counted in this time/);
    expect(await card().locator('canvas').count()).toBe(0);
    expect(await card().getByRole('slider').count()).toBe(0);
    expect(visited.faults).toEqual([]);
  });
});
