import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { rewrite, type PanelMuster } from '../../support/panel/panel-users.ts';
import { signing, type Signing } from '../../support/panel/signing.ts';
import { Visitor } from '../../support/panel/visitor.ts';
import { Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, visit, type Visit } from '../browser/chromium.ts';
import { openPage, PASSWORD, signInByLink, signInByPassword, signOut, untilSignedIn } from './panel-browser.ts';
import { VirtualAuthenticator } from '../browser/virtual-authenticator.ts';

/* The pages ask for a proof of the person where the service wants one, and go on with what was begun. */

const chromium = findChromium();
const title = chromium === undefined ? `proofs in a browser (skipped: ${NO_CHROMIUM})` : 'proofs in a browser';

const shown = (page: Page): Promise<string> => page.locator('main').innerText();
const asked = (page: Page) => page.getByRole('dialog').filter({ hasText: 'Prove that it is you' });

/** Makes every session one that was proved too long ago. */
async function makeStale({ store }: PanelMuster): Promise<void> {
  const { entries } = await store.list({ prefix: 'd/s/', limit: 100 });
  const proof = { at: Date.now() - LIMITS.freshProofMs - 1000, by: 'password' };
  for (const { key } of entries) await rewrite({ store }, key, (record) => ({ ...record, proof }));
}

const SESSION_ENDED = { error: { code: 'invalid_session', message: 'You are not signed in.' } };

/** A person on the own page, whose timers the test moves. */
async function withOwnClock(visited: Visit, muster: Muster): Promise<Page> {
  const { page } = visited;
  await page.clock.install();
  await signInByLink(visited, muster, 'ann@example.com', 'none');
  await openPage(page, muster, '/me', /You have no passkey/);
  return page;
}

