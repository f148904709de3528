import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import type { Muster } from '../../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, visit, type Visit } from '../../browser/chromium.ts';
import { atPanel, openPage, openWorld, PASSWORD, untilSignedIn, type PanelWorld } from '../panel-browser.ts';
import { PAGES } from '../panel-pages.ts';

/* A viewer finds nothing to press that is refused, on no page and by no address. */

const chromium = findChromium();
const title = chromium === undefined ? `a viewer (skipped: ${NO_CHROMIUM})` : 'a viewer';

/** Controls that look, find, sort, copy and save a file; anything else changes something. */
const READS =
  /^(?:Columns|Copy the id.*|Copy|Download|Download CSV|CSV|CloudEvents|Show more|Look further|Clear|Try again|Keys \?|Verify.*|Check.*|Back to .*|All apps|Show all|Show less|Whole .*)$/;
/** The addresses that open a dialog or choose rows. */
const DIALOGS = [
  '/apps?new=app',
  '/apps?new=daemon',
  '/apps?add=daemon',
  '/keys?new=key',
  '/members?new=invitation',
  '/configuration?new=restore',
  '/configuration?restore=1',
];
const NOWHERE: SeededAccount = { accountId: 'none', keyId: '', apiKey: '', name: '', appIds: [], credential: '' };
/** The pages of the account; the own profile is the viewer's to change. */
const ACCOUNT_PAGES = PAGES.filter(({ name, path }) => name !== 'me' && path(NOWHERE).startsWith('/accounts/'));

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let viewer: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 8);
    ({ muster, account } = world);
    viewer = await invited(world);
    page = viewer.page;
  });
  afterAll(async () => {
    await viewer?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** The names of what can be pressed or filled in, but for what only looks. */
  const writes = async (): Promise<readonly string[]> => {
    const pressed = await page
      .locator('main button:not(.sort, .chip, .words, .choices *, .banner *), dialog button')
      .allInnerTexts();
    const filled = await page
      .locator('main :is(input, select, textarea), dialog :is(input, select, textarea)')
      .evaluateAll((fields) =>
        (fields as unknown as { closest: (of: string) => unknown; id: string; name: string; disabled: boolean }[])
          .filter((field) => field.closest('.toolbar, .page-head') === null && !field.disabled)
          .map(({ id }) => `field ${id}`),
      );
    return [
      ...pressed.map((text) => text.trim().replaceAll(/\s+/g, ' ')).filter((text) => !READS.test(text)),
      ...filled,
    ];
  };
  const path = (of: string): string => `/accounts/${account.accountId}${of}`;

  test.each(ACCOUNT_PAGES)('$name: nothing to press changes anything', async (shown) => {
    const isOperators = shown.name === 'account-settings';
    await openPage(page, muster, shown.path(account), isOperators ? /nothing here|not see/ : shown.shows);
    expect(await writes()).toEqual([]);
  });

  test.each(PAGES.filter(({ path: of }) => of(NOWHERE).startsWith('/operator/')))(
    "$name of the operator's: nothing is shown",
    async (shown) => {
      await page.goto(atPanel(muster, `http://panel${shown.path(account)}`));
      await page.locator('main h1, main h2').first().waitFor();
      await expect.poll(() => page.locator('.skeleton').count()).toBe(0);
      expect(await writes()).toEqual([]);
    },
  );

  test.each(DIALOGS)('%s opens no dialog', async (of) => {
    await openPage(page, muster, path(of), /\S/);
    await page.locator('main h1').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await writes()).toEqual([]);
  });

  test('chosen apps by the address are no apps to change, and keys of the triage decide nothing', async () => {
    await openPage(page, muster, path(`/apps?selected=${account.appIds[0]}`), /edge-0/);
    expect(await page.locator('main input[type=checkbox]').count()).toBe(0);
    expect(await writes()).toEqual([]);
    await openPage(page, muster, path('/reviews'), /secrets-in-prompt/);
    const before = viewer.requested.length;
    for (const key of ['c', 'd', 'u', 'n']) await page.keyboard.press(key);
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(viewer.requested.length).toBe(before);
    expect(viewer.faults).toEqual([]);
  });

  test('an owner finds on the same pages what a viewer does not', async () => {
    const owner = world?.page;
    if (!owner) throw new Error('There is no owner.');
    for (const [of, shows, name] of [
      ['/apps', /edge-0/, 'Add many daemons'],
      ['/keys', /Last used/, 'Create a key'],
      ['/members', /Members/, 'Invite'],
      ['/reviews', /secrets-in-prompt/, 'Confirm'],
    ] as const) {
      await openPage(owner, muster, path(of), shows);
      expect(await owner.getByRole('button', { name }).count()).toBeGreaterThan(0);
    }
  });

  async function invited({ browser, page: owner }: PanelWorld): Promise<Visit> {
    await openOwners(owner);
    await owner.getByRole('dialog').getByRole('button', { name: 'Make the link' }).focus();
    // By the key, for a hook of the runner has no expect.poll.
    await owner.keyboard.press('Enter');
    const shown = owner.getByRole('dialog').locator('.secret code');
    await shown.waitFor();
    const { pathname, hash } = new URL(await shown.innerText());
    for (const name of ['Done', 'Close anyway']) {
      await owner.getByRole('button', { name, exact: true }).focus();
      await owner.keyboard.press('Enter');
    }
    const visitor = await visit(browser);
    await visitor.page.goto(`${atPanel(muster, `http://panel${pathname}`)}${hash}`);
    await visitor.page.getByLabel('Your name').fill('Viewer');
    await visitor.page.getByLabel('Name to sign in with').fill('viewer@example.com');
    await visitor.page.getByLabel('Password').fill(PASSWORD);
    await visitor.page.getByLabel('Password').press('Enter');
    await untilSignedIn(visitor.page);
    return visitor;
  }

  async function openOwners(owner: Page): Promise<void> {
    await owner.goto(atPanel(muster, `http://panel${path('/members?new=invitation')}`));
    await owner.getByRole('dialog').waitFor();
  }
});
