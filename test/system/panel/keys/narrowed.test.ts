import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';

/* H23 on the page of API keys: keys that may do less, and keys that are narrowed. */

const chromium = findChromium();
const title = chromium === undefined ? `keys of less access (skipped: ${NO_CHROMIUM})` : 'keys of less access';

/** Names that somebody may choose: markup, and marks that pile up. */
const HOSTILE = `<img src=x onerror=alert(1)>${'a\u0301'.repeat(20)}`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 2, { viewport: { width: 1440, height: 900 } });
    ({ muster, account, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const at = (path: string, shows: RegExp) => openPage(page, muster, `/accounts/${account.accountId}${path}`, shows);
  const dialog = () => page.getByRole('dialog').last();
  const rowOf = (name: string) => page.getByRole('row').filter({ hasText: name });
  const narrow = async (row: Locator): Promise<void> => {
    await press(row.getByRole('button', { name: /^Actions for / }));
    await press(row.getByRole('menuitem', { name: 'Narrow' }));
    await dialog().getByRole('heading', { name: 'Narrow this API key' }).waitFor();
  };
  const send = (name: 'Create' | 'Narrow') => press(dialog().getByRole('button', { name, exact: true }));
  const statuses = async (token: string): Promise<readonly number[]> => {
    const [read, create] = [
      await call(`${muster.api}/v1/apps`, { token }),
      await call(`${muster.api}/v1/apps`, { token, method: 'POST', body: {} }),
    ];
    return [read.status, create.status];
  };

  /** Creates a key on the page: its secret. */
  async function created(name: string, { access, ranges }: { access?: string; ranges?: string } = {}): Promise<string> {
    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Name').fill(name);
    if (access !== undefined) await dialog().getByLabel('Access').selectOption(access);
    if (ranges !== undefined) await dialog().getByLabel('Addresses').fill(ranges);
    await send('Create');
    const secret = await dialog().locator('.secret code').first().innerText();
    await leaveSecret(page);
    return secret;
  }

  test('a key is created that only reads, and one that only enrolls; the list says so', async () => {
    const full = await created('whole');
    expect(await page.getByRole('columnheader', { name: 'Access' }).count()).toBe(0);
    const [reads, enrolls] = [
      await created('dashboard', { access: 'Read only' }),
      await created('installer', { access: 'Enroll only' }),
    ];
    expect([await statuses(full), await statuses(reads), await statuses(enrolls)]).toEqual([
      [200, 201],
      [200, 403],
      [403, 201],
    ]);
    expect(await rowOf('whole').innerText()).toContain('Full');
    expect(await rowOf('dashboard').innerText()).toContain('Read only');
    expect(await rowOf('installer').innerText()).toContain('Enroll only');
    // Nothing is bound to addresses yet.
    expect(await page.getByRole('columnheader', { name: 'Addresses' }).count()).toBe(0);
    await press(page.getByRole('button', { name: 'Access' }));
    await expect.poll(() => page.url()).toContain('?sort=access');
    const order = (await page.getByRole('rowheader').allInnerTexts()).filter((name) => /whole|dash|inst/.test(name));
    expect(order).toEqual(['whole', 'dashboard', 'installer']);
  });

  test('a key is bound to addresses; a range that is none is named before anything is sent', async () => {
    await at('/keys?new=key', /Last used/);
    const field = dialog().getByLabel('Addresses');
    await field.fill('192.0.2.7/24\n::1');
    await send('Create');
    await expect.poll(() => dialog().innerText()).toContain('192.0.2.7/24 must have no bits set beyond its prefix');
    await field.fill('here');
    await expect.poll(() => dialog().innerText()).toContain('here must be an address of IPv4 or IPv6');
    await press(dialog().getByRole('button', { name: 'Cancel' }));
    const elsewhere = await created('elsewhere', { ranges: '192.0.2.0/24, 2001:db8::/32' });
    const here = await created('here', { ranges: '127.0.0.0/8\n::1' });
    expect([await statuses(elsewhere), await statuses(here)]).toEqual([
      [403, 403],
      [200, 201],
    ]);
    expect(await rowOf('elsewhere').innerText()).toContain('192.0.2.0/24, 2001:db8::/32');
    expect(await page.getByRole('columnheader', { name: 'Addresses' }).count()).toBe(1);
    const twenty = Array.from({ length: 21 }, (_none, n) => `10.${n}.0.0/16`).join(' ');
    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Addresses').fill(twenty);
    await send('Create');
    await dialog().getByRole('alert').waitFor();
    expect(await dialog().locator('.secret').count()).toBe(0);
  });

  test('a key is narrowed at once, and never widened', async () => {
    const secret = await created(HOSTILE);
    const row = rowOf('<img src=x');
    await narrow(row);
    expect(await axe(page)).toEqual([]);
    await send('Narrow');
    await expect.poll(() => dialog().innerText()).toContain('Nothing is changed yet.');
    await dialog().getByLabel('Access').selectOption('Read only');
    await dialog().getByLabel('Addresses').fill('127.0.0.0/8 ::1');
    await send('Narrow');
    await expect.poll(() => row.innerText()).toMatch(/Read only[^]*127\.0\.0\.0\/8, ::1/);
    expect(await statuses(secret)).toEqual([200, 403]);
    await narrow(row);
    expect(await dialog().getByLabel('Access').locator('option').allInnerTexts()).toEqual(['Read only']);
    const field = dialog().getByLabel('Addresses');
    for (const wider of ['', '127.0.0.0/8\n10.0.0.0/8']) {
      await field.fill(wider);
      await send('Narrow');
      await expect.poll(() => dialog().innerText()).toContain('These addresses are not all within the current ones.');
    }
    await field.fill('192.0.2.0/24');
    await send('Narrow');
    await expect.poll(() => dialog().innerText()).toContain('These addresses are not all within the current ones.');
    await field.fill('127.0.0.2');
    await send('Narrow');
    await expect.poll(() => row.innerText()).toContain('127.0.0.2');
    expect(await statuses(secret)).toEqual([403, 403]);
    await at('/audit?group=key.', /changed an API key/);
    expect(await page.locator('.timeline').innerText()).toMatch(/read only[^]*only from 127\.0\.0\.2/);
    expect(world?.visited.faults).toEqual([]);
  });

  test('a viewer sees the access and the addresses, and can change nothing', async () => {
    if (!world) throw new Error('There is no world.');
    await created('seen', { access: 'Read only', ranges: '10.0.0.0/8' });
    expect(await axe(page)).toEqual([]);
    await using viewer = await viewerVisit(world, 'looks@example.com');
    await openPage(viewer.page, muster, `/accounts/${account.accountId}/keys`, /seen/);
    expect(await viewer.page.getByRole('row').filter({ hasText: 'seen' }).innerText()).toMatch(
      /Read only[^]*10\.0\.0\.0\/8/,
    );
    expect(await viewer.page.getByRole('button', { name: /Actions/ }).count()).toBe(0);
    expect(viewer.faults).toEqual([]);
  });
});
