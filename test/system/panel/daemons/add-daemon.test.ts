import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SeededAccount } from '../../../support/panel/seeded-panel.ts';
import { call, enroll, poll, type Muster } from '../../../support/service/muster.ts';
import { axe } from '../../browser/axe.ts';
import { findChromium, NO_CHROMIUM, press, type Visit } from '../../browser/chromium.ts';
import { HOSTILE, openPage, openWorld, operatorVisit, type PanelWorld } from '../panel-browser.ts';

/* A daemon is added: its code is shown once, and the page tells how far it has come. */

const chromium = findChromium();
const title = chromium === undefined ? `adding a daemon (skipped: ${NO_CHROMIUM})` : 'adding a daemon';
/** A person's time by the keystroke-level model (Card, Moran, Newell 1980): a click is pointed at, and thought of. */
const [KEY_S, THOUGHT_S] = [0.2, 1.35];
const CLICK_S = THOUGHT_S + 1.1 + 0.2;

describe.skipIf(chromium === undefined)(title, () => {
  let world: PanelWorld | undefined;
  let muster: Muster;
  let account: SeededAccount;
  let visited: Visit;
  let page: Page;
  beforeAll(async () => {
    world = await openWorld(chromium, 3, { permissions: ['clipboard-read', 'clipboard-write'] });
    ({ muster, account, visited, page } = world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());
  const apps = (query = '', on = page) =>
    openPage(on, muster, `/accounts/${account.accountId}/apps${query}`, /edge-001/);
  const dialog = (on = page) => on.getByRole('dialog').first();
  const button = (name: string | RegExp, on = page) => dialog(on).getByRole('button', { name, exact: true });
  const milestones = (on = page) => dialog(on).locator('.milestones').innerText();
  const codeIn = (on = page) => dialog(on).locator('.secret code').innerText();
  const copied = () => page.evaluate<string>('navigator.clipboard.readText()');
  const appIdIn = async (on = page): Promise<string> =>
    /muster-([a-z0-9]{20})/.exec(await dialog(on).getByRole('tabpanel').innerText())?.[1] ?? '';
  async function ask(name: string, on = page): Promise<void> {
    await dialog(on).getByLabel('Name').fill(name);
    await dialog(on).getByLabel('Name').press('Enter');
    await dialog(on).locator('.secret code').waitFor();
  }
  const currentRevision = async (credential: string): Promise<number> =>
    Number((await poll(muster, credential)).body['revision']);
  const acknowledge = async (token: string, said: object): Promise<void> => {
    const answer = await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token, body: said });
    expect(answer.status).toBe(204);
  };
  /** The dialog of the question, and its answer. */
  const answer = (name: 'Close anyway' | 'Go back') => press(page.getByRole('button', { name, exact: true }));

  test('from the list to an applied configuration: three stages, and what it takes of a person', async () => {
    await apps();
    await page.evaluate(`(() => {
      window.effort = { clicks: 0, keys: 0 };
      addEventListener('pointerdown', () => (window.effort.clicks += 1), true);
      addEventListener('keydown', () => (window.effort.keys += 1), true);
    })()`);
    await page.getByRole('button', { name: 'Add a daemon' }).click();
    await page.keyboard.type('edge 4');
    await page.keyboard.press('Enter');
    // Enter copies the command, which is what a person wants next.
    await expect.poll(() => dialog().getByRole('tabpanel').locator(':focus').count()).toBe(1);
    await page.keyboard.press('Enter');
    const command = await copied();
    expect(command).toContain(`--device-url ${muster.device}`);
    await dialog().locator('.secret').getByRole('button', { name: 'Copy' }).click();
    await expect.poll(copied).toMatch(/^mst_code_\w{49}$/);
    const code = await copied();
    expect(command).not.toContain(code);
    expect(await dialog().getByRole('heading').first().innerText()).toBe('Enroll edge 4');
    expect(await dialog().getByRole('link', { name: 'Open its page' }).count()).toBe(0);
    expect(await milestones()).toMatch(/Code issued\s+Waiting for the daemon…\s+Then:\s+Configuration applied/);

    const appId = await appIdIn();
    const credential = await enroll(muster, { appId, enrollCode: code });
    await expect.poll(() => milestones()).toMatch(/Enrolled: linux, 1\.0\.0\s+Waiting for it to apply/);
    const revision = await currentRevision(credential);
    await acknowledge(credential, { revision, status: 'applied' });
    await expect.poll(() => milestones()).toContain(`Configuration applied: revision ${revision}`);

    const { clicks, keys } = await page.evaluate<{ clicks: number; keys: number }>('window.effort');
    expect({ clicks, keys }).toEqual({ clicks: 2, keys: 8 });
    // The terminal is clicked twice, and each time something is pasted (two keys) and sent.
    const seconds = (clicks + 2) * CLICK_S + (keys + 6) * KEY_S + THOUGHT_S;
    expect(seconds).toBeLessThanOrEqual(15);
    await button('Done').click();
    await expect.poll(() => dialog().count()).toBe(0);
    expect(visited.requested.filter((url) => url.includes(code))).toEqual([]);
    expect(visited.faults).toEqual([]);
  });

  test('a daemon that has enrolled has a link to its page', async () => {
    await apps('?new=daemon');
    await ask('linked');
    const appId = await appIdIn();
    await enroll(muster, { appId, enrollCode: await codeIn() });
    await press(dialog().getByRole('link', { name: 'Open its page' }));
    await page.getByRole('heading', { name: 'linked' }).waitFor();
    expect([new URL(page.url()).pathname, await page.getByRole('dialog').count()]).toEqual([
      `/accounts/${account.accountId}/apps/${appId}`,
      0,
    ]);
    // The page of the app has no way to itself.
    await press(page.getByRole('button', { name: 'New code' }));
    await press(button('New code'));
    await dialog().locator('.secret code').waitFor();
    await enroll(muster, { appId, enrollCode: await codeIn() });
    await expect.poll(() => milestones()).toContain('Enrolled');
    expect(await dialog().getByRole('link', { name: 'Open its page' }).count()).toBe(0);
    await press(button('Done'));
  });

  test.each([1440, 360])(
    'at %i pixels each way says what it needs, and no command is cut on the right',
    async (width) => {
      await page.setViewportSize({ width, height: 900 });
      const needs = {
        linux: /The command muster is in muster-muster-\d+\.\d+\.\d+\S*\.tgz, which npm run pack makes/,
        container: /muster:\d+\.\d+\.\d+\S* is the image of the service, as deploy\/compose\.yaml names it/,
        kubernetes: /muster:\d+\.\d+\.\d+\S* is the image of the service, as the chart names it/,
        opamp: /The command muster is in muster-muster-\d+\.\d+\.\d+\S*\.tgz, which npm run pack makes/,
        own: /a shell with curl and sed, and no muster/,
      };
      await apps('?new=daemon');
      await ask('needs');
      const tabs = await dialog().getByRole('tab').all();
      expect(tabs).toHaveLength(Object.keys(needs).length);
      for (const [index, [by, says]] of Object.entries(needs).entries()) {
        await press(tabs[index] ?? expect.unreachable());
        await expect.poll(() => dialog().getByRole('tabpanel').innerText(), { message: by }).toMatch(says);
        const cut = await page.evaluate(
          `[...document.querySelectorAll('pre.command')].filter((one) => one.scrollWidth > one.clientWidth).length`,
        );
        expect([by, cut]).toEqual([by, 0]);
      }
      await press(button('Done'));
      await answer('Close anyway');
      await page.setViewportSize({ width: 1280, height: 720 });
    },
  );

  test('the code that nobody has copied is not lost without a question', async () => {
    await apps('?new=daemon&by=own');
    await ask('unseen');
    const code = await codeIn();
    for (const leave of [() => button('Done').click(), () => page.keyboard.press('Escape')]) {
      await leave();
      await answer('Go back');
      expect(await codeIn()).toBe(code);
    }
    await press(button('Add another'));
    await answer('Go back');
    expect(await codeIn()).toBe(code);
    await press(button('Done'));
    await answer('Close anyway');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('a code that a person has copied by hand, or a daemon has used, is left without one', async () => {
    await apps('?new=daemon');
    await ask('by hand');
    await dialog().locator('.secret code').click({ clickCount: 3 });
    await page.keyboard.press('Control+c');
    await press(button('Done'));
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);

    await apps('?new=daemon');
    await ask('used');
    await enroll(muster, { appId: await appIdIn(), enrollCode: await codeIn() });
    await expect.poll(() => milestones()).toContain('Enrolled');
    await press(button('Done'));
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('another one begins with the same tab, which stands in the address; the code does not', async () => {
    await apps();
    await press(page.getByRole('button', { name: 'Add a daemon' }));
    await ask('first');
    const first = await appIdIn();
    await dialog().getByRole('tab', { name: 'Linux' }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await expect.poll(() => page.url()).toContain('by=kubernetes');
    const code = await codeIn();
    expect(page.url()).not.toContain('mst_code');
    await press(dialog().locator('.secret').getByRole('button', { name: 'Copy' }));
    await button(/^Copied\s*: Enrollment code$/).waitFor();
    await press(button('Add another'));
    await ask('second');
    expect(await appIdIn()).not.toBe(first);
    expect(await codeIn()).not.toBe(code);
    expect(await dialog().getByRole('tab', { selected: true }).innerText()).toBe('Kubernetes');
    expect(await dialog().getByRole('tabpanel').innerText()).toContain('kubectl create secret');
    await enroll(muster, { appId: await appIdIn(), enrollCode: await codeIn() });
    await expect.poll(() => milestones()).toContain('Enrolled');
    await page.keyboard.press('Escape');
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
  });

  test('a daemon that does not come, or does not apply, has its checks; what a daemon says is text', async () => {
    await using late = await operatorVisit(world?.browser ?? expect.unreachable(), muster, 'late@example.com');
    const slow = late.page;
    await slow.clock.install();
    await apps('?new=daemon', slow);
    await ask(HOSTILE, slow);
    expect(await dialog(slow).innerText()).not.toContain('It has not come yet');
    await slow.clock.fastForward('00:31');
    await expect.poll(() => dialog(slow).innerText()).toContain('It has not come yet');
    await press(button('See what to check', slow));
    const [checks, outcome] = await Promise.all(
      ['.note.warn', '.outcome'].map((part) => dialog(slow).locator(part).boundingBox()),
    );
    expect(checks && outcome && checks.y >= 0 && checks.y + checks.height <= outcome.y).toBe(true);
    const shown = await dialog(slow).innerText();
    const [check = ''] = /curl -sS -o \/dev\/null \S+ '?[^']*'? ?\S+/.exec(shown) ?? [];
    expect(check).toContain(`${muster.device}/device/v1/config`);
    expect((await call(`${muster.device}/device/v1/config`)).status).toBe(401);

    const token = await enroll(muster, { appId: await appIdIn(slow), enrollCode: await codeIn(slow) });
    await expect.poll(() => milestones(slow)).toContain('Waiting for it to apply');
    expect(await dialog(slow).innerText()).not.toContain('It has not come yet');
    await slow.clock.fastForward('01:31');
    await expect.poll(() => dialog(slow).innerText()).toContain('It has not said that it applied');
    await acknowledge(token, { revision: await currentRevision(token), status: 'failed', error: HOSTILE });
    await slow.clock.resume();
    await expect.poll(() => milestones(slow)).toContain('could not be applied: <img src=x');
    expect(await axe(slow)).toEqual([]);
    expect(late.faults).toEqual([]);
  });

  test('the addresses that an operator has named stand in the commands, whatever a shell would make of them', async () => {
    await page.route('**/panel/v1/addresses', async (route) => {
      const device = { url: 'https://devices.example.com', configured: true };
      const opampUrl = "https://agents.example.com/it's/$(reboot)";
      await route.fulfill({ json: { api: device, device, opampUrl, image: 'muster:9.9.9' } });
    });
    await apps('?new=daemon&by=opamp');
    await ask('named');
    const shown = await dialog().getByRole('tabpanel').innerText();
    expect(shown).toContain('--device-url https://devices.example.com');
    expect(shown).toContain(String.raw`--endpoint 'https://agents.example.com/it'\''s/$(reboot)'`);
    expect(shown).not.toContain('MUSTER_PUBLIC_DEVICE_URL');
    await page.unroute('**/panel/v1/addresses');
    await press(button('Done'));
    await answer('Close anyway');
  });

  test('a new code of an app that is enrolled waits for the next daemon', async () => {
    const [appId = ''] = account.appIds;
    await openPage(page, muster, `/accounts/${account.accountId}/apps/${appId}`, /Open enrollment codes/);
    await press(page.getByRole('button', { name: 'New code' }).first());
    await press(button('New code'));
    await dialog().locator('.secret code').waitFor();
    expect(await milestones()).toContain('Waiting for the daemon…');
    const credential = await enroll(muster, { appId, enrollCode: await codeIn() });
    await expect.poll(() => milestones()).toContain('Enrolled');
    await acknowledge(credential, { revision: await currentRevision(credential), status: 'applied' });
    await expect.poll(() => milestones()).toContain('Configuration applied: revision');
    expect(await dialog().getByRole('button', { name: 'Add another' }).count()).toBe(0);
    await press(button('Done'));
    expect(visited.faults).toEqual([]);
  });
});
