import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { tenant, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import { atPanel, openPage, openUserMenu, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The search, the keys and the history of the frame around every page. */

const chromium = findChromium();
const title = chromium === undefined ? `the frame of the pages (skipped: ${NO_CHROMIUM})` : 'the frame of the pages';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3, { viewport: { width: 1280, height: 900 } });
    ({ muster, account, page } = world);
    await tenant(muster);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);
  const dialog = () => page.getByRole('dialog');
  const query = (): string => new URL(page.url()).search;
  const isInSearch = (): Promise<unknown> => page.evaluate("document.activeElement.matches('[role=search] input')");
  const search = () => page.getByLabel('Search', { exact: true });

  test('single keys that were turned off are turned on again from the menu', async () => {
    await at('/apps', /edge-001/);
    const turn = async (): Promise<void> => {
      await openUserMenu(page);
      await press(page.locator('.user-menu').getByRole('button', { name: 'Keyboard' }));
      await press(dialog().getByRole('checkbox'));
      await press(dialog().getByRole('button', { name: 'Close' }));
    };
    await turn();
    await page.locator('main').focus();
    await page.keyboard.press('/');
    expect(await isInSearch()).toBe(false);
    await turn();
    await page.locator('main').focus();
    await page.keyboard.press('/');
    expect(await isInSearch()).toBe(true);
  });

  test('what is chosen in the search stays chosen when something is found later', async () => {
    await at('', /Newest events/);
    const found = Promise.withResolvers<void>();
    const asked = page.waitForRequest('**/panel/v1/find?**');
    await page.route('**/panel/v1/find?**', async (route) => {
      await found.promise;
      // A read that was begun anew meanwhile wants no answer.
      await route
        .fulfill({ json: { accounts: [{ accountId: 'a'.repeat(16), name: 'edge-00 Ltd' }] } })
        .catch(() => undefined);
    });
    await page.keyboard.press('Control+k');
    await dialog().getByRole('combobox').fill('edge-00');
    await dialog()
      .getByRole('option', { name: /edge-001/ })
      .waitFor();
    const options = await dialog().getByRole('option').locator('bdi').allInnerTexts();
    const [first = '', second = ''] = options;
    await page.keyboard.press('ArrowDown');
    const chosen = dialog().locator('[aria-selected=true]');
    expect(await chosen.innerText()).toContain(second);
    await asked;
    found.resolve();
    await dialog()
      .getByRole('option', { name: /edge-00 Ltd/ })
      .waitFor();
    expect(await chosen.innerText()).toContain(second);
    await page.keyboard.press('ArrowUp');
    expect(await chosen.innerText()).toContain(first);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: first }).waitFor();
    await page.unrouteAll();
  });

  test('the switcher of an operator says what to type before it says that nothing fits', async () => {
    await at('', /Newest events/);
    await press(page.getByRole('button', { name: /^Account: Acme Production/ }));
    const says = (): Promise<string> => dialog().getByRole('status').innerText();
    await expect.poll(says).toMatch(/^Type a part of the name/);
    await dialog().getByRole('combobox').fill('no such account');
    await expect.poll(says).toBe('Nothing fits.');
    await page.keyboard.press('Escape');
  });

  test('a search that is left at once is there again with Forward', async () => {
    await at('', /Newest events/);
    await press(page.getByRole('link', { name: 'Apps', exact: true }));
    await search().waitFor();
    // One task: the browser writes nothing of the search in between.
    await page.evaluate(`(() => {
      const input = document.querySelector('[role=search] input');
      input.value = 'edge-002';
      input.dispatchEvent(new Event('input', { bubbles: true }));
      history.back();
    })()`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goForward();
    await expect.poll(() => search().inputValue()).toBe('edge-002');
    await expect.poll(query).toBe('?q=edge-002');
    expect(await page.locator('tbody tr').count()).toBe(1);
  });

  test('a browser that refuses to change the history loses neither the search nor the next page', async () => {
    await at('/apps', /edge-001/);
    await page.evaluate(`(() => {
      const refuse = () => { throw new DOMException('too many', 'SecurityError'); };
      history.kept = history.replaceState;
      history.replaceState = refuse;
      history.pushState = refuse;
    })()`);
    await search().fill('edge-003');
    await expect.poll(() => page.locator('tbody tr').count()).toBe(1);
    await page.evaluate('delete history.replaceState');
    await expect.poll(query).toBe('?q=edge-003');
    await press(page.getByRole('link', { name: 'Usage', exact: true }));
    await page.getByRole('heading', { name: 'Usage' }).waitFor();
    expect(world?.visited.faults).toEqual([]);
  });

  test('the first visit without a page says nothing of one; a page that was opened is named', async () => {
    if (!world) throw new Error('There is no world.');
    await using stranger = await visit(world.browser);
    const says = (): Promise<string> => stranger.page.locator('main').innerText();
    await stranger.page.goto(atPanel(muster, 'http://panel/'));
    await stranger.page.getByLabel('Password').waitFor();
    expect(await says()).not.toContain('page that you opened');
    await stranger.page.goto(atPanel(muster, `http://panel/accounts/${account.accountId}/keys`));
    await stranger.page.getByLabel('Password').waitFor();
    expect(await says()).toContain('page that you opened');
    await stranger.page.goto(atPanel(muster, 'http://panel/'));
    await stranger.page.getByLabel('Password').waitFor();
    expect(await says()).not.toContain('page that you opened');
  });

  test('the last day of the last year that has four digits asks for what the service takes', async () => {
    for (const [to, asks] of [
      ['9999-12-31', /^$|^9999-12-31/],
      ['9998-12-31', /^999[89]-/],
    ] as const) {
      const read = page.waitForRequest(/\/accounts\/\w+\/audit\?/);
      await at(`/audit?to=${to}`, /created an app/);
      expect(new URL((await read).url()).searchParams.get('to') ?? '').toMatch(asks);
    }
  });

  test('where deliveries cannot be read, the caption says so and not that no app fits', async () => {
    const answer = { status: 503, json: { error: { code: 'overloaded', message: 'Too busy.' } } };
    await page.route(/\/rollout\/apps$/, (route) => route.fulfill(answer));
    await at('/apps?configuration=failed', /Too busy/);
    const caption = (): Promise<string> => page.locator('caption').innerText();
    expect(await caption()).toMatch(/could not be read/);
    expect(await caption()).not.toMatch(/0 of/);
    await page.unroute(/\/rollout\/apps$/);
    await at('/apps?configuration=failed', /No app fits/);
    expect(await caption()).toMatch(/0 of 3 apps/);
  });
});
