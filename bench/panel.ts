import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { chromium, type BrowserContext, type Page } from 'playwright-core';
import { buildPages } from '../scripts/build-web.ts';
import { seedAccount, userLink, type SeededAccount } from '../test/support/panel/seeded-panel.ts';
import { MusterProcess } from '../test/support/service/muster-process.ts';
import { median } from './median.ts';

/*
 * `npm run bench:panel`: what the overview costs on its first load, with the processor throttled, beside an empty page of
 * the same run; the longest task while a list of 1000 apps scrolls; and how long 1000 apps take to be created and
 * revoked, by ten requests each. Chromium is /usr/bin/chromium, or `CHROMIUM`.
 */

const ROUNDS = Number(process.env['BENCH_ROUNDS'] ?? 7);
const THROTTLE = 4;
const WANTED = { kilobytes: 120, usableMs: 1000, shift: 0.01, taskMs: 50, batchesMs: 5000 };
const BATCH = 100;
const ROWS = 1000;
const PASSWORD = 'four plain words, kept';

/** Runs in the page before anything else: notes when it is usable, what shifted, and the tasks of more than 50 ms. */
const PROBE = `
globalThis.probe = { usable: undefined, shift: 0, tasks: [] };
new PerformanceObserver((list) => { for (const entry of list.getEntries()) probe.shift += entry.value; })
  .observe({ type: 'layout-shift', buffered: true });
new PerformanceObserver((list) => { for (const entry of list.getEntries()) probe.tasks.push(entry.duration); })
  .observe({ type: 'longtask', buffered: true });
new MutationObserver(() => {
  const isThere = document.querySelector('main h1, main h2') && !document.querySelector('.skeleton');
  probe.usable = isThere ? (probe.usable ?? performance.now()) : undefined;
}).observe(document, { childList: true, subtree: true });
`;
declare const probe: { usable?: number; shift: number; tasks: number[] };

interface Load {
  readonly usableMs: number;
  readonly kilobytes: number;
  readonly shift: number;
}

/** One load by a browser that has nothing of the panel but its session. */
async function load(context: BrowserContext, address: string): Promise<Load> {
  const page = await context.newPage();
  try {
    await page.addInitScript(PROBE);
    const session = await context.newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    await session.send('Emulation.setCPUThrottlingRate', { rate: THROTTLE });
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
    await page.goto(address);
    await page.waitForFunction('probe.usable !== undefined');
    const { usable = 0, shift } = await page.evaluate(() => probe);
    return { usableMs: usable, kilobytes: bytes / 1024, shift };
  } finally {
    await page.close();
  }
}

/** The longest task of a list while it scrolls from its first row to its last, in milliseconds; under 50 it is not told. */
async function scrolled(context: BrowserContext, address: string): Promise<{ rows: number; longestMs: number }> {
  const page = await context.newPage();
  try {
    await page.addInitScript(PROBE);
    await manyApps(page);
    await page.goto(address);
    await page.waitForFunction('probe.usable !== undefined');
    await page.evaluate('probe.tasks.length = 0');
    const rows = await page.evaluate<number>(`(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      for (let at = 0; at < document.documentElement.scrollHeight; at += 200) { scrollTo(0, at); await frame(); }
      return document.querySelectorAll('tbody tr').length;
    })()`);
    const { tasks } = await page.evaluate(() => probe);
    return { rows, longestMs: Math.max(0, ...tasks) };
  } finally {
    await page.close();
  }
}

/** The real list, repeated until it has a thousand rows, of which some are enrolled. */
async function manyApps(page: Page): Promise<void> {
  await page.route('**/panel/v1/accounts/*/apps', async (route) => {
    const response = await route.fetch();
    const body = (await response.json()) as { apps: { appId: string; name: string }[] };
    const apps = Array.from({ length: ROWS }, (_, index) => {
      const app = body.apps[index % body.apps.length];
      const appId = index.toString(36).padStart(20, 'a');
      return { ...app, appId, name: `edge-${index}` };
    });
    await route.fulfill({ response, json: { ...body, apps } });
  });
}

