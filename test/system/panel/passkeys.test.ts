import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { Muster } from '../../support/service/muster.ts';
import { userLink } from '../../support/panel/seeded-panel.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, visit, type Visit } from '../browser/chromium.ts';
import { atPanel, openPage, signInByLink, signInByPassword, signOut, untilSignedIn } from './panel-browser.ts';
import { VirtualAuthenticator } from '../browser/virtual-authenticator.ts';

/*
 * Passkeys by Chromium's own WebAuthn, through the pages. One user goes through the tests, since sign-ins are counted.
 */

const chromium = findChromium();
const title = chromium === undefined ? `passkeys in a browser (skipped: ${NO_CHROMIUM})` : 'passkeys in a browser';

const LOGIN = 'ann@example.com';

const button = (page: Page, name: string): Locator => page.getByRole('button', { name, exact: true });
const shown = (page: Page): Promise<string> => page.locator('main').innerText();
const signInByPasskey = (page: Page): Promise<void> => press(button(page, 'Sign in with a passkey'));

/** What went wrong, as the page says it. */
async function problem(page: Page): Promise<string> {
  await page.getByRole('alert').waitFor();
  return await page.getByRole('alert').innerText();
}

/** Whether the service knows the browser as somebody's. */
const isSignedIn = (page: Page): Promise<boolean> =>
  page.evaluate<boolean>("fetch('/panel/v1/me').then(({ ok }) => ok)");

/** Adds a passkey on the page of the user. */
async function addPasskey(page: Page, name: string): Promise<void> {
  await page.getByLabel('A name for the new one').fill(name);
  await press(button(page, 'Add a passkey'));
}

describe.skipIf(chromium === undefined)(title, () => {
  let muster: Muster;
  let browser: Browser;
  let ann: Visit;
  let page: Page;
  let authenticator: VirtualAuthenticator;
  beforeAll(async () => {
    await buildPages();
    muster = await Muster.start();
    browser = await openChromium(chromium ?? '');
    ann = await visit(browser);
    ({ page } = ann);
    authenticator = await VirtualAuthenticator.addTo(page);
    await signInByLink(ann, muster, LOGIN, 'none');
  });
  afterAll(async () => {
    await ann?.[Symbol.asyncDispose]();
    await browser?.close();
    await muster?.[Symbol.asyncDispose]();
  });

  /** How the session of the browser began, as the page of the user tells it. */
  async function methodOfSession(): Promise<string> {
    await openPage(page, muster, '/me', /this one/);
    return await page.getByRole('row').filter({ hasText: 'this one' }).getByRole('cell').first().innerText();
  }

  test('a passkey that is added on the own page signs in by itself, without a password', async () => {
    await openPage(page, muster, '/me', /You have no passkey/);
    await addPasskey(page, 'Laptop');
    await button(page, 'Remove Laptop').waitFor();
    expect(await authenticator.passkeys()).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }]);
    await signOut(page);
    const before = ann.requested.length;
    await signInByPasskey(page);
    await untilSignedIn(page);
    expect(ann.requested.slice(before).filter((url) => url.endsWith('/sign-in/password'))).toEqual([]);
    expect(await methodOfSession()).toBe('passkey');
  });

  test('a device that holds a passkey of the user makes no second one, and the page says why', async () => {
    await openPage(page, muster, '/me', /Laptop/);
    await addPasskey(page, 'Laptop again');
    expect(await problem(page)).toContain('holds one of your passkeys already');
    expect(await authenticator.passkeys()).toHaveLength(1);
  });

  test('after the password the passkey is asked for as well; whoever fails there is not in, and may try again', async () => {
    await signOut(page);
    await authenticator.setUserVerified(false);
    await signInByPassword(page, LOGIN);
    expect(await problem(page)).toContain('could not use the passkey');
    expect(await shown(page)).toContain('You have a passkey: it is asked for as well.');
    expect(await isSignedIn(page)).toBe(false);
    await authenticator.setUserVerified(true);
    await press(button(page, 'Ask for the passkey again'));
    await untilSignedIn(page);
    expect(await methodOfSession()).toBe('passkey');
  });

  test('the password and the passkey, one after the other, let in', async () => {
    await signOut(page);
    await signInByPassword(page, LOGIN);
    await untilSignedIn(page);
    expect(await methodOfSession()).toBe('passkey');
  });

  test('the password in a browser without the passkey does not let in, and the page says so', async () => {
    await using elsewhere = await visit(browser);
    const other = elsewhere.page;
    await VirtualAuthenticator.addTo(other);
    await other.goto(atPanel(muster, 'http://panel/sign-in'));
    await signInByPassword(other, LOGIN);
    expect(await problem(other)).toContain('this browser has none for here');
    expect(await isSignedIn(other)).toBe(false);
    await other.goto(atPanel(muster, 'http://panel/me'));
    await other.getByRole('heading', { name: 'Sign in' }).waitFor();
    await signInByPasskey(other);
    expect(await problem(other)).toContain('this browser has none for here');
    expect(await isSignedIn(other)).toBe(false);
    expect(elsewhere.faults).toEqual([]);
  });

  test('at an address that is a number the page says that passkeys need a name', async () => {
    await using elsewhere = await visit(browser);
    const other = elsewhere.page;
    await VirtualAuthenticator.addTo(other);
    await other.goto(`${muster.panel}/sign-in`);
    await signInByPasskey(other);
    expect(await problem(other)).toContain('such as localhost');
  });

  test('once the passkey is removed it lets nobody in, and the password alone does', async () => {
    await openPage(page, muster, '/me', /Laptop/);
    await press(button(page, 'Remove Laptop'));
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toContain('from now on the password alone does');
    await press(dialog.getByRole('button', { name: 'Remove' }));
    await expect.poll(() => shown(page)).toContain('You have no passkey.');
    await signOut(page);
    expect(await authenticator.passkeys()).toHaveLength(1);
    await signInByPasskey(page);
    expect(await problem(page)).toContain('The passkey was not accepted: it is not known here');
    expect(await isSignedIn(page)).toBe(false);
    await signInByPassword(page, LOGIN);
    await untilSignedIn(page);
    expect(await methodOfSession()).toBe('password');
    expect(ann.faults).toEqual([]);
  });
});

describe.skipIf(chromium === undefined)(`${title}, where nobody has a password`, () => {
  test('the first link asks for none; the passkey that is added then is the way in, and cannot be removed', async () => {
    await buildPages();
    await using muster = await Muster.start({ env: { MUSTER_PANEL_PASSWORDS: 'off' } });
    await using browser = await openChromium(chromium ?? '');
    await using bob = await visit(browser);
    const { page } = bob;
    await VirtualAuthenticator.addTo(page);
    await page.goto(atPanel(muster, await userLink(muster, 'bob@example.com', 'none')));
    await button(page, 'Continue').waitFor();
    expect(await page.getByLabel('Password').count()).toBe(0);
    await press(button(page, 'Continue'));
    await untilSignedIn(page);
    await openPage(page, muster, '/me', /You have no passkey/);
    expect(await shown(page)).not.toContain('New password');
    await addPasskey(page, 'Phone');
    await button(page, 'Remove Phone').waitFor();
    await signOut(page);
    await button(page, 'Sign in with a passkey').waitFor();
    expect(await page.getByLabel('Password').count()).toBe(0);
    await signInByPasskey(page);
    await untilSignedIn(page);
    await openPage(page, muster, '/me', /Phone/);
    await press(button(page, 'Remove Phone'));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Remove' }));
    expect(await problem(page)).toContain('the last way in which you can sign in');
    expect(bob.faults).toEqual([]);
  });
});
