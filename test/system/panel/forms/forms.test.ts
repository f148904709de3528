import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setOtel } from '../../../support/service/daemon.ts';
import { userLink } from '../../../support/panel/seeded-panel.ts';
import { ROOT } from '../../../support/repository/source-tree.ts';
import { findChromium, NO_CHROMIUM, press, visit } from '../../browser/chromium.ts';
import { atPanel, openPage, openWorld, viewerVisit, type PanelWorld } from '../panel-browser.ts';
import { ELSEWHERE, FORMS, type WalkedForm } from './walked-forms.ts';

/*
 * Each form and dialog of the panel: the button that sends a form can be pressed, and then names at a field what is
 * missing; a dialog opens with the focus in its first field, or on the button that changes nothing.
 */

const chromium = findChromium();
const title = chromium === undefined ? `forms and dialogs (skipped: ${NO_CHROMIUM})` : 'forms and dialogs';

test('each is walked here: a new one has to be added', () => {
  const there: Record<string, number> = {};
  for (const file of globSync('web/{pages,shell}/**/*.tsx', { cwd: ROOT })) {
    const tags = readFileSync(join(ROOT, file), 'utf8').match(/<(?:Form|Dialog|Confirm|form|dialog)\b/g) ?? [];
    if (tags.length > 0) there[file] = tags.length;
  }
  const walked: Record<string, number> = {};
  for (const { file, covers = 1 } of [...FORMS, ...ELSEWHERE]) walked[file] = (walked[file] ?? 0) + covers;
  expect(walked).toEqual(there);
});

/** The element that has the focus: the text of a button, or the label of a field. */
const FOCUSED = `(() => {
  const { activeElement: at } = document;
  return at.labels?.[0]?.innerText ?? at.getAttribute('aria-label') ?? at.innerText;
})()`;

/** The fault that is shown at the field that has the focus. */
const SAID = `(() => {
  const { activeElement: at } = document;
  const says = document.getElementById(at.getAttribute('aria-describedby'))?.querySelector('.fault');
  return at.getAttribute('aria-invalid') === 'true' ? says?.innerText.trim() : 'not invalid: ' + at.outerHTML.slice(0, 200);
})()`;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld;
  beforeAll(async () => {
    world = await openWorld(chromium, 4);
    for (const endpoint of ['https://a.example.com', 'https://b.example.com']) {
      await setOtel(world.muster, world.account.apiKey, { endpoint, authHeader: 'Bearer x' });
    }
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('begin with a member of the account', async () => {
    await using member = await viewerVisit(world, 'member@example.com');
    expect(member.faults).toEqual([]);
  });

  async function walk(page: Page, { opens, focus, chooses, empties, sends, says }: WalkedForm): Promise<void> {
    for (const name of opens ?? []) {
      const button = page.getByRole('button', { name });
      await press(button.or(page.getByRole('menuitem', { name })).first());
    }
    const isDialog = focus !== undefined || (await page.getByRole('dialog').count()) > 0;
    const within = isDialog ? page.getByRole('dialog').last() : page.locator('main');
    if (focus !== undefined) {
      await within.waitFor();
      await expect.poll(() => page.evaluate(FOCUSED)).toMatch(focus);
    }
    expect(await within.locator('button[type=submit]:disabled').count()).toBe(0);
    if (sends === undefined) return;
    if (chooses !== undefined) await within.getByLabel(chooses, { exact: true }).check();
    const form =
      empties === undefined
        ? within
        : within.locator('form').filter({ has: page.getByLabel(empties, { exact: true }) });
    if (empties !== undefined) await form.getByLabel(empties, { exact: true }).fill('');
    await press(form.getByRole('button', { name: sends, exact: true }).last());
    await expect.poll(() => page.evaluate(SAID)).toMatch(says ?? /^This is needed\.$/);
  }

  test.each(FORMS.filter(({ door }) => door === undefined).map((form) => [form.name, form] as const))(
    '%s',
    async (_name, form) => {
      const { page, muster, account, visited } = world;
      const path =
        form.path?.replace(':accountId', account.accountId).replace(':appId', account.appIds[0] ?? '') ?? '/';
      await openPage(page, muster, path, form.shows ?? /./);
      await form.before?.(page);
      await walk(page, form);
      await form.after?.(page);
      await page.unrouteAll();
      expect(visited.faults).toEqual([]);
      // The page would ask whether the typed text may be lost.
      await page.goto('about:blank');
    },
  );

  test.each(FORMS.filter(({ door }) => door !== undefined).map((form) => [form.name, form] as const))(
    '%s',
    async (_name, form) => {
      await using stranger = await visit(world.browser);
      const address =
        form.door === 'link' ? await userLink(world.muster, 'new@example.com', 'none') : 'http://panel/sign-in';
      await stranger.page.goto(atPanel(world.muster, address));
      await stranger.page.getByLabel('Password').waitFor();
      await walk(stranger.page, form);
      expect(stranger.faults).toEqual([]);
    },
  );
});
