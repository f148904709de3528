import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import { openPage, openWorld, signInByLink, type PanelWorld } from '../panel-browser.ts';
import { PAGES } from '../panel-pages.ts';

/* CONTRACT.md#p1: support and auditors before the pages: all that they read, and no button that they may not press. */

const chromium = findChromium();
const title = chromium === undefined ? `roles in the panel (skipped: ${NO_CHROMIUM})` : 'roles in the panel';

/** The names of buttons that change something, wherever they stand. */
const CHANGES =
  /create|add a daemon|invite|withdraw|revoke|delete|rotate|disable|enable|make|take|save|end\b|confirm|dismiss|reopen|backup|allow|narrow|purge|test the|new code|owner|viewer/i;

/** Pages that show less to whoever may not change what stands there. */
const SHOWS: Readonly<Record<string, RegExp>> = { 'account-settings': /Acme Production/ };

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 8);
  });
  afterAll(async () => await world[Symbol.asyncDispose]());

  async function personVisit(role: 'support' | 'auditor', login: string) {
    const visited = await visit(world.browser);
    await signInByLink(visited, world.muster, login, role);
    const refused: string[] = [];
    visited.page.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.request().method()} ${answer.url()} ${answer.status()}`);
    });
    return { ...visited, refused, [Symbol.asyncDispose]: () => visited[Symbol.asyncDispose]() };
  }
  const namesIn = async (page: Page): Promise<readonly string[]> => {
    // What sorts a table and what explains a word are no changes.
    const buttons = await page.locator('main button:not(.sort, .words)').all();
    const names = await Promise.all(
      buttons.map(async (button) => (await button.getAttribute('aria-label')) ?? (await button.innerText())),
    );
    return names.filter((name) => CHANGES.test(name)).map((name) => name.trim());
  };

  test('an auditor reads every page but the review queue, without a fault, and finds no button that changes', async () => {
    await using auditor = await personVisit('auditor', 'audit@example.com');
    const { page } = auditor;
    for (const { name, path, shows } of PAGES.filter((one) => one.name !== 'reviews' && one.name !== 'me')) {
      await openPage(page, world.muster, path(world.account), SHOWS[name] ?? shows);
      expect([name, await namesIn(page)]).toEqual([name, []]);
    }
    await openPage(page, world.muster, `/accounts/${world.account.accountId}/reviews`, /Your role does not include/);
    const places = page.getByRole('navigation');
    expect([
      await places.getByRole('link', { name: 'Users' }).count(),
      await places.getByRole('link', { name: 'Review queue' }).count(),
    ]).toEqual([1, 0]);
    // A form by its address, too.
    for (const path of ['apps?new=app', 'apps?new=daemon', 'keys?new=key', 'members?new=invitation']) {
      await openPage(page, world.muster, `/accounts/${world.account.accountId}/${path}`, /.+/);
      expect([path, await page.getByRole('dialog').count()]).toEqual([path, 0]);
    }
    await openPage(page, world.muster, '/operator/users', /Signs in as/);
    await press(page.getByRole('button', { name: /^Manage .*ann/ }));
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name: 'Sessions' }).waitFor();
    await expect.poll(() => dialog.locator('.skeleton').count()).toBe(0);
    const inDialog = await dialog.getByRole('button').allInnerTexts();
    expect(inDialog.filter((name) => CHANGES.test(name))).toEqual([]);
    expect(auditor.refused).toEqual([]);
  });

  test('support reads every page without a fault, and finds no button but those that take away', async () => {
    await using support = await personVisit('support', 'help@example.com');
    const { page } = support;
    const found: Record<string, readonly string[]> = {};
    for (const { name, path, shows } of PAGES.filter((one) => one.name !== 'me')) {
      await openPage(page, world.muster, path(world.account), SHOWS[name] ?? shows);
      const names = await namesIn(page);
      if (names.length > 0) found[name] = names;
    }
    expect(found).toEqual({ app: ['Revoke'], 'account-settings': ['Disable the account'] });
    await openPage(page, world.muster, `/accounts/${world.account.accountId}/keys`, /Last used/);
    await press(page.getByRole('button', { name: /^Actions/ }).first());
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Expire sooner', 'Narrow', 'Revoke']);
    expect(support.refused).toEqual([]);
  });

  test('support revokes apps and an operator shows and changes a role; what support may not, the user’s dialog has not', async () => {
    await using support = await personVisit('support', 'desk@example.com');
    await using _ = await personVisit('auditor', 'other@example.com');
    const { page } = support;
    await openPage(page, world.muster, `/accounts/${world.account.accountId}/apps`, /edge-001/);
    await press(page.getByRole('checkbox', { name: /edge-002/ }));
    const main = page.locator('main');
    expect(await main.getByRole('button', { name: /Issue codes|Delete/ }).count()).toBe(0);
    await press(main.getByRole('button', { name: 'Revoke' }));
    const confirm = page.getByRole('dialog');
    await confirm.getByRole('textbox').fill('edge-002');
    await press(confirm.getByRole('button', { name: /^Revoke/ }));
    await expect.poll(() => main.getByRole('row', { name: /edge-002/ }).innerText()).toMatch(/revoked/);

    await openPage(page, world.muster, '/operator/users', /other@example.com/);
    await press(page.getByRole('button', { name: 'Manage other' }));
    const dialog = page.getByRole('dialog').first();
    await press(dialog.getByRole('button', { name: /^End the session/ }).first());
    await expect.poll(() => dialog.innerText()).toContain('signed in nowhere');
    expect(await dialog.locator('ul.plain').getByRole('button').allInnerTexts()).toEqual(['Disable']);
    expect(support.refused).toEqual([]);

    const operator = world.page;
    await openPage(operator, world.muster, '/operator/users', /other@example.com/);
    const row = operator.getByRole('row', { name: /other@example.com/ });
    expect(await row.innerText()).toMatch(/auditor/);
    await press(row.getByRole('button', { name: /^Manage/ }));
    const manage = operator.getByRole('dialog').first();
    await press(manage.getByRole('button', { name: 'Make support' }));
    await press(operator.getByRole('dialog').last().getByRole('button', { name: 'Make support' }));
    await expect.poll(() => row.innerText()).toMatch(/support/);
  });
});
