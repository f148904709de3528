import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { chromium, type Browser, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { expect } from 'vitest';

/** What in-page.js puts into each page. */
declare const judge: { press: (element: unknown) => string };

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
/** Of one step: others use this machine, too. */
const PATIENCE_MS = 120_000;

/**
 * The browser to test in. Undefined where there is none; in CI that is a failure, since a skipped test proves nothing.
 */
export function findChromium(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (found === undefined && process.env['CI']) throw new Error('CI needs chromium: apt-get install chromium.');
  return found;
}

/** Why the tests in a browser are skipped, to be printed where they are. */
export const NO_CHROMIUM = 'no chromium in PATH: apt-get install chromium';

/** A browser that asks its maker for nothing. @param executablePath of `findChromium` */
export const openChromium = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, timeout: PATIENCE_MS, args: ['--disable-background-networking'] });

/** One person at one page: what the browser was asked for, and what its policy forbade. */
export interface Visit extends AsyncDisposable {
  readonly page: Page;
  /** The addresses of all requests. */
  readonly requested: readonly string[];
  /** Violations of the Content-Security-Policy, and errors that no script caught. */
  readonly faults: readonly string[];
}

/** A fresh profile in the browser, with `judge` (in-page.js) in each of its pages. */
export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE_MS);
  const requested: string[] = [];
  const faults: string[] = [];
  await context.exposeBinding('violated', (_source, what: string) => void faults.push(what));
  await context.addInitScript({ path: join(import.meta.dirname, 'in-page.js') });
  const page = await context.newPage();
  page.on('request', (request) => requested.push(request.url()));
  page.on('pageerror', ({ message }) => faults.push(message));
  return { page, requested, faults, [Symbol.asyncDispose]: () => context.close() };
}

/**
 * Clicks what a person could click: it is shown, and nothing covers its middle. Chromium at times draws no frame of a
 * page on a busy machine (3 of 250 visits), and a click of playwright's own waits for two of them for ever; this one
 * needs none.
 */
export async function press(target: Locator): Promise<void> {
  await target.waitFor();
  await expect.poll(() => target.evaluate((element) => judge.press(element))).toBe('pressed');
}
