import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { signing, type Signing } from '../../support/panel/signing.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, visit } from '../browser/chromium.ts';
import { openPage, signInByLink, signInByPassword, signOut, untilSignedIn } from './panel-browser.ts';

/* An identity at a real provider, which is a process of its own with a page of its own. */

const chromium = findChromium();
const title =
  chromium === undefined ? `the provider in a browser (skipped: ${NO_CHROMIUM})` : 'the provider in a browser';

const shown = (page: Page): Promise<string> => page.locator('main').innerText();

describe.skipIf(chromium === undefined)(title, () => {
  let it: Signing;
  let browser: Browser;
  beforeAll(async () => {
    await buildPages();
    it = await signing();
    await it.provider.set({ user: 'ann', groups: ['staff'], asks: true });
    browser = await openChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await it?.[Symbol.asyncDispose]();
  });

  /** Goes to the provider from the page of the user, and signs in there. */
  async function link(page: Page): Promise<void> {
    await press(page.getByRole('button', { name: 'Link my identity' }));
    await press(page.getByRole('button', { name: 'Sign in as ann' }));
  }

  test('an identity is linked on the own page, signs the same user in, and belongs to nobody else', async () => {
    const { muster } = it.panel;
    await using ann = await visit(browser);
    const { page } = ann;
    await signInByLink(ann, muster, 'ann@example.com', 'none');
    await signOut(page);
    await signInByPassword(page, 'ann@example.com');
    await untilSignedIn(page);
    await openPage(page, muster, '/me', /No identity at single sign-on is linked/);
    await link(page);
    await page.getByText('Your identity at single sign-on is linked').waitFor();
    expect(page.url()).toBe(`${it.origin.origin}/me`);
    await signOut(page);
    await press(page.getByRole('link', { name: 'Sign in with single sign-on' }));
    await untilSignedIn(page);
    await openPage(page, muster, '/me', /ann@example\.com/);
    const session = page.getByRole('row').filter({ hasText: 'this one' });
    expect(await session.getByRole('cell').first().innerText()).toBe('provider');

    await using bob = await visit(browser);
    await signInByLink(bob, muster, 'bob@example.com', 'none');
    await openPage(bob.page, muster, '/me', /No identity at single sign-on is linked/);
    await link(bob.page);
    await bob.page.getByRole('alert').waitFor();
    expect(await shown(bob.page)).toContain('This identity belongs to another user here.');
    // The key, for the link is broken into two lines, and its middle is beside both of them.
    await bob.page.getByRole('link', { name: 'Back to your sign-in' }).press('Enter');
    await expect.poll(() => shown(bob.page)).toContain('No identity at single sign-on is linked.');
    expect([ann.faults, bob.faults]).toEqual([[], []]);
  });

  test('an identity that is unlinked signs its former user in no more', async () => {
    const { muster } = it.panel;
    await it.provider.set({ user: 'eve' });
    await using eve = await visit(browser);
    const { page } = eve;
    await signInByLink(eve, muster, 'eve@example.com', 'none');
    await openPage(page, muster, '/me', /No identity at single sign-on is linked/);
    await press(page.getByRole('button', { name: 'Link my identity' }));
    await press(page.getByRole('button', { name: 'Sign in as eve' }));
    await press(page.getByRole('button', { name: 'Unlink' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'Unlink' }));
    await expect.poll(() => shown(page)).toContain('No identity at single sign-on is linked.');
    await signOut(page);
    await press(page.getByRole('link', { name: 'Sign in with single sign-on' }));
    await untilSignedIn(page);
    await openPage(page, muster, '/me', /Signed in as eve of the provider/);
    expect(await shown(page)).not.toContain('eve@example.com');
  });
});
