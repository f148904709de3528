import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../support/panel/seeded-panel.ts';
import { call, enroll, OPERATOR_TOKEN, poll, type Muster } from '../../support/service/muster.ts';
import { auditOf } from '../../support/service/daemon.ts';
import { findChromium, NO_CHROMIUM, press, visit, type Visit } from '../browser/chromium.ts';
import {
  HOSTILE,
  atPanel,
  leaveSecret,
  openPage,
  openWorld,
  operatorVisit,
  signInByPassword,
  untilSignedIn,
  type PanelWorld,
} from './panel-browser.ts';

/* What people do on the pages, end to end, against the real service. */

const chromium = findChromium();
const title = chromium === undefined ? `tasks in the panel (skipped: ${NO_CHROMIUM})` : 'tasks in the panel';

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
  const button = (name: string | RegExp) => page.getByRole('button', { name });
  const dialog = () => page.getByRole('dialog');

  test('an app is created with its code shown once, enrolls, and is seen at once; a hostile name is text', async () => {
    await at('/apps', /edge-001/);
    await press(button('Add many daemons'));
    await dialog().getByLabel('Name').fill(HOSTILE);
    await press(dialog().getByRole('button', { name: 'Create' }));
    const code = await dialog().locator('.secret code').innerText();
    expect(code).toMatch(/^mst_code_\w{49}$/);
    expect(page.url()).not.toContain('mst_code');
    await leaveSecret(page);
    const row = page.getByRole('row').filter({ hasText: '<img src=x' });
    await row.waitFor();
    expect(await row.innerText()).toContain('pending');
    const appId = (await row.getByRole('link').getAttribute('href'))?.split('/').at(-1) ?? '';
    await enroll(muster, { appId, enrollCode: code });
    // Nobody reads the page again: the service says that something has changed.
    await expect.poll(() => row.innerText()).toContain('active');
    expect(visited.faults).toEqual([]);
  });

  test('an app whose credential machines share says so', async () => {
    const [appId = ''] = account.appIds;
    await at(`/apps/${appId}`, /Open enrollment codes/);
    const warning = page.getByText(/Several machines take turns/);
    expect(await warning.count()).toBe(0);
    for (const id of ['one', 'two', 'one', 'two']) await poll(muster, account.credential, { 'muster-instance-id': id });
    await expect
      .poll(async () => (await auditOf(muster, account.accountId)).map(({ action }) => action))
      .toContain('credential.shared');
    await at(`/apps/${appId}`, /uses one credential on two machines/);
    expect(await warning.innerText()).toMatch(/last found .*Revoke the app/);
    expect(visited.faults).toEqual([]);
  });

  test('a page that is left open reads what changes, and says that nobody asked for it, until somebody touches it', async () => {
    await using left = await operatorVisit(browser, muster, 'left-open@example.com');
    const { clock, mouse } = left.page;
    await clock.install();
    await openPage(left.page, muster, `/accounts/${account.accountId}/apps`, /edge-001/);
    const nextRead = async (): Promise<string | undefined> => {
      const read = left.page.waitForRequest(/\/accounts\/\w+\/apps/);
      await call(`${muster.api}/v1/apps`, { method: 'POST', token: account.apiKey, body: { name: 'more' } });
      return (await read).headers()['muster-unattended'];
    };
    await clock.fastForward('02:00');
    expect(await nextRead()).toBe('?1');
    await mouse.move(10, 10);
    expect(await nextRead()).toBeUndefined();
  });

  test('an answer that is lost after the create makes no second app', async () => {
    await at('/apps', /edge-001/);
    let lost = 0;
    await page.route('**/panel/v1/accounts/*/apps/batch', async (route) => {
      if (route.request().method() !== 'POST' || lost > 0) return await route.continue();
      lost += 1;
      await route.fetch();
      await route.abort('connectionreset');
    });
    await press(button('Add many daemons'));
    await dialog().getByLabel('Name').fill('only-one');
    await press(dialog().getByRole('button', { name: 'Create' }));
    await dialog().getByRole('alert').waitFor();
    await press(dialog().getByRole('button', { name: 'Try again' }));
    await dialog().getByRole('button', { name: 'Done' }).waitFor();
    await page.unroute('**/panel/v1/accounts/*/apps/batch');
    const { body } = await call(`${muster.api}/v1/apps`, { token: account.apiKey });
    const named = (body['apps'] as { name: string }[]).filter(({ name }) => name === 'only-one');
    expect([lost, named.length]).toEqual([1, 1]);
    await leaveSecret(page);
  });

  test('many apps are revoked after a typed confirmation', async () => {
    await at('/apps', /edge-001/);
    await page.getByRole('searchbox', { name: 'Search' }).fill('edge-00');
    await press(page.getByLabel('Choose all that are shown'));
    await press(button('Revoke').first());
    const confirm = dialog().getByRole('button', { name: 'Revoke' });
    await press(confirm);
    await expect.poll(() => dialog().locator('.fault').innerText()).toMatch(/Type “\d+” to confirm/);
    const count = /Revoke (\d+) apps/.exec(await dialog().innerText())?.[1] ?? '';
    await dialog().getByRole('textbox').fill(count);
    await press(confirm);
    await expect.poll(() => dialog().count()).toBe(0);
    await expect.poll(() => page.locator('tbody').innerText()).not.toContain('active');
  });

  test('the configuration judges while one types, tells what it changes, and is purged until the store forgot', async () => {
    await at('/configuration', /set the configuration/);
    await page.getByLabel('Endpoint').fill('http://otel.example.com');
    await expect.poll(() => page.locator('.fault').first().innerText()).toMatch(/Plain http: is for loopback/);
    await page.getByLabel('Endpoint').fill('https://other.example.com');
    await page.getByLabel('Set another one').check();
    const header = page.getByLabel('The header', { exact: true });
    await header.fill('a=1,b=2');
    await expect.poll(() => page.locator('fieldset .note').innerText()).toMatch(/with 2 headers. One can be stored/);
    await header.fill('Authorization=Basic%20dXNlcg%3D%3D');
    await press(button('Use the decoded value'));
    expect(await header.inputValue()).toBe('Basic dXNlcg==');
    await expect.poll(() => page.locator('fieldset .note').count()).toBe(0);
    await press(button('Review the change'));
    expect(await dialog().innerText()).toContain('https://other.example.com');
    await press(dialog().getByRole('button', { name: 'Save' }));
    await expect.poll(() => dialog().count()).toBe(0);
    const stored = await call(`${muster.api}/v1/otel-config`, { token: account.apiKey });
    expect(stored.body).toMatchObject({ endpoint: 'https://other.example.com', authHeaderSet: true });
    // The header that was replaced is forgotten first: the purge comes right after another compaction.
    await expect
      .poll(async () => (await call(`${muster.ops}/metrics`, { token: OPERATOR_TOKEN })).text)
      .toMatch(/muster_compactions_total\{[^}]*result="done"[^}]*\} [1-9]/);
    await press(button('Purge'));
    await dialog().getByRole('textbox').fill('purge');
    await press(dialog().getByRole('button', { name: 'Purge' }));
    await expect.poll(() => page.locator('main').innerText()).toMatch(/the store has forgotten it/);
  });

  test('a key is shown once, works, and is revoked', async () => {
    await at('/keys', /Last used/);
    await press(button('Create a key'));
    await dialog().getByLabel('Name').fill('ci');
    await press(dialog().getByRole('button', { name: 'Create' }));
    const key = await dialog().locator('.secret code').first().innerText();
    expect((await call(`${muster.api}/v1/apps`, { token: key })).status).toBe(200);
    await leaveSecret(page);
    await press(page.getByRole('button', { name: 'Actions for ci', exact: true }));
    await press(page.getByRole('menuitem', { name: 'Revoke' }));
    expect(await dialog().innerText()).toContain('ci');
    await press(dialog().getByRole('button', { name: 'Revoke' }));
    await expect.poll(async () => (await call(`${muster.api}/v1/apps`, { token: key })).status).toBe(401);
  });

  test('the review queue is worked through by keys alone', async () => {
    await at('/reviews', /secrets-in-prompt/);
    const open = async () => Number(/(\d+) to decide/.exec(await page.locator('main').innerText())?.[1]);
    const before = await open();
    expect(before).toBeGreaterThan(1);
    await page.locator('article').first().focus();
    await page.keyboard.press('c');
    await expect.poll(open).toBe(before - 1);
    await page.keyboard.press('d');
    await expect.poll(open).toBe(before - 2);
  });

  test('the audit tells who did it, and its chain is whole', async () => {
    await at('/audit', /created an API key/);
    await page.getByLabel('Action').selectOption('key.');
    await expect.poll(() => page.locator('.timeline').innerText()).not.toMatch(/created an app/);
    expect(await page.locator('.timeline').innerText()).toMatch(/you created an API key/);
    await press(button('Verify the chain'));
    await expect.poll(() => dialog().innerText()).toMatch(/audit is whole/);
  });

  test('somebody is invited, accepts as a new user, may only look, and is out at once when the membership ends', async () => {
    await at('/members', /Members/);
    await press(button('Invite somebody'));
    await press(dialog().getByRole('button', { name: 'Make the link' }));
    const link = await dialog().locator('.secret code').innerText();
    await leaveSecret(page);
    await using invited = await visit(browser);
    const guest = invited.page;
    await guest.goto(`${muster.panel.replace('127.0.0.1', 'localhost')}${new URL(link).pathname}${new URL(link).hash}`);
    await guest.getByLabel('Your name').fill('Bob');
    await guest.getByLabel('Name to sign in with').fill('bob@example.com');
    await guest.getByLabel('Password').fill('another four plain words');
    await press(guest.getByRole('button', { name: 'Accept' }));
    await guest.getByRole('heading', { name: 'Overview' }).waitFor();
    await guest.goto(`${new URL(guest.url()).origin}/accounts/${account.accountId}/apps`);
    await guest.getByRole('heading', { name: 'Apps' }).waitFor();
    expect(await guest.getByRole('button', { name: 'Add many daemons' }).count()).toBe(0);
    const row = page.getByRole('row').filter({ hasText: 'Bob' });
    await press(row.getByRole('button', { name: 'Remove' }));
    await press(dialog().getByRole('button', { name: 'Remove' }));
    await expect.poll(() => guest.locator('main').innerText()).toMatch(/nothing here|member of no account/i);
    expect(invited.faults).toEqual([]);
  });

  test('429, 502 and an outage are shown as what they are, with the request id', async () => {
    const answer = (status: number, code: string, headers: Record<string, string> = {}) =>
      page.route('**/panel/v1/accounts/*/api-keys', async (route) => {
        await route.fulfill({
          status,
          headers: { 'content-type': 'application/json', 'x-request-id': 'seen-here', ...headers },
          body: JSON.stringify({ error: { code, message: `The service says ${code}.` } }),
        });
      });
    // The stream of events stays without an answer: its hints would have the page read again before somebody asks for
    // it.
    await page.route('**/panel/v1/events*', () => undefined);
    for (const [status, code, headers] of [
      [429, 'rate_limited', { 'retry-after': '7' }],
      [502, 'upstream_unavailable', {}],
    ] as const) {
      await answer(status, code, headers);
      await page.goto(`${new URL(page.url()).origin}/accounts/${account.accountId}/keys`);
      await expect.poll(() => page.locator('main').innerText()).toContain(`The service says ${code}.`);
      expect(await page.locator('main').innerText()).toContain('seen-here');
      await page.unroute('**/panel/v1/accounts/*/api-keys');
      await press(button('Try again'));
      await expect.poll(() => page.locator('main').innerText()).toMatch(/Last used/);
    }
    await page.unroute('**/panel/v1/events*');
  });

  test('a sign-in that must wait for a turn goes on by itself, and lets the person in', async () => {
    const login = 'waits@example.com';
    await using known = await operatorVisit(browser, muster, login);
    expect(known.faults).toEqual([]);
    const { port } = new URL(muster.panel);
    const origin = `http://127.0.0.1:${port}`;
    for (let i = 0; i < 6; i += 1) {
      await call(`${origin}/panel/v1/sign-in/password`, {
        method: 'POST',
        body: { login, password: 'not the password at all' },
        headers: { origin, 'content-type': 'application/json' },
      });
    }
    await using stranger = await visit(browser);
    await stranger.page.goto(atPanel(muster, 'http://panel/sign-in'));
    await signInByPassword(stranger.page, login);
    await expect.poll(() => stranger.page.locator('main').innerText()).toMatch(/it goes on in about \d+ s/);
    await untilSignedIn(stranger.page);
  });

  test('an operator creates an account and sees the service', async () => {
    await openPage(page, muster, '/operator/accounts', /Acme Production/);
    await press(button('Create an account'));
    await dialog().getByLabel('Name').fill('Second Ltd');
    await press(dialog().getByRole('button', { name: 'Create an account' }));
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await openPage(page, muster, '/operator/service', /No night is metered yet/);
    await openPage(page, muster, '/operator/users', /ann@example.com/);
  });
});
