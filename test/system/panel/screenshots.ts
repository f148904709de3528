import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { chromium, type Page } from 'playwright-core';
import { buildPages } from '../../../scripts/build-web.ts';
import { seedAccount, userLink, type Where } from '../../support/panel/seeded-panel.ts';
import { MusterProcess } from '../../support/service/muster-process.ts';
import { PAGES } from './panel-pages.ts';

/*
 * `npm run screenshots`: every page of the panel at three widths, light and dark, into docs/panel. They are looked at,
 * and compared with nothing: a font of another machine is no fault.
 */

const FOLDER = resolve(import.meta.dirname, '../../../docs/panel');
const WIDTHS = [360, 768, 1440];
const SCHEMES = ['light', 'dark'] as const;
const PASSWORD = 'four plain words, kept';
const only = process.argv[2];

await buildPages();
const data = mkdtempSync(join(tmpdir(), 'muster-screenshots-'));
await using muster = await MusterProcess.start({ MUSTER_DATA_DIR: data });
const where: Where = muster;
const account = await seedAccount(where);
const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium' });
try {
  mkdirSync(FOLDER, { recursive: true });
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  await door(page);
  for (const { name, path, shows } of PAGES) {
    if (only !== undefined && only !== name) continue;
    await page.goto(address(path(account)));
    await page.getByText(shows).first().waitFor();
    await page.locator('.skeleton').first().waitFor({ state: 'detached' });
    await shots(page, name);
  }
} finally {
  await browser.close();
  rmSync(data, { recursive: true, force: true });
}

function address(path: string): string {
  return where.panel.replace('127.0.0.1', 'localhost') + path;
}

/** The pages before one is signed in, and then the sign-in by a link. */
async function door(page: Page): Promise<void> {
  await page.goto(address('/sign-in'));
  await page.getByLabel('Password').waitFor();
  if (only === undefined || only === 'sign-in') await shots(page, 'sign-in');
  const { hash } = new URL(await userLink(where, 'ann@example.com', 'operator'));
  await page.goto(address(`/link${hash}`));
  await page.getByLabel('Password').fill(PASSWORD);
  if (only === undefined || only === 'link') await shots(page, 'link');
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.getByRole('button', { name: /^Your menu/ }).waitFor();
}

async function shots(page: Page, name: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      // The colours of the page are those of the scheme from the next frame on.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      const path = join(FOLDER, `${name}-${width}-${colorScheme}.jpg`);
      await page.screenshot({ path, type: 'jpeg', quality: 60, fullPage: width !== 1440 });
    }
  }
}
