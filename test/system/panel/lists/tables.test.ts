import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { setOtel } from '../../../support/service/daemon.ts';
import { call, createApp, OPERATOR_TOKEN, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';
import { wholeList } from './panel-apps.ts';

/* Tables with many rows, many columns and hostile names, on a screen and on a phone. */

const chromium = findChromium();
const title = chromium === undefined ? `tables (skipped: ${NO_CHROMIUM})` : 'tables';
const UNSEEN = '\u200B\u200E\u202E\u2066';
const LONG = 'W'.repeat(100);
const HOSTILE = [UNSEEN, LONG, '\u202Eright to left', '<img src=x onerror=alert(1)>', 'a\u0300'.repeat(50)];

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  let blank: string;
  beforeAll(async () => {
    world = await openWorld(chromium, 8, { viewport: { width: 1440, height: 900 } });
    ({ muster, account, visited, page } = world);
    // The note of the new sign-in stands above every page until it is known.
    await page.getByRole('button', { name: 'That was me' }).focus();
    await page.keyboard.press('Enter');
    const [first] = await Promise.all(HOSTILE.map((name) => createApp(muster, account.apiKey, name)));
    blank = first?.appId ?? '';
    for (const name of ['', 'continuous integration', 'key-10', 'key-9']) {
      const keys = `${muster.ops}/operator/v1/accounts/${account.accountId}/api-keys`;
      const body = { name, expiresAt: new Date(Date.now() + 86_400_000).toISOString() };
      const made = await call(keys, { method: 'POST', token: OPERATOR_TOKEN, body });
      expect(made.status).toBe(201);
      if (name === 'key-9') await rotated(String(made.body['keyId']));
    }
    for (const host of ['a', 'b']) {
      const endpoint = `https://${host.repeat(20)}.collectors.example.com:4318/otlp`;
      expect((await setOtel(muster, account.apiKey, { endpoint })).status).toBe(200);
    }
  });
  afterEach(() => page.unrouteAll());
  afterAll(() => world?.[Symbol.asyncDispose]());
  async function rotated(keyId: string): Promise<void> {
    const url = `${muster.ops}/operator/v1/accounts/${account.accountId}/api-keys/${keyId}/rotation`;
    const answer = await call(url, { method: 'POST', token: OPERATOR_TOKEN, body: { graceSeconds: 3600 } });
    expect(answer.status).toBe(201);
  }
  /** A table of members has a row then. */
  async function invited(login: string): Promise<Visit> {
    if (!world) throw new Error('There is no world.');
    return await viewerVisit(world, login);
  }
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);
  const rows = () => page.locator('tbody tr:not(.space)');
  const heads = () => page.locator('thead th').allInnerTexts();
  const menu = () => page.locator('.menu');
  const boxesOf = (selector: string): Promise<Box[]> =>
    page.evaluate(
      `[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => element.getBoundingClientRect().toJSON())`,
    );
  const box = async (selector: string): Promise<Box> => {
    const [first] = await boxesOf(selector);
    if (!first) throw new Error(`There is no ${selector}.`);
    return first;
  };
  const overflow = () => page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');

  test('of 1,000 apps 20 rows of 36 pixels are seen at 1440 by 900, and each control is as high', async () => {
    await page.route(/\/panel\/v1\/accounts\/[^/]+\/apps$/, (route) => route.fulfill({ json: wholeList(1000) }));
    await at('/apps', /1,000 apps/);
    const table = await box('.table.rows');
    const head = await box('thead');
    const boxes = await boxesOf('tbody tr:not(.space)');
    const seen = boxes.filter(({ top, bottom }) => top >= head.bottom && bottom <= Math.min(900, table.bottom));
    expect(seen.length).toBeGreaterThanOrEqual(20);
    expect(new Set(seen.map(({ top, bottom }) => bottom - top))).toEqual(new Set([36]));
    const controls = (await boxesOf('.toolbar :is(input, select, button)')).map(({ top, bottom }) => bottom - top);
    expect(new Set(controls)).toEqual(new Set([36]));
    const labels = (await boxesOf('.toolbar label')).map(({ bottom }) => bottom);
    expect(new Set(labels).size).toBe(1);
  });

  test('from 1,600 pixels on a page takes the whole width', async () => {
    await page.setViewportSize({ width: 1920, height: 900 });
    await at('/apps', /edge-0/);
    const { left, right } = await box('.card');
    expect(right - left).toBeGreaterThan(1550);
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('the columns are chosen by the keyboard, kept in this browser alone, and reset', async () => {
    await at('/apps', /edge-0/);
    const first = await heads();
    expect(first).not.toContain('Created');
    await page.getByRole('button', { name: 'Columns' }).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.type')).toBe('checkbox');
    expect(await menu().getByRole('checkbox').count()).toBeGreaterThan(5);
    expect(await menu().getByRole('checkbox', { name: 'Name' }).count()).toBe(0);
    await menu().getByRole('checkbox', { name: 'Created' }).focus();
    await page.keyboard.press('Space');
    await expect.poll(heads).toContain('Created');
    await menu().getByRole('checkbox', { name: 'Platform' }).focus();
    await page.keyboard.press('Space');
    await expect.poll(heads).not.toContain('Platform');
    await page.keyboard.press('Escape');
    await expect.poll(() => menu().isVisible()).toBe(false);
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Columns');
    expect(new URL(page.url()).search).toBe('');
    await page.reload();
    await expect.poll(heads).toContain('Created');
    expect(await heads()).not.toContain('Platform');
    await press(page.getByRole('button', { name: 'Columns' }));
    await press(menu().getByRole('button', { name: 'Reset' }));
    await expect.poll(heads).toEqual(first);
    expect(String(await page.evaluate('judge.stored()'))).not.toContain('columns');
    await page.keyboard.press('Escape');
  });

  test('a storage with nonsense shows the usual columns', async () => {
    const first = await heads();
    await page.evaluate(`localStorage.setItem('muster-columns-apps', '<b> name nonsense ' + 'x'.repeat(90))`);
    await at('/apps', /edge-0/);
    expect(await heads()).toEqual(first);
    await page.evaluate(`localStorage.removeItem('muster-columns-apps')`);
  });

  test('every list that is whole is sorted by each of its headers, in the address', async () => {
    await using member = await invited('sorted@example.com');
    await page.route(/\/usage\?month=/, async (route) => {
      const usage = (await (await route.fetch()).json()) as object;
      const nights = [{ day: '2026-01-01', activeDaemons: 1, late: false }];
      await route.fulfill({ json: { ...usage, accounts: [{ amountMinor: 0, daemonNights: 1, nights }] } });
    });
    for (const [path, shows] of [
      [`/accounts/${account.accountId}/members`, /Members/],
      [`/accounts/${account.accountId}/keys`, /Last used/],
      [`/accounts/${account.accountId}/configuration`, /since the last purge/],
      [`/accounts/${account.accountId}/usage`, /Daemon-nights/],
      ['/operator/users', /Signs in as/],
      ['/operator/accounts', /Acme Production/],
      ['/operator/service', /leader|follower/],
      ['/operator/encryption', /Active key/],
      ['/me', /this one/],
    ] as const) {
      await openPage(page, muster, path, shows);
      expect([path, (await page.locator('main thead th button.sort').count()) > 0]).toEqual([path, true]);
      // A comparison has the order of the form. A table may be folded up, and has its texts all the same.
      const lists = page.locator('main .table:not([aria-label="Differences"])');
      const unsorted = lists.locator('thead th:not(.pin-end):not(:has(button, input))');
      expect(`${path}: ${(await unsorted.allTextContents()).join()}`).toBe(`${path}: `);
    }
    await openPage(page, muster, '/operator/users', /Signs in as/);
    await press(page.getByRole('button', { name: 'Signs in as' }));
    await expect.poll(() => new URL(page.url()).search).toBe('?sort=signs-in-as');
    expect(await page.locator('th[aria-sort=ascending]').innerText()).toBe('Signs in as');
    expect(member.faults).toEqual([]);
  });

  test('keys are sorted by their names as people count, and what is not known stands last in both directions', async () => {
    for (const [sort, names] of [
      ['name', [/^continuous/, /^key-9/, /^key-10/, /^[a-z0-9]{10,}/, /^[a-z0-9]{10,}/]],
      ['-name', [/^key-10/, /^key-9/, /^continuous/, /^[a-z0-9]{10,}/, /^[a-z0-9]{10,}/]],
    ] as const) {
      await at(`/keys?sort=${sort}`, /Last used/);
      expect(await page.getByRole('rowheader').allInnerTexts()).toEqual(
        names.map((name) => expect.stringMatching(name) as string),
      );
    }
    for (const sort of ['last-used', '-last-used']) {
      await at(`/keys?sort=${sort}`, /Last used/);
      expect(await rows().first().locator('td.number').innerText()).not.toBe('0');
    }
    for (const sort of ['previous-secret-until', '-previous-secret-until']) {
      await at(`/keys?sort=${sort}`, /Last used/);
      expect(await rows().first().innerText()).toMatch(/^key-9/);
    }
    await at('/configuration?sort=revision', /since the last purge/);
    expect(await page.locator('.framed:has(.pin-end) tbody tr').first().innerText()).toMatch(/^1\s/);
  });

  test.each([
    ['/keys', /Last used/],
    ['/configuration', /since the last purge/],
  ])('at 1440 pixels nothing of %s lies under its actions, and a row is one line', async (path, shows) => {
    await at(path, shows);
    const list = page.locator('.framed:has(.pin-end)');
    expect(await list.count()).toBe(1);
    const [scrolled, seen] = await list
      .locator('.table')
      .evaluate((element) => [
        Reflect.get(element, 'scrollWidth') as number,
        Reflect.get(element, 'clientWidth') as number,
      ]);
    expect(scrolled).toBeLessThanOrEqual(seen ?? 0);
    const heights = (await boxesOf('.framed:has(.pin-end) tbody tr')).map(({ top, bottom }) =>
      Math.round(bottom - top),
    );
    expect(new Set(heights)).toEqual(new Set([36]));
  });

  test('an app that never enrolled has no connection, and stands last in both directions', async () => {
    await page.evaluate(`localStorage.setItem('muster-columns-apps', 'connection')`);
    for (const sort of ['connection', '-connection', 'last-contact', '-last-contact']) {
      await at(`/apps?sort=${sort}`, /edge-0/);
      expect(await rows().first().innerText()).toMatch(/cloud/);
      expect(await rows().last().innerText()).toMatch(/none[^]*never/);
    }
    await at('/apps?silent=hour', /Search/);
    expect(await rows().count()).toBe(0);
    await at('/apps?silent=never', /Search/);
    await expect.poll(() => rows().count()).toBeGreaterThan(HOSTILE.length);
    await page.evaluate(`localStorage.removeItem('muster-columns-apps')`);
  });

  test('a name of which nothing is seen is the id, and a long one is cut with the whole of it behind it', async () => {
    await at('/apps', /edge-0/);
    await page.getByRole('link', { name: blank }).waitFor();
    const long = page.locator(`bdi[title="${LONG}"]`);
    const { left, right } = await box(`bdi[title="${LONG}"]`);
    expect(right - left).toBeLessThan(420);
    const checked = Promise.withResolvers<void>();
    await page.route(/\/apps\/\w{20}$/, async (route) => {
      await checked.promise;
      await route.continue();
    });
    await press(long);
    await page.locator('main .skeleton').first().waitFor();
    expect(await overflow(), 'while the page is read').toBeLessThanOrEqual(0);
    checked.resolve();
    await page.getByRole('heading', { name: LONG }).waitFor();
    expect(await overflow()).toBeLessThanOrEqual(0);
    expect(visited.faults).toEqual([]);
  });

  test('on a phone the name and the actions stay in sight, and a sign says that more lies to the right', async () => {
    await using member = await invited('narrow@example.com');
    await page.setViewportSize({ width: 360, height: 800 });
    for (const [path, shows, hasActions] of [
      [`/accounts/${account.accountId}/apps`, /edge-0/, false],
      [`/accounts/${account.accountId}/members`, /Members/, true],
      [`/accounts/${account.accountId}/keys`, /Last used/, true],
      [`/accounts/${account.accountId}/configuration`, /since the last purge/, true],
      ['/operator/users', /Signs in as/, true],
      ['/operator/accounts', /Acme Production/, true],
    ] as const) {
      await openPage(page, muster, path, shows);
      expect([path, Math.max(0, Number(await overflow()))]).toEqual([path, 0]);
      const list = hasActions ? '.framed:has(.pin-end)' : '.framed';
      expect([path, (await page.locator('.framed .pin-end').count()) > 0]).toEqual([path, hasActions]);
      await page.locator(`${list}.more-end`).first().waitFor();
      const sign = () => page.evaluate(`getComputedStyle(document.querySelector('${list}'), '::after').content`);
      const inSight = async (): Promise<void> => {
        const name = await box(`${list} tbody .pin-start`);
        expect(name.left).toBeGreaterThanOrEqual(0);
        expect(name.right).toBeLessThan(200);
        if (!hasActions) return;
        const actions = await box(`${list} tbody .pin-end`);
        expect([path, actions.left]).toEqual([path, Math.max(actions.left, name.right)]);
        expect([path, actions.right]).toEqual([path, Math.min(actions.right, 360)]);
      };
      expect(await sign()).toBe('"›"');
      await inSight();
      await page
        .locator(`${list} .table`)
        .first()
        .evaluate((element) => {
          (element as { scrollLeft: number }).scrollLeft = 9999;
        });
      await page.locator(`${list}:not(.more-end)`).first().waitFor();
      expect(await sign()).toBe('none');
      await inSight();
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    expect(member.faults).toEqual([]);
  });
});
