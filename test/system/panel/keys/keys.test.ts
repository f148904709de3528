import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, type Muster } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press } from '../../browser/chromium.ts';
import { leaveSecret, openPage, openWorld, PASSWORD, viewerVisit, type PanelWorld } from '../panel-browser.ts';

/* The page of API keys: a new secret with an overlap, an earlier end, and what a viewer sees of it. */

const chromium = findChromium();
const title = chromium === undefined ? `API keys on the pages (skipped: ${NO_CHROMIUM})` : 'API keys on the pages';

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
  const choose = async (row: Locator, name: string): Promise<void> => {
    await press(row.getByRole('button', { name: /^Actions for / }));
    await press(row.getByRole('menuitem', { name }));
  };
  const statusOf = async (token: string): Promise<number> => (await call(`${muster.api}/v1/apps`, { token })).status;

  /** Creates a key on the page: its secret. */
  async function created(name: string): Promise<string> {
    await at('/keys?new=key', /Last used/);
    await dialog().getByLabel('Name').fill(name);
    await press(dialog().getByRole('button', { name: 'Create' }));
    return await shownSecret();
  }

  async function shownSecret(): Promise<string> {
    const secret = await dialog().locator('.secret code').first().innerText();
    // A command is kept in the history of the shell.
    expect(await dialog().locator('pre').innerText()).not.toContain(secret.slice(0, 20));
    await leaveSecret(page);
    return secret;
  }

  test('a key is rotated: the new secret is shown once, and the one of before works on for as long as was chosen', async () => {
    const first = await created(HOSTILE);
    const row = rowOf('<img src=x');
    expect(await page.getByRole('columnheader', { name: 'Previous secret until' }).count()).toBe(0);
    await choose(row, 'Rotate');
    expect(await dialog().innerText()).not.toContain('still works');
    expect(await dialog().getByLabel('Keep the current secret valid').inputValue()).toBe('86400');
    await press(dialog().getByRole('button', { name: 'Rotate' }));
    await expect
      .poll(() => dialog().innerText())
      .toMatch(/The previous secret works until \w+ \d+, \d{4}, [\d:]+ \S+\./);
    await page.keyboard.press('Escape');
    await press(dialog().getByRole('button', { name: 'Go back' }));
    const asked = page.waitForEvent('dialog');
    // A reload of playwright's own would wait for one that does not come.
    await page.evaluate('setTimeout(() => location.reload())');
    await (await asked).dismiss();
    const second = await shownSecret();
    expect(await row.innerText()).toMatch(/(?:tomorrow|in \d+ hours|in 1 day)/);
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200]);

    await choose(row, 'Rotate');
    expect(await dialog().innerText()).toMatch(/still works\. It ends at once when you rotate again/);
    await dialog().getByLabel('Keep the current secret valid').selectOption('Not at all: it ends at once');
    await press(dialog().getByRole('button', { name: 'Rotate' }));
    await expect.poll(() => dialog().innerText()).toContain('The previous secret no longer works.');
    const third = await shownSecret();
    expect([await statusOf(first), await statusOf(second), await statusOf(third)]).toEqual([401, 401, 200]);

    await choose(row, 'Rotate');
    await press(dialog().getByRole('button', { name: 'Rotate' }));
    const fourth = await shownSecret();
    await choose(row, 'End the overlap');
    await press(dialog().getByRole('button', { name: 'End the overlap' }));
    await page.getByRole('columnheader', { name: 'Previous secret until' }).waitFor({ state: 'detached' });
    expect([await statusOf(third), await statusOf(fourth)]).toEqual([401, 200]);
    await page.getByRole('columnheader', { name: 'Previous secret until' }).waitFor({ state: 'detached' });
    await at('/audit?group=key.', /rotated an API key/);
    const entries = await page.locator('.timeline').innerText();
    expect(entries).toMatch(/the previous secret no longer works[^]*the previous secret works for 1 day/);
    expect(world?.visited.faults).toEqual([]);
  });

  test('the actions of a row are one button with a menu, which the keyboard alone opens, walks and leaves', async () => {
    await created('walked');
    const opener = rowOf('walked').getByRole('button', { name: 'Actions for walked' });
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await opener.focus();
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Rotate');
    expect(await page.getByRole('menu', { name: 'Actions for walked' }).getByRole('menuitem').allInnerTexts()).toEqual([
      'Rotate',
      'Expire sooner',
      'Narrow',
      'Revoke',
    ]);
    expect(await axe(page)).toEqual([]);
    for (const [key, name] of [
      ['ArrowDown', 'Expire sooner'],
      ['End', 'Revoke'],
      ['ArrowDown', 'Rotate'],
      ['ArrowUp', 'Revoke'],
      ['Home', 'Rotate'],
    ] as const) {
      await page.keyboard.press(key);
      expect(await focused()).toBe(name);
    }
    await page.keyboard.press('Escape');
    await expect.poll(focused).toBe('Actions');
    expect(await page.getByRole('menu').count()).toBe(0);
    await page.keyboard.press('Enter');
    await expect.poll(focused).toBe('Rotate');
    await page.keyboard.press('Enter');
    await dialog().getByRole('heading', { name: 'Rotate this API key' }).waitFor();
    await page.keyboard.press('Escape');
    // The dialog gives the focus back to the row.
    await expect.poll(focused).toBe('Actions');
  });

  test('an answer that is lost leaves the same secret for the next try, and a proof is asked for', async () => {
    await created('lost');
    const rotations = /\/api-keys\/\w+\/rotation$/;
    const secrets: string[] = [];
    await page.route(rotations, async (route) => {
      const answer = await route.fetch();
      secrets.push(((await answer.json()) as { apiKey: string }).apiKey);
      await route.abort('connectionreset');
      await page.unroute(rotations);
    });
    await choose(rowOf('lost'), 'Rotate');
    await press(dialog().getByRole('button', { name: 'Rotate' }));
    await expect.poll(() => dialog().innerText()).toContain('Trying again here makes no further one.');
    await page.route(rotations, async (route) => {
      const error = { code: 'proof_required', message: 'Prove who you are first.' };
      await route.fulfill({ status: 403, json: { error } });
      await page.unroute(rotations);
    });
    await press(dialog().getByRole('button', { name: 'Rotate' }));
    await dialog().getByLabel('Your password').fill(PASSWORD);
    await press(dialog().getByRole('button', { name: 'Confirm' }));
    await dialog().locator('.secret code').first().waitFor();
    expect(await shownSecret()).toBe(secrets[0]);
  });

  test('a key expires sooner, at an instant in the zone of the browser, and never later', async () => {
    await created('brief');
    const row = rowOf('brief');
    await choose(row, 'Expire sooner');
    const field = dialog().getByLabel('Expires at');
    const send = dialog().getByRole('button', { name: 'Expire sooner' });
    const zone = await page.evaluate<string>('Intl.DateTimeFormat().resolvedOptions().timeZone');
    expect(await dialog().innerText()).toContain(`In the time zone of this browser, ${zone}.`);
    await press(send);
    await expect.poll(() => dialog().innerText()).toContain('Say when the key expires.');
    await field.fill('2020-01-01T00:00');
    await expect.poll(() => dialog().innerText()).toContain('This must be in the future.');
    await field.fill('2199-01-01T00:00');
    await expect.poll(() => dialog().innerText()).toContain('This must be before the current expiry.');
    const tomorrow = new Date(Date.now() + 86_400_000);
    await field.fill(tomorrow.toISOString().slice(0, 16));
    await press(send);
    await expect.poll(() => row.innerText()).toMatch(/(?:tomorrow|in \d+ hours|in 1 day)[^]*soon/);
    expect(await row.locator('time').first().getAttribute('datetime')).toBe(await page.evaluate(asInstant(tomorrow)));
  });

  test('the calls of 7 days stand beside each key, and order the list', async () => {
    const [seldom, often] = [await created('seldom'), await created('often')];
    for (const token of [often, seldom, often]) expect(await statusOf(token)).toBe(200);
    await at('/keys?sort=-calls-in-7-days', /often/);
    const calls = async (name: string) => Number(await rowOf(name).locator('td.number').innerText());
    expect([await calls('seldom'), await calls('often')]).toEqual([1, 2]);
    const names = await page.getByRole('rowheader').allInnerTexts();
    expect(names.indexOf('often')).toBeLessThan(names.indexOf('seldom'));
    await press(page.getByRole('button', { name: 'Calls in 7 days' }));
    await expect.poll(() => page.url()).toContain('?sort=calls-in-7-days');
  });

  test('a viewer sees the keys and what works, and no button', async () => {
    if (!world) throw new Error('There is no world.');
    await created('looked at');
    await using viewer = await viewerVisit(world, 'looks@example.com');
    await openPage(viewer.page, muster, `/accounts/${account.accountId}/keys?new=key`, /looked at/);
    expect(await viewer.page.getByRole('button', { name: 'Create a key' }).count()).toBe(0);
    expect(await viewer.page.getByRole('button', { name: /Actions/ }).count()).toBe(0);
    expect(await viewer.page.getByRole('dialog').count()).toBe(0);
    expect(viewer.faults).toEqual([]);
  });
});

/** The instant that the browser makes of the minute that was typed. */
const asInstant = (at: Date): string => `new Date('${at.toISOString().slice(0, 16)}').toISOString()`;
