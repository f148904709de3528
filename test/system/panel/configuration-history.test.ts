import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { purgeOtel, setOtel } from '../../support/service/daemon.ts';
import { call, tenant, type Tenant, type Muster } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from './panel-browser.ts';

/* The history of the configuration on its page: the list, the difference of any two, and the way back to one. */

const chromium = findChromium();
const title = `the history of the configuration${chromium === undefined ? ` (skipped: ${NO_CHROMIUM})` : ''}`;

const A = 'https://a.example.com';
const B = 'https://b.example.com';

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 1);
    ({ muster, visited, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  /** An account of its own with these revisions, and its page. */
  async function configured(...revisions: readonly object[]): Promise<Tenant> {
    const account = await tenant(muster);
    for (const one of revisions) expect((await setOtel(muster, account.apiKey, one)).status).toBe(200);
    await openPage(page, muster, `/accounts/${account.accountId}/configuration`, /since the last purge/);
    return account;
  }
  const table = () => page.getByRole('group', { name: 'Revisions', exact: true });
  const rows = () => table().locator('tbody tr');
  const dialog = () => page.getByRole('dialog');
  const restore = (revision: number) => press(page.getByRole('button', { name: `Restore revision ${revision}` }));
  const action = () => dialog().getByRole('button', { name: 'Restore this revision' });
  const stored = async ({ apiKey }: Tenant) => (await call(`${muster.api}/v1/otel-config`, { token: apiKey })).body;

  test('lists the revisions with their authors, and shows how any two differ', async () => {
    await configured({ endpoint: A }, { endpoint: B }, { endpoint: B, evidenceLevel: 'full', authHeader: 'Bearer x' });
    expect(await rows().count()).toBe(3);
    expect(await rows().first().innerText()).toMatch(/^3\s+current[\s\S]*API key[\s\S]*b\.example\.com/);
    // The current one needs no restoration.
    expect(
      await rows()
        .getByRole('button', { name: /^Restore/ })
        .count(),
    ).toBe(2);
    const differences = page.getByRole('group', { name: 'Differences' });
    expect(await differences.innerText()).toMatch(/Header for the collector\s+none\s+stored/);
    expect(await differences.innerText()).toMatch(/Evidence of detections\s+hashes\s+full/);
    expect(await differences.innerText()).not.toContain('example.com');
    await page.getByLabel('From', { exact: true }).selectOption('Revision 1');
    await page.getByLabel('To', { exact: true }).selectOption('Revision 2');
    await expect.poll(() => differences.innerText()).toMatch(/Endpoint\s+https:\/\/a\.\S+\s+https:\/\/b\./);
    // The address has the pair.
    await expect.poll(() => page.url()).toMatch(/\?from=1&to=2$/);
    await page.reload();
    await expect.poll(() => differences.innerText()).toMatch(/Revision 1\s+Revision 2\s+Endpoint/);
    await page.getByLabel('From', { exact: true }).selectOption('Revision 2');
    await page.getByText('They have the same content.').waitFor();
    expect(visited.faults).toEqual([]);
  });

  test('asks for a header where the stored one is for another origin, and restores without one', async () => {
    const account = await configured({ endpoint: A }, { endpoint: B, authHeader: 'Bearer x' });
    await restore(1);
    await dialog()
      .getByText(/The stored header was set for another endpoint/)
      .waitFor();
    await dialog().getByLabel('Set a header').check();
    await press(action());
    await expect.poll(() => dialog().locator('.fault').innerText()).toContain('This is needed.');
    await dialog().getByLabel('The header', { exact: true }).fill('Bearer other');
    await expect.poll(() => dialog().locator('.fault').count()).toBe(0);
    await dialog().getByLabel('No header').check();
    await press(action());
    await expect.poll(() => rows().first().innerText()).toMatch(/^3\s+current\s+restores 1/);
    expect(await stored(account)).toMatchObject({ endpoint: A, authHeaderSet: false });
    await expect.poll(() => page.getByLabel('Endpoint').inputValue()).toBe(A);
    expect(visited.faults).toEqual([]);
  });

  test('keeps the stored header for another origin where its person says so, which asks for no header', async () => {
    const account = await configured({ endpoint: A, authHeader: 'Bearer x' }, { endpoint: B });
    await restore(1);
    expect(await dialog().getByLabel('Keep the stored header').isChecked()).toBe(true);
    await press(action());
    await expect.poll(() => rows().first().innerText()).toMatch(/^3\s+current\s+restores 1/);
    expect(await stored(account)).toMatchObject({ endpoint: A, authHeaderSet: true });
    expect(visited.faults).toEqual([]);
  });

  test('keeps the stored header at its origin, and says so', async () => {
    const account = await configured({ endpoint: `${A}/one` }, { endpoint: `${A}/two`, authHeader: 'Bearer x' });
    await restore(1);
    await dialog().getByText('The stored header stays.').waitFor();
    await press(action());
    await expect.poll(() => rows().count()).toBe(3);
    expect(await stored(account)).toMatchObject({ endpoint: `${A}/one`, authHeaderSet: true });
  });

  test('restores nothing over a change that was not seen, and has nothing after a purge', async () => {
    const account = await configured({ endpoint: A }, { endpoint: B });
    await restore(1);
    expect((await setOtel(muster, account.apiKey, { endpoint: 'https://c.example.com' })).status).toBe(200);
    await press(action());
    await page.getByText('Nothing was restored.').waitFor();
    expect(await stored(account)).toMatchObject({ endpoint: 'https://c.example.com' });
    await expect.poll(() => rows().count()).toBe(3);
    expect((await purgeOtel(muster, account.apiKey)).status).toBe(200);
    await page.getByText('No revision is kept yet.').waitFor();
  });
});