describe.skipIf(chromium === undefined)(title, () => {
  let browser: Browser;
  beforeAll(async () => {
    await buildPages();
    browser = await openChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
  });

  test('by the password, and later by the passkey, and what was begun is done; cancelled, nothing is', async () => {
    const clock = new FakeClock(Date.now());
    await using muster = await Muster.start({ clock });
    await using ann = await visit(browser);
    const { page } = ann;
    await VirtualAuthenticator.addTo(page);
    await signInByLink(ann, muster, 'ann@example.com');
    clock.advance(LIMITS.freshProofMs + 1);
    await openPage(page, muster, '/me', /You have no passkey/);
    await press(page.getByRole('button', { name: 'Add a passkey' }));
    await press(asked(page).getByRole('button', { name: 'Cancel' }));
    await page.getByRole('alert').waitFor();
    expect(await shown(page)).toContain('Prove who you are first');
    expect(await shown(page)).toContain('You have no passkey');
    await press(page.getByRole('button', { name: 'Add a passkey' }));
    await asked(page).getByLabel('Your password').fill('not the password');
    await press(asked(page).getByRole('button', { name: 'Confirm' }));
    await asked(page).getByRole('alert').waitFor();
    await asked(page).getByLabel('Your password').fill(PASSWORD);
    await press(asked(page).getByRole('button', { name: 'Confirm' }));
    await page.getByRole('button', { name: 'Remove This device' }).waitFor();
    expect(await asked(page).count()).toBe(0);
    clock.advance(LIMITS.freshProofMs + 1);
    // A dialog in front of a dialog.
    await press(page.getByRole('button', { name: 'Remove This device' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Remove' }));
    expect(await asked(page).getByLabel('Your password').count()).toBe(0);
    await press(asked(page).getByRole('button', { name: 'Use a passkey' }));
    await expect.poll(() => shown(page)).toContain('You have no passkey.');
    clock.advance(LIMITS.freshProofMs + 1);
    await openPage(page, muster, '/operator/service', /Backup/);
    const saved = page.waitForEvent('download');
    await press(page.getByRole('button', { name: 'Download a backup' }));
    await asked(page).getByLabel('Your password').fill(PASSWORD);
    await press(asked(page).getByRole('button', { name: 'Confirm' }));
    expect((await saved).suggestedFilename()).toBe('muster.backup');
    expect(ann.faults).toEqual([]);
  });

  test('a new password is proved by the one so far, without a dialog', async () => {
    const clock = new FakeClock(Date.now());
    await using muster = await Muster.start({ clock });
    await using ann = await visit(browser);
    const { page } = ann;
    await signInByLink(ann, muster, 'ann@example.com', 'none');
    clock.advance(LIMITS.freshProofMs + 1);
    await openPage(page, muster, '/me', /You have no passkey/);
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByLabel('New password').fill('a row of brass lanterns');
    await press(page.getByRole('button', { name: 'Set the password' }));
    await page.getByText('The new password works.').waitFor();
    expect(await asked(page).count()).toBe(0);
  });

  test('a page that is refused while its person changes the password waits for the new session', async () => {
    await using muster = await Muster.start();
    await using ann = await visit(browser);
    const page = await withOwnClock(ann, muster);
    const [sent, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isChanged = false;
    const refused = page.waitForResponse((response) => response.status() === 401);
    await page.route('**/me/password', async (route) => {
      sent.resolve();
      await answers.promise;
      const response = await route.fetch();
      isChanged = true;
      await route.fulfill({ response });
    });
    // As the service answers once the former session has ended, and the answer with the new one is on its way.
    await page.route(/\/panel\/v1\/me$/, (route) =>
      isChanged ? route.continue() : route.fulfill({ status: 401, json: SESSION_ENDED }),
    );
    await page.getByLabel('Current password').fill(PASSWORD);
    await page.getByLabel('New password').fill('a row of brass lanterns');
    await press(page.getByRole('button', { name: 'Set the password' }));
    await sent.promise;
    await page.evaluate(`new BroadcastChannel('muster-live').postMessage({ kind: 'ended' })`);
    await (await refused).finished();
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
    // The time that another tab is given is over; the change is not.
    await page.clock.fastForward(5000);
    answers.resolve();
    await page.getByText('The new password works.').waitFor();
    expect(new URL(page.url()).pathname).toBe('/me');
  });

  test('a page that is refused while its session is renewed by another read waits for the new one', async () => {
    await using muster = await Muster.start();
    await using ann = await visit(browser);
    const page = await withOwnClock(ann, muster);
    const [sent, answers] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isRenewed = false;
    // As the service answers once the former session has ended, and the answer with the new one is on its way.
    const refused = page.waitForResponse((response) => response.status() === 401);
    const refusing = (route: Route) =>
      isRenewed ? route.continue() : route.fulfill({ status: 401, json: SESSION_ENDED });
    await page.route('**/panel/v1/me/sessions', refusing);
    await page.route(/\/panel\/v1\/me$/, async (route) => {
      await page.unroute(/\/panel\/v1\/me$/);
      await page.route(/\/panel\/v1\/me$/, refusing);
      sent.resolve();
      await answers.promise;
      isRenewed = true;
      await route.continue();
    });
    const say = (message: object) =>
      page.evaluate(`new BroadcastChannel('muster-live').postMessage(${JSON.stringify(message)})`);
    await say({ kind: 'heard', event: { topic: 'me' } });
    await sent.promise;
    await say({ kind: 'heard', event: {} });
    await (await refused).finished();
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(resolve))');
    await page.clock.fastForward(5000);
    let isRead = false;
    page.on('response', (response) => {
      if (response.url().endsWith('/me/sessions') && response.status() < 400) isRead = true;
    });
    answers.resolve();
    await page.clock.resume();
    const isReadAgain = async (): Promise<boolean> => {
      await say({ kind: 'heard', event: {} });
      return isRead;
    };
    await expect.poll(isReadAgain).toBe(true);
    expect(new URL(page.url()).pathname).toBe('/me');
  });

  test('whoever lacks the second factor sees its set-up alone, and all pages after it', async () => {
    await using muster = await Muster.start({ env: { MUSTER_PANEL_SECOND_FACTOR: 'operators' } });
    await using otto = await visit(browser);
    const { page } = otto;
    await VirtualAuthenticator.addTo(page);
    await signInByLink(otto, muster, 'otto@example.com');
    await openPage(page, muster, '/operator/accounts', /This installation asks for a second factor/);
    await press(page.getByRole('button', { name: 'Add a passkey' }));
    await page.getByRole('heading', { name: 'Accounts', exact: true }).waitFor();
    expect(otto.faults).toEqual([]);
  });

  test('what was added is shown until it is put away in this browser, whoever signs in elsewhere', async () => {
    await using muster = await Muster.start();
    await using ann = await visit(browser);
    const { page } = ann;
    const login = 'ann@example.com';
    await signInByLink(ann, muster, login, 'none');
    const banner = page.locator('.banner', { hasText: 'New for your sign-in' });
    await banner.waitFor();
    await press(banner.getByRole('button', { name: 'That was me' }));
    await openPage(page, muster, '/me', /Added lately/);
    expect(await banner.count()).toBe(0);
    const body = { login, password: PASSWORD };
    const thieves = [new Visitor(muster), new Visitor(muster)];
    for (const thief of thieves) expect((await thief.post('/sign-in/password', body)).status).toBe(200);
    await openPage(page, muster, '/me', /Added lately/);
    // Both are alike, but for their time.
    expect(await banner.locator('li').allInnerTexts()).toEqual([expect.stringContaining('2 times, last')]);
    // Signed out and in again here, it is shown as before.
    await signOut(page);
    await signInByPassword(page, login);
    await banner.waitFor();
    expect(await banner.locator('li').count()).toBe(1);
    expect(ann.faults).toEqual([]);
  });

  describe('at the provider', () => {
    let it: Signing;
    beforeAll(async () => {
      it = await signing();
      await it.provider.set({ user: 'ann', groups: ['staff'], asks: true });
    });
    afterAll(async () => {
      await it?.[Symbol.asyncDispose]();
    });

    test('in a window of its own, which closes, and the request goes on', async () => {
      await using ann = await visit(browser);
      const { page } = ann;
      await page.goto(`${it.origin.origin}/sign-in`);
      await press(page.getByRole('link', { name: 'Sign in with single sign-on' }));
      await press(page.getByRole('button', { name: 'Sign in as ann' }));
      await untilSignedIn(page);
      await makeStale(it.panel);
      await openPage(page, it.panel.muster, '/me', /You have no passkey/);
      await press(page.getByRole('button', { name: 'Unlink' }));
      await press(page.getByRole('dialog').getByRole('button', { name: 'Unlink' }));
      const opened = page.waitForEvent('popup');
      await press(asked(page).getByRole('button', { name: 'Sign in once more with single sign-on' }));
      const popup = await opened;
      await press(popup.getByRole('button', { name: 'Sign in as ann' }));
      // The proof is there, and the service says what else is in the way.
      await page.getByText('This is the last way in which you can sign in').waitFor();
      await expect.poll(() => popup.isClosed()).toBe(true);
      expect(ann.faults).toEqual([]);
    });
  });
});
