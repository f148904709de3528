import { join } from 'node:path';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { seedAccount } from '../../support/panel/seeded-panel.ts';
import { keysOf, writeKeys } from '../../support/records/key-lines.ts';
import { call, Muster } from '../../support/service/muster.ts';
import { FaultyStore } from '../../support/store/faulty-store.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, type Visit } from '../browser/chromium.ts';
import { openPage, operatorVisit } from './panel-browser.ts';

/* A rotation of the key-encryption key, as an operator sees it on the page of the keys. */

const chromium = findChromium();
const title = chromium === undefined ? `a rotation on the page (skipped: ${NO_CHROMIUM})` : 'a rotation on the page';

/** Wraps a store whose faults touch nothing but what the leader does for a rotation. */
function faultyForRotation(store: Store): FaultyStore {
  const faulty = new FaultyStore(store, []);
  faulty.isPlanned = ({ expect: expected }) =>
    [KEYS.leader(), KEYS.activeKey()].every((needed) => expected.some(({ key }) => key === needed));
  return faulty;
}

describe.skipIf(chromium === undefined)(title, () => {
  let muster: Muster;
  let store: FaultyStore;
  let browser: Browser;
  let visited: Visit;
  let page: Page;
  /** Let the held commits through. */
  const gates: (() => void)[] = [];
  beforeAll(async () => {
    await buildPages();
    muster = await Muster.start({ wrapStore: (opened) => (store = faultyForRotation(opened)) });
    const { apiKey } = await seedAccount(muster, 1);
    // Beside the header of the account's configuration, an answer that is kept for its repetition.
    const kept = await call(`${muster.api}/v1/apps`, {
      method: 'POST',
      token: apiKey,
      body: { name: 'kept' },
      headers: { 'idempotency-key': 'kept' },
    });
    if (kept.status !== 201) throw new Error(`POST /v1/apps: ${kept.status} ${kept.text}`);
    browser = await openChromium(chromium ?? '');
    visited = await operatorVisit(browser, muster, 'ann@example.com');
    ({ page } = visited);
  });
  afterAll(async () => {
    // The service waits for its commits, also where the test has failed before it let them through.
    for (const open of gates) open();
    await visited?.[Symbol.asyncDispose]();
    await browser?.close();
    await muster?.[Symbol.asyncDispose]();
  });

  const main = (): Promise<string> => page.locator('main').innerText();
  /** The row of a key in the table of what each key seals. */
  const rowOf = (key: number): Locator =>
    page
      .getByRole('table', { name: 'Keys by their numbers' })
      .getByRole('row')
      .filter({ has: page.getByRole('rowheader', { name: String(key), exact: true }) });

  /**
   * Adds key 2 to the key file. The replica then announces it and joins anew, and the leader has looked for older keys
   * once: neither comes between the commits of the rotation.
   */
  async function learnSecondKey(): Promise<void> {
    await expect.poll(() => store.get(KEYS.rewrapped())).toBeDefined();
    const joined = async (): Promise<number> => (await store.get(KEYS.activeKey()))?.revision ?? 0;
    const before = await joined();
    writeKeys(join(muster.dataDir, 'keys'), 1, 2);
    await expect.poll(joined).toBeGreaterThan(before);
    expect((await keysOf(muster)).replicas).toMatchObject([{ keyNumbers: [1, 2] }]);
  }

  /** Holds the next commits of the rotation back, each until it is let through. */
  function holdCommits(count: number): void {
    for (let held = 0; held < count; held += 1) {
      const gate = Promise.withResolvers<void>();
      store.intercept('commit', 'before', () => gate.promise);
      gates.push(gate.resolve);
    }
  }

  test('the page shows how far it is, and ends at done with the old line free to go, without being loaded again', async () => {
    await learnSecondKey();
    await openPage(page, muster, '/operator/encryption', /Everything is sealed under the active key/);
    expect(await rowOf(1).innerText()).toMatch(/\tactive$/);
    expect(await rowOf(2).innerText()).toContain('known, not active yet: rotate');

    holdCommits(3);
    const [header, answer, end] = gates;
    await press(page.getByRole('button', { name: 'Rotate' }));
    const dialog = page.getByRole('dialog');
    expect(await dialog.innerText()).toContain('Key 2 becomes the active one.');
    await press(dialog.getByRole('button', { name: 'Rotate' }));
    await expect.poll(main).toContain('2 still under older keys');
    expect(await main()).toContain('What older keys seal is being sealed anew.');
    expect(await rowOf(1).innerText()).toContain('in use');
    expect(await rowOf(2).innerText()).toMatch(/\tactive$/);
    header?.();
    await expect.poll(main).toContain('1 still under older keys');
    answer?.();
    await expect.poll(main).toContain('Everything is sealed under the active key.');
    expect(await rowOf(1).innerText()).toContain('in use');
    end?.();
    await expect.poll(() => rowOf(1).innerText()).toContain('its line may be removed');
    expect(visited.faults).toEqual([]);
  });
});
