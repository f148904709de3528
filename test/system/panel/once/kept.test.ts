import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* Secrets that are shown once: a dialog that shows them asks before they are lost. */

const chromium = findChromium();
const title = chromium === undefined ? `secrets shown once (skipped: ${NO_CHROMIUM})` : 'secrets shown once';

interface Shown {
  readonly path: string;
  readonly shows: RegExp;
  readonly opens?: string;
  readonly fills?: Readonly<Record<string, string>>;
  readonly makes: string;
}

const MANY: Shown = {
  path: '/apps?new=app',
  shows: /edge-001/,
  fills: { Name: 'many {n}', 'How many': '3' },
  makes: 'Create',
};
const KEY: Shown = { path: '/keys?new=key', shows: /Last used/, fills: { Name: 'ci' }, makes: 'Create' };

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3, { permissions: ['clipboard-read', 'clipboard-write'] });
    ({ page } = world);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  const dialog = () => page.getByRole('dialog').first();
  const button = (name: string | RegExp) => dialog().getByRole('button', { name });
  const question = () => page.getByRole('dialog', { name: 'Close without copying?' });
  const secret = () => dialog().locator('.secret code').first();
  const closed = () => expect.poll(() => page.getByRole('dialog').count()).toBe(0);

  async function show({ path, shows, opens, fills = {}, makes }: Shown): Promise<string> {
    const base = path.startsWith('/operator') ? '' : `/accounts/${world.account.accountId}`;
    await openPage(page, world.muster, base + path, shows);
    if (opens !== undefined) await press(page.getByRole('button', { name: opens }));
    for (const [label, text] of Object.entries(fills)) await dialog().getByLabel(label, { exact: true }).fill(text);
    await press(button(makes));
    return await secret().innerText();
  }

  test.each<[string, Shown]>([
    ['the codes of many new apps', MANY],
    ['an API key', KEY],
    ['an invitation', { path: '/members?new=invitation', shows: /Members/, makes: 'Make the link' }],
    [
      'the link of a new user',
      {
        path: '/operator/users',
        shows: /ann@example\.com/,
        opens: 'Create a user',
        fills: { Name: 'New', 'Name to sign in with': 'new@example.com' },
        makes: 'Create',
      },
    ],
  ])('%s: Done and Escape ask as long as nothing is copied', async (_what, shown) => {
    const said = await show(shown);
    for (const leave of [() => press(button('Done')), () => page.keyboard.press('Escape')]) {
      await leave();
      await press(question().getByRole('button', { name: 'Go back' }));
      await expect.poll(() => question().count()).toBe(0);
      expect(await secret().innerText()).toBe(said);
    }
    await press(button('Done'));
    await press(question().getByRole('button', { name: 'Close anyway' }));
    await closed();
  });

  test('codes issued for apps that there are ask, too', async () => {
    await openPage(page, world.muster, `/accounts/${world.account.accountId}/apps`, /edge-001/);
    await press(page.getByLabel('Choose all that are shown'));
    await press(page.getByRole('button', { name: 'Issue codes' }));
    await press(button('Issue codes'));
    await secret().waitFor();
    await press(button('Done'));
    await press(question().getByRole('button', { name: 'Close anyway' }));
    await closed();
  });

  test('a key that is copied is left without a question, as it is or within its header', async () => {
    const key = await show(KEY);
    await press(dialog().locator('.secret').filter({ hasText: 'Header' }).getByRole('button', { name: 'Copy' }));
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toContain(key);
    await button(/^Copied/).waitFor();
    await press(button('Done'));
    await closed();
  });

  test('of many codes one that is copied is not all of them; the file has all', async () => {
    await show(MANY);
    await press(dialog().locator('.secret').first().getByRole('button', { name: /^Copy/ }));
    await button(/^Copied/).waitFor();
    await press(button('Done'));
    await press(question().getByRole('button', { name: 'Go back' }));
    const asked = page.waitForEvent('dialog');
    // A reload of playwright's own would wait for one that does not come.
    await page.evaluate('setTimeout(() => location.reload())');
    await (await asked).dismiss();
    const download = page.waitForEvent('download');
    await press(button('Download all as CSV'));
    await download;
    await page.keyboard.press('Escape');
    await closed();
    expect(world.visited.faults).toEqual([]);
  });

  test('many codes that are copied one by one are all copied', async () => {
    await show(MANY);
    for (const row of await dialog().locator('.secret').all()) {
      await press(row.getByRole('button', { name: /^Copy/ }));
      await row.getByRole('button', { name: /^Copied/ }).waitFor();
    }
    await press(button('Done'));
    await closed();
  });
});