/** A thousand apps of a new account, created and revoked by ten requests each, in milliseconds. */
async function inBatches(context: BrowserContext, panel: string): Promise<{ createMs: number; revokeMs: number }> {
  const headers = { origin: new URL(panel).origin };
  const post = async (path: string, data: object): Promise<unknown> => {
    const answer = await context.request.post(`${panel}/accounts${path}`, { headers, data });
    if (!answer.ok()) throw new Error(`${path}: ${answer.status()} ${await answer.text()}`);
    return await answer.json();
  };
  const { accountId } = (await post('', { name: 'batches', entitlement: 'standard' })) as { accountId: string };
  const changed = async (change: string, apps: readonly string[]): Promise<{ ids: string[]; ms: number }> => {
    const ids: string[] = [];
    const startedAt = performance.now();
    for (let at = 0; at < apps.length; at += BATCH) {
      const body = await post(`/${accountId}/apps/batch`, { change, apps: apps.slice(at, at + BATCH) });
      for (const { appId } of (body as { outcomes: { appId?: string }[] }).outcomes)
        if (appId !== undefined) ids.push(appId);
    }
    if (ids.length !== apps.length) throw new Error(`${change}: of ${apps.length} apps ${ids.length} were not refused`);
    return { ids, ms: performance.now() - startedAt };
  };
  const names = Array.from({ length: ROWS }, (_, index) => `edge-${index}`);
  const created = await changed('create', names);
  return { createMs: created.ms, revokeMs: (await changed('revoke', created.ids)).ms };
}

async function signedIn(context: BrowserContext, muster: MusterProcess): Promise<(path: string) => string> {
  const origin = muster.panel.replace('127.0.0.1', 'localhost');
  const link = new URL(await userLink(muster, 'bench@example.com', true));
  const page = await context.newPage();
  await page.goto(`${origin}${link.pathname}${link.hash}`);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByLabel('Password').press('Enter');
  await page.getByRole('button', { name: 'Sign out' }).waitFor();
  await page.close();
  return (path) => `${origin}${path}`;
}

async function measure(muster: MusterProcess, account: SeededAccount): Promise<void> {
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium' });
  try {
    const context = await browser.newContext({ bypassCSP: true });
    const at = await signedIn(context, muster);
    await context.route('**/empty-page', (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html><main><h1>Empty</h1></main>' }),
    );
    const empty: Load[] = [];
    const overview: Load[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      empty.push(await load(context, at('/empty-page')));
      overview.push(await load(context, at(`/accounts/${account.accountId}`)));
    }
    const usable = median(overview.map(({ usableMs }) => usableMs));
    const bare = median(empty.map(({ usableMs }) => usableMs));
    const kilobytes = Math.max(...overview.map((one) => one.kilobytes));
    const shift = Math.max(...overview.map((one) => one.shift));
    const { rows, longestMs } = await scrolled(context, at(`/accounts/${account.accountId}/apps`));
    const { createMs, revokeMs } = await inBatches(context, at('/panel/v1'));
    const row = (what: string, value: string, isKept: boolean, wanted: string): void =>
      void process.stdout.write(`| ${what} | ${value}${isKept ? '' : ` MISSED: ${wanted}`} |\n`);
    process.stdout.write(`| The overview, its first load, processor throttled ${THROTTLE} times | |\n| --- | --- |\n`);
    row('usable, ms', usable.toFixed(0), usable <= WANTED.usableMs, `≤ ${WANTED.usableMs}`);
    row('times an empty page', (usable / bare).toFixed(1), true, '');
    row('all that came, KB compressed', kilobytes.toFixed(1), kilobytes <= WANTED.kilobytes, `≤ ${WANTED.kilobytes}`);
    row('layout shift', shift.toFixed(4), shift <= WANTED.shift, `≤ ${WANTED.shift}`);
    const longest = longestMs === 0 ? 'under 50' : longestMs.toFixed(0);
    row(`longest task while ${rows} rows scroll, ms`, longest, longestMs <= WANTED.taskMs, `≤ ${WANTED.taskMs}`);
    const isSoon = createMs + revokeMs <= WANTED.batchesMs;
    const requests = ROWS / BATCH;
    row(
      `${ROWS} apps created by ${requests} requests, ms`,
      createMs.toFixed(0),
      isSoon,
      `≤ ${WANTED.batchesMs} with the next`,
    );
    row(
      `${ROWS} apps revoked by ${requests} requests, ms`,
      revokeMs.toFixed(0),
      isSoon,
      `≤ ${WANTED.batchesMs} with the last`,
    );
  } finally {
    await browser.close();
  }
}

await buildPages();
const data = mkdtempSync(join(tmpdir(), 'muster-bench-panel-'));
try {
  await using muster = await MusterProcess.start({ MUSTER_DATA_DIR: data });
  await measure(muster, await seedAccount(muster, 20));
} finally {
  rmSync(data, { recursive: true, force: true });
}
