import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildPages } from '../../../scripts/build-web.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { seedAccount, userLink, type SeededAccount } from '../../support/panel/seeded-panel.ts';
import { KEY_FILE_TEXT } from '../../support/service/muster.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findChromium, NO_CHROMIUM, openChromium, press, visit } from '../browser/chromium.ts';
import { acceptLink, atPanel, enterPassword, openPage, operatorVisit } from './panel-browser.ts';

/* Two replicas on etcd, each with browsers of its own. */

const chromium = findChromium();
const etcd = findEtcd();
const missing = chromium === undefined ? NO_CHROMIUM : etcd === undefined ? NO_ETCD : undefined;
const title = missing === undefined ? 'the panel of two replicas' : `the panel of two replicas (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(title, () => {
  let cluster: EtcdCluster;
  let replicas: readonly [MusterProcess, MusterProcess];
  let account: SeededAccount;
  let browser: Browser;
  beforeAll(async () => {
    await buildPages();
    cluster = await EtcdCluster.start({ binary: etcd ?? '', unsafeNoFsync: true });
    const folder = scratchDirectory('panel-replicas');
    const keyFile = join(folder, 'keys');
    writeFileSync(keyFile, KEY_FILE_TEXT, { mode: 0o600 });
    const start = (name: string) =>
      MusterProcess.start({
        MUSTER_STORE: `etcd:${cluster.urls.join(',')}`,
        MUSTER_KEY_FILE: keyFile,
        MUSTER_DATA_DIR: join(folder, name),
      });
    replicas = [await start('first'), await start('second')];
    account = await seedAccount(replicas[0], 6);
    browser = await openChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    for (const replica of replicas ?? []) await replica[Symbol.asyncDispose]();
    await cluster?.[Symbol.asyncDispose]();
  });

  test('what one browser changes at one replica, another sees at the other; two who save are told of each other', async () => {
    const [first, second] = replicas;
    await using ann = await operatorVisit(browser, first, 'ann@example.com');
    await using bob = await operatorVisit(browser, second, 'bob@example.com');
    const path = `/accounts/${account.accountId}/configuration`;
    await openPage(ann.page, first, path, /set the configuration/);
    await openPage(bob.page, second, path, /set the configuration/);
    await bob.page.getByLabel('Endpoint').fill('https://bob.example.com');
    await ann.page.getByLabel('Endpoint').fill('https://ann.example.com');
    await press(ann.page.getByRole('button', { name: 'Review the change' }));
    await press(ann.page.getByRole('dialog').getByRole('button', { name: 'Save' }));
    await expect.poll(() => bob.page.locator('main').innerText()).toContain('https://ann.example.com');
    expect(await bob.page.getByLabel('Endpoint').inputValue()).toBe('https://bob.example.com');
  });

  test('a session that is ended in the middle of a task is out at once, at the other replica too', async () => {
    const [first, second] = replicas;
    await using ann = await operatorVisit(browser, first, 'ends@example.com');
    await openPage(ann.page, first, '/me', /this one/);
    await using elsewhere = await visit(browser);
    await elsewhere.page.goto(atPanel(second, `http://panel/sign-in`));
    await enterPassword(elsewhere.page, 'ends@example.com');
    await openPage(elsewhere.page, second, `/accounts/${account.accountId}/apps`, /edge-001/);
    await press(elsewhere.page.getByRole('button', { name: 'Add many daemons' }));
    await press(ann.page.getByRole('button', { name: /^End the session of/ }).first());
    await elsewhere.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  test('a replica that dies under an open page: the page says that it is offline, and goes on when one answers', async () => {
    const [first, second] = replicas;
    const link = await userLink(first, 'dies@example.com', 'operator');
    await using dies = await visit(browser);
    const { page } = dies;
    await acceptLink(page, second, link);
    await openPage(page, second, `/accounts/${account.accountId}/apps`, /edge-001/);
    await second.end('SIGKILL');
    await press(page.getByRole('link', { name: 'API keys' }));
    await expect.poll(() => page.locator('main').innerText()).toMatch(/cannot be reached/);
    // The balancer has another replica; here the page comes to it by its own address.
    const cookie = (await page.context().cookies()).find(({ name }) => /^muster_\d+$/.test(name));
    const port = new URL(first.panel).port;
    await page
      .context()
      .addCookies([
        { name: `muster_${port}`, value: cookie?.value ?? '', domain: 'localhost', path: '/', httpOnly: true },
      ]);
    await openPage(page, first, `/accounts/${account.accountId}/keys`, /Last used/);
  });
});
