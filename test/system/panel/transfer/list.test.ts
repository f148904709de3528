import type { Page, Response } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listPanelApps, type PanelApps } from '../../../../src/api/contract/panel/apps/apps.ts';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, createApp, type Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, type Visit } from '../../browser/chromium.ts';
import { openPage, openWorld, type PanelWorld } from '../panel-browser.ts';

/* The bytes that come while a list of apps is open; and the list is right whatever got lost. */

const chromium = findChromium();
const title =
  chromium === undefined ? `the list of apps on its way (skipped: ${NO_CHROMIUM})` : 'the list of apps on its way';
const LIST = /\/panel\/v1\/accounts\/\w+\/apps(?:\?.*)?$/;
const ANSWER = listPanelApps.answers[0].schema;

interface Read {
  readonly url: string;
  readonly status: number;
  readonly encoding: string | undefined;
  readonly answer: PanelApps | undefined;
}

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  const reads: Promise<Read>[] = [];
  beforeAll(async () => {
    world = await openWorld(chromium, 12);
    ({ muster, account, visited, page } = world);
    page.on('response', (response) => {
      if (LIST.test(response.url())) reads.push(readOf(response));
    });
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  async function readOf(response: Response): Promise<Read> {
    const status = response.status();
    // Leaving the page breaks off a read that is under way.
    const body: unknown = status === 200 ? await response.json().catch(() => undefined) : undefined;
    return {
      url: response.url(),
      status,
      encoding: response.headers()['content-encoding'],
      answer: body === undefined ? undefined : ANSWER.parse(body),
    };
  }
  const isWhole = ({ answer }: Read): boolean => answer?.whole === true;
  const rows = () => page.locator('tbody tr');
  const shown = async (): Promise<readonly string[]> => (await rows().allInnerTexts()).map((text) => text.trim());
  const listAgain = async (): Promise<void> => {
    await page.getByRole('link', { name: 'Overview' }).first().press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    await page.getByRole('link', { name: 'Apps' }).first().press('Enter');
    await page.getByLabel('Search').waitFor();
  };

  test('the list comes once, in gzip; after a hint comes the app that changed', async () => {
    await openPage(page, muster, `/accounts/${account.accountId}/apps`, /edge-001/);
    expect(await rows().count()).toBe(12);
    await createApp(muster, account.apiKey, 'newcomer');
    await expect.poll(async () => (await shown()).some((text) => text.includes('newcomer'))).toBe(true);
    const all = await Promise.all(reads);
    expect(all.filter(isWhole).map(({ encoding }) => encoding)).toEqual(['gzip']);
    const news = all.filter(({ answer }) => answer?.whole === false && answer.apps.length > 0);
    expect(news.map(({ answer }) => answer?.apps.map(({ name }) => name))).toEqual([['newcomer']]);
    expect(news.every(({ url }) => url.includes('?since='))).toBe(true);
  });

  test('what is gone goes, on a page that was away meanwhile, too; and where nothing changed, nothing comes', async () => {
    const [first = '', second = ''] = account.appIds;
    await call(`${muster.api}/v1/apps/${first}`, { method: 'DELETE', token: account.apiKey });
    await expect.poll(() => rows().count()).toBe(12);
    await page.getByRole('link', { name: 'Members' }).first().press('Enter');
    await call(`${muster.api}/v1/apps/${second}`, { method: 'DELETE', token: account.apiKey });
    await listAgain();
    await expect.poll(() => rows().count()).toBe(11);
    const before = reads.length;
    await listAgain();
    await listAgain();
    await expect.poll(() => reads.length).toBeGreaterThan(before + 1);
    const quiet = (await Promise.all(reads)).slice(before);
    expect(quiet.flatMap(({ answer }) => answer?.apps ?? [])).toEqual([]);
    expect(quiet.some(({ status }) => status === 304)).toBe(true);
    expect((await Promise.all(reads)).filter(isWhole)).toHaveLength(1);
  });

  test('an answer that lacks a removal leaves no stale app: the page reads the whole list', async () => {
    const [, , third = ''] = account.appIds;
    await page.route(/\/apps\?since=/, async (route) => {
      const response = await route.fetch();
      if (response.status() !== 200) return await route.fulfill({ response });
      const json = ANSWER.parse(await response.json());
      await route.fulfill({ response, json: { ...json, removed: [] } });
    });
    await call(`${muster.api}/v1/apps/${third}`, { method: 'DELETE', token: account.apiKey });
    await expect.poll(() => rows().count()).toBe(10);
    expect((await Promise.all(reads)).filter(isWhole)).toHaveLength(2);
    expect(visited.faults).toEqual([]);
  });
});
