import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../support/panel/seeded-panel.ts';
import { tenant, type Tenant, type Muster } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press } from '../browser/chromium.ts';
import {
  atPanel,
  leaveSecret,
  openPage,
  openWorld,
  operatorVisit,
  pressSignOut,
  signInByPassword,
  signOut,
  untilSignedIn,
  viewerVisit,
  type PanelWorld,
} from './panel-browser.ts';

/* A page is found again by its address, tells where one is, and is not left with something unsaved unasked. */

const chromium = findChromium();
const title = chromium === undefined ? `the address of a page (skipped: ${NO_CHROMIUM})` : 'the address of a page';
const APPS = 80;
const DESKTOP = { width: 1280, height: 900 };

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let browser: Browser;
  let account: SeededAccount;
  let other: Tenant;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, APPS, { viewport: DESKTOP });
    ({ muster, browser, account, page } = world);
    other = await tenant(muster);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const dialog = () => page.getByRole('dialog');
  const query = (): string => new URL(page.url()).search;
  const rows = () => page.locator('tbody tr:not(.space)');
  const firstName = () => rows().first().locator('th').innerText();

  test('search, filters, order and selection come back with Back, a reload and a link', async () => {
    await at('/apps', /edge-0/);
    await page.getByLabel('Search', { exact: true }).fill('edge-00');
    await page.getByLabel('Status', { exact: true }).selectOption('active');
    await press(button('Name'));
    await press(button('Name'));
    await expect.poll(firstName).toBe('edge-009');
    await press(page.getByLabel('Choose edge-009'));
    const [appId = ''] = [account.appIds[8]];
    await expect.poll(query).toBe(`?q=edge-00&status=active&sort=-name&selected=${appId}`);
    const isAsBefore = async (): Promise<void> => {
      await expect.poll(firstName).toBe('edge-009');
      expect(await page.getByLabel('Search', { exact: true }).inputValue()).toBe('edge-00');
      expect(await page.getByLabel('Status', { exact: true }).inputValue()).toBe('active');
      expect(await page.getByLabel('Choose edge-009').isChecked()).toBe(true);
      expect(await page.locator('main').innerText()).toContain('1 app chosen');
    };
    await press(page.getByRole('link', { name: 'edge-009' }));
    await page.getByRole('heading', { name: 'edge-009' }).waitFor();
    await page.goBack();
    await isAsBefore();
    await page.reload();
    await isAsBefore();
    await using stranger = await operatorVisit(browser, muster, 'link@example.com');
    await openPage(stranger.page, muster, `/accounts/${account.accountId}/apps${query()}`, /1 app chosen/);
  });

  test('what a link asks for and there is not is left out, and more than 50 chosen apps stay out of the address', async () => {
    await at('/apps?status=none&silent=maybe&sort=%3Cb%3E&selected=../../me', /edge-0/);
    expect(await page.getByLabel('Status', { exact: true }).inputValue()).toBe('');
    await press(page.getByLabel('Choose all that are shown'));
    await expect.poll(() => page.locator('main').innerText()).toContain(`${APPS} apps chosen`);
    await expect.poll(query).not.toContain('selected');
    await press(page.getByLabel('Choose all that are shown'));
    await expect.poll(() => page.locator('main').innerText()).not.toMatch(/apps? chosen/);
  });

  test('with the Shift key every app between two is chosen', async () => {
    await at('/apps?sort=name', /edge-0/);
    await press(page.getByLabel('Choose edge-002'));
    await page.getByLabel('Choose edge-005').click({ modifiers: ['Shift'], noWaitAfter: true });
    await expect.poll(() => page.locator('main').innerText()).toContain('4 apps chosen');
  });

  test('a page and its table are as far scrolled after Back and a reload as before', async () => {
    await page.setViewportSize({ width: 1280, height: 500 });
    await at('/apps?sort=name', /edge-0/);
    const table = page.locator('.table.rows');
    const scrolled = () => table.evaluate((element) => (element as { scrollTop: number }).scrollTop);
    await table.evaluate((element) => (element as { scrollTo: (x: number, y: number) => void }).scrollTo(0, 1200));
    const link = page.getByRole('link', { name: 'edge-040' });
    await link.waitFor();
    await press(link);
    await page.getByRole('heading', { name: 'edge-040' }).waitFor();
    await page.goBack();
    await expect.poll(scrolled).toBe(1200);
    await page.reload();
    await expect.poll(scrolled).toBe(1200);
    await page.setViewportSize(DESKTOP);
  });

  test('a page that reads slowly is as far scrolled after Back from a longer one', async () => {
    await page.setViewportSize({ width: 1280, height: 500 });
    const scrolled = () => page.evaluate('scrollY');
    await at('/audit', /created an app/);
    await page.evaluate('scrollTo(0, 700)');
    await expect.poll(() => page.evaluate('history.state.scrolled[""]')).toBe(700);
    await press(page.getByRole('navigation').getByRole('link', { name: 'Configuration', exact: true }));
    await expect.poll(() => page.evaluate('document.documentElement.scrollHeight')).toBeGreaterThan(1300);
    let read: (() => void) | undefined;
    await page.route(/\/audit\?/, async (route) => {
      await new Promise<void>((resolve) => (read = resolve));
      await route.continue();
    });
    await page.goBack();
    await expect.poll(() => read).toBeDefined();
    await expect.poll(scrolled).toBeLessThan(400);
    read?.();
    await expect.poll(scrolled).toBe(700);
    await page.unroute(/\/audit\?/);
    await page.setViewportSize(DESKTOP);
  });

  test('on paper every row stands, and no navigation', async () => {
    await at('/apps', /edge-0/);
    expect(await rows().count()).toBeLessThan(APPS);
    await page.emulateMedia({ media: 'print' });
    await expect.poll(() => rows().count()).toBe(APPS);
    expect(await page.getByRole('navigation').count()).toBe(0);
    await page.emulateMedia({ media: null });
    await expect.poll(() => rows().count()).toBeLessThan(APPS);
  });

  test('a failed daemon is found in two clicks, with its words; the others are left out', async () => {
    await at('', /Newest events/);
    const failed = page.locator('main').getByRole('link', { name: /^Failed \d+/ });
    const count = Number((await failed.innerText()).replaceAll(/\D/g, ''));
    expect(count).toBeGreaterThan(2);
    await press(failed);
    await expect.poll(query).toBe('?configuration=failed');
    await expect.poll(() => rows().count()).toBe(count);
    for (const row of await rows().all()) expect(await row.innerText()).toMatch(/failed[^]*does not answer/);
    await press(rows().first().getByRole('link'));
    await page.getByText('Open enrollment codes').waitFor();
    await at('/apps?sort=configuration', /edge-0/);
    await expect.poll(() => rows().first().innerText()).toMatch(/failed/);
  });

  test('a filter by what daemons do says that it could not be read, rather than that none fits', async () => {
    const answer = { status: 503, json: { error: { code: 'overloaded', message: 'Too busy.' } } };
    // Without a word of the stream nothing is read again but what is asked for.
    await page.route('**/panel/v1/events*', () => undefined);
    await page.route(/\/rollout\/apps$/, (route) => route.fulfill(answer));
    await at('/apps?configuration=failed', /Too busy/);
    expect(await page.locator('main').innerText()).not.toContain('No app fits');
    await page.unroute(/\/rollout\/apps$/);
    await press(button('Try again'));
    await expect.poll(() => rows().first().innerText()).toMatch(/failed/);
    await page.unroute('**/panel/v1/events*');
  });

  test('the other pages keep their state in the address, too', async () => {
    await at('/audit', /created an app/);
    await page.getByLabel('Action').selectOption('key.');
    await expect.poll(query).toBe('?group=key.');
    await page.reload();
    await expect.poll(() => page.locator('.timeline').innerText()).toMatch(/created an API key/);
    expect(await page.locator('.timeline').innerText()).not.toMatch(/created an app/);
    await at('/reviews?status=dismissed&severity=high', /Review queue/);
    expect(await page.getByLabel('Severity').inputValue()).toBe('high');
    await at('/usage', /Daemon-nights/);
    const month = await page.getByLabel('Month').locator('option').nth(2).getAttribute('value');
    await page.getByLabel('Month').selectOption(month ?? '');
    await expect.poll(query).toBe(`?month=${month}`);
    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Name').waitFor();
  });

  test('a reload right after a change keeps it', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/audit`, /created an app/);
    await page.evaluate(`(() => {
      const choice = document.querySelector('main select');
      choice.value = choice.options[1].value;
      choice.dispatchEvent(new Event('change', { bubbles: true }));
      choice.dispatchEvent(new Event('input', { bubbles: true }));
      location.reload();
    })()`);
    await expect.poll(() => page.evaluate('document.querySelector("main select")?.selectedIndex')).toBe(1);
    expect(new URL(page.url()).search).not.toBe('');
  });

  test('a link that is opened signed out is returned to, and an ended session says so', async () => {
    const login = 'returns@example.com';
    await using known = await operatorVisit(browser, muster, login);
    const visitor = known.page;
    await signOut(visitor);
    await expect.poll(() => visitor.locator('main').innerText()).toContain('You are signed out.');
    const path = `/accounts/${account.accountId}/apps?q=edge-01`;
    await visitor.goto(atPanel(muster, `http://panel${path}`));
    await expect.poll(() => visitor.url()).toMatch(/\/sign-in$/);
    await expect.poll(() => visitor.locator('main').innerText()).toContain('Sign in to see the page');
    await signInByPassword(visitor, login);
    await expect.poll(() => visitor.url()).toContain(path);
    await expect.poll(() => visitor.locator('tbody').innerText()).toMatch(/edge-010/);
    await visitor.context().clearCookies();
    await press(visitor.getByRole('link', { name: 'API keys' }));
    await expect.poll(() => visitor.locator('main').innerText()).toContain('Your session has ended');
    // An address names no page to return to.
    for (const bad of ['//example.com', 'https://example.com', String.raw`/\example.com`]) {
      await visitor.evaluate(
        `sessionStorage.setItem('muster-return', ${JSON.stringify(JSON.stringify({ page: bad }))})`,
      );
      await visitor.reload();
      await signInByPassword(visitor, login);
      await untilSignedIn(visitor);
      expect(new URL(visitor.url()).host).toBe(new URL(atPanel(muster, 'http://panel/')).host);
      await signOut(visitor);
    }
  });

  test('who signs out is told so, also where what was under way is refused before the sign-in page comes', async () => {
    await using leaving = await operatorVisit(browser, muster, 'leaves@example.com');
    const visitor = leaving.page;
    await openPage(visitor, muster, '/me', /this one/);
    // Of the same origin: it speaks in place of the stream, for the page that leaves is told nothing by the test.
    const beside = await visitor.context().newPage();
    await beside.goto(atPanel(muster, 'http://panel/docs'));
    const comes = Promise.withResolvers<void>();
    await visitor.route(/\/sign-in$/, async (route) => {
      await comes.promise;
      await route.continue();
    });
    let refused = 0;
    visitor.on('response', (response) => {
      if (response.url().endsWith('/panel/v1/me') && response.status() === 401) refused += 1;
    });
    const signedOut = visitor.waitForResponse(/\/sign-out$/);
    await pressSignOut(visitor);
    await (await signedOut).finished();
    await beside.evaluate(`new BroadcastChannel('muster-live').postMessage({ kind: 'ended' })`);
    // The user is asked for once more before the session counts as ended.
    await expect.poll(() => refused).toBeGreaterThanOrEqual(2);
    comes.resolve();
    await visitor.getByText('You are signed out.').waitFor();
  });

  test('a page that was left is not returned to once the person has gone on', async () => {
    const left = { why: 'ended', page: `/accounts/${account.accountId}/keys?new=key` };
    await page.evaluate(`sessionStorage.setItem('muster-return', ${JSON.stringify(JSON.stringify(left))})`);
    await at('/usage', /Daemon-nights/);
    await press(page.locator('.sidebar .brand'));
    await expect.poll(() => new URL(page.url()).pathname).not.toMatch(/usage|^\/$/);
    expect(page.url()).not.toContain('keys');
  });

  test('the account is named above the navigation and in the title, and a switcher leads to another one', async () => {
    await at('/configuration', /Endpoint/);
    await expect.poll(() => page.title()).toBe('Configuration · Acme Production · Muster');
    await press(page.getByRole('button', { name: /^Account: Acme Production/ }));
    await dialog().getByRole('combobox').fill(other.accountId);
    await expect.poll(() => dialog().getByRole('option').count()).toBe(1);
    await dialog().getByRole('combobox').press('Enter');
    await expect.poll(() => page.url()).toContain(`/accounts/${other.accountId}`);
    await expect.poll(() => page.title()).not.toContain('Acme');
  });

  test('Ctrl+K leads to an app, a page and an action; `/` to the search, and `?` tells the keys', async () => {
    await at('', /Newest events/);
    const find = async (text: string, option: RegExp): Promise<void> => {
      await page.keyboard.press('Control+k');
      await dialog().getByRole('combobox').fill(text);
      await dialog().getByRole('option', { name: option }).first().waitFor();
      await dialog().getByRole('combobox').press('Enter');
    };
    await find('edge-077', /edge-077/);
    await page.getByRole('heading', { name: 'edge-077' }).waitFor();
    await page.keyboard.press('Control+k');
    await dialog().getByRole('combobox').fill('usage');
    await dialog().getByRole('option', { name: /Usage/ }).waitFor();
    await dialog()
      .getByRole('combobox')
      .dispatchEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true });
    await page.keyboard.press('Escape');
    await page.getByRole('heading', { name: 'edge-077' }).waitFor();
    await find('review', /Review queue/);
    await page.getByRole('heading', { name: 'Review queue' }).waitFor();
    await find('create an api', /Create an API key/);
    await dialog().getByLabel('Name').waitFor();
    await press(dialog().getByRole('button', { name: 'Cancel' }));
    await at('/apps', /edge-0/);
    await page.locator('main').focus();
    await page.keyboard.press('/');
    await page.keyboard.type('edge-03');
    await expect.poll(query).toBe('?q=edge-03');
    // A page without a search of its own has the one over everything.
    await at('/configuration', /Endpoint/);
    await page.locator('main').focus();
    await page.keyboard.press('/');
    await dialog().getByRole('combobox').fill('theme: dark');
    await dialog()
      .getByRole('option', { name: /Theme: Dark/ })
      .waitFor();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('getComputedStyle(document.documentElement).colorScheme')).toBe('dark');
    await find('theme: system', /Theme: System/);
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('system');
    await find('could not apply', /could not apply/);
    await expect.poll(query).toBe('?configuration=failed');
    await page.locator('main').focus();
    await page.keyboard.press('?');
    await expect.poll(() => dialog().innerText()).toMatch(/Ctrl K/);
    await press(dialog().getByRole('button', { name: 'Close' }));
  });

  test('typed work and a secret that is shown once are not left without a question', async () => {
    await at('/apps', /edge-0/);
    await press(page.getByRole('link', { name: 'Configuration', exact: true }));
    await page.getByLabel('Endpoint').fill('https://typed.example.com');
    await press(page.getByRole('link', { name: 'Apps', exact: true }));
    await expect.poll(() => dialog().innerText()).toMatch(/Leave this page/);
    await press(dialog().getByRole('button', { name: 'Stay here' }));
    expect(await page.getByLabel('Endpoint').inputValue()).toBe('https://typed.example.com');
    await pressSignOut(page);
    await expect.poll(() => dialog().innerText()).toMatch(/Leave this page/);
    await press(dialog().getByRole('button', { name: 'Stay here' }));
    await page.goBack();
    await expect.poll(() => dialog().innerText()).toMatch(/Leave this page/);
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Stay here');
    expect(page.url()).toContain('/configuration');
    await press(dialog().getByRole('button', { name: 'Leave', exact: true }));
    await expect.poll(() => page.url()).toContain('/apps');
    await page.getByRole('heading', { name: 'Apps' }).waitFor();

    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Name').fill('kept');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await dialog().locator('.secret code').first().waitFor();
    const asked = page.waitForEvent('dialog');
    // A reload of playwright's own would wait for one that does not come.
    await page.evaluate('setTimeout(() => location.reload())');
    const question = await asked;
    expect(question.type()).toBe('beforeunload');
    await question.dismiss();
    expect(await dialog().locator('.secret code').first().innerText()).toMatch(/^mst_/);
    await leaveSecret(page);
    await page.reload();
    await expect.poll(() => page.locator('main').innerText()).toContain('kept');
  });

  test('the link that skips the navigation, and any other within the page, leaves nothing', async () => {
    await at('', /Newest events/);
    const places = page.getByRole('navigation');
    await press(places.getByRole('link', { name: 'Apps', exact: true }));
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    await press(places.getByRole('link', { name: 'Configuration', exact: true }));
    await page.getByLabel('Endpoint').fill('https://typed.example.com');
    await page.locator('.skip').focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('content');
    await page.evaluate('location.hash = "content"');
    await expect.poll(() => page.evaluate('history.state?.index')).toBe(3);
    expect(await dialog().count()).toBe(0);
    await page.evaluate('history.go(-2)');
    await expect.poll(() => dialog().innerText()).toMatch(/Leave this page/);
    await press(dialog().getByRole('button', { name: 'Leave', exact: true }));
    await page.getByRole('heading', { name: 'Apps' }).waitFor();
    expect(await dialog().count()).toBe(0);
  });

  test('a secret that cannot be copied is selected, and the button says so', async () => {
    await using plain = await operatorVisit(browser, muster, 'no-clipboard@example.com');
    await plain.page.addInitScript('Object.defineProperty(navigator, "clipboard", { value: undefined })');
    await openPage(plain.page, muster, `/accounts/${account.accountId}/keys?new=key`, /Last used/);
    const asked = plain.page.getByRole('dialog');
    await asked.getByLabel('Name').fill('by hand');
    await press(asked.getByRole('button', { name: 'Create' }));
    const secret = await asked.locator('.secret code').first().innerText();
    await press(asked.getByRole('button', { name: 'Copy' }).first());
    await expect.poll(() => asked.innerText()).toContain('Could not copy: the text is selected');
    expect(await plain.page.evaluate('String(getSelection())')).toBe(secret);
    expect(plain.faults).toEqual([]);
  });

  test('a page whose file is gone with another version is loaded anew by itself, once, and says so', async () => {
    await using open = await operatorVisit(browser, muster, 'updated@example.com');
    const { page: tab } = open;
    let isNew = false;
    await tab.route(/\/assets\/keys-[^/]+\.js$/, async (route) => {
      if (isNew) return await route.continue();
      await route.fulfill({ status: 404, body: '' });
    });
    await openPage(tab, muster, `/accounts/${account.accountId}`, /Newest events/);
    await tab.route(/\/$/, async (route) => {
      if (route.request().resourceType() === 'document') return await route.continue();
      isNew = true;
      await route.fulfill({ contentType: 'text/html', body: '<script src="/assets/index-other.js"></script>' });
    });
    await press(tab.getByRole('link', { name: 'API keys' }));
    await expect.poll(() => tab.locator('main').innerText()).toMatch(/Last used/);
    await expect.poll(() => tab.locator('body').innerText()).toContain('Muster was updated');
  });

  test('a search whose file does not come says so, and is asked for again', async () => {
    await using open = await operatorVisit(browser, muster, 'no-finder@example.com');
    const { page: tab } = open;
    await tab.route(/\/assets\/finder-[^/]+\.js$/, (route) => route.abort());
    await openPage(tab, muster, `/accounts/${account.accountId}`, /Newest events/);
    await tab.keyboard.press('Control+k');
    await expect.poll(() => tab.locator('.toasts').innerText()).toContain('could not be loaded');
    await tab.unroute(/\/assets\/finder-[^/]+\.js$/);
    await tab.keyboard.press('Control+k');
    await tab.getByRole('combobox').waitFor();
  });

  test('a viewer sees no dialog that makes something, by any address', async () => {
    if (!world) throw new Error('There is no world.');
    await using viewer = await viewerVisit(world, 'viewer@example.com');
    for (const [path, shows] of [
      ['/keys?new=key', /Last used/],
      ['/apps?new=app', /edge-0/],
      ['/members?new=invitation', /Members/],
    ] as const) {
      await openPage(viewer.page, muster, `/accounts/${account.accountId}${path}`, shows);
      expect(await viewer.page.getByRole('dialog').count()).toBe(0);
    }
    expect(viewer.faults).toEqual([]);
  });
});
