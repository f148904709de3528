import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { API_NAMES, APIS, type ApiName } from '../../../src/api/openapi/apis.ts';
import { documentOf } from '../../../src/api/openapi/document.ts';
import type { CodeSample } from '../../../src/api/openapi/samples.ts';
import type { Store } from '../../../src/store/port.ts';
import { signedIn } from '../../support/panel/panel-users.ts';
import { Muster, OPERATOR_TOKEN, tenant, type Tenant } from '../../support/service/muster.ts';
import { findChromium, NO_CHROMIUM, openChromium, press, visit, type Visit } from './chromium.ts';

/* The reference page (ADR 0037) in a real browser. */

const chromium = findChromium();
const title = chromium === undefined ? `the reference page (skipped: ${NO_CHROMIUM})` : 'the reference page';

interface Documented {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly 'x-codeSamples': readonly CodeSample[] }>>>
  >;
}

/** The samples of an operation, as its document has them. */
const samplesOf = (api: ApiName, path: string, method: string): readonly CodeSample[] =>
  (documentOf(api) as Documented).paths[path]?.[method]?.['x-codeSamples'] ?? [];

const operation = (page: Page, id: string) => page.locator(`[id^="operations-"][id$="-${id}"]`);

describe.skipIf(chromium === undefined)(title, () => {
  let muster: Muster;
  let store: Store;
  let browser: Browser;
  let account: Tenant;
  beforeAll(async () => {
    muster = await Muster.start({ wrapStore: (opened) => (store = opened) });
    account = await tenant(muster);
    browser = await openChromium(chromium ?? '');
  });
  afterAll(async () => {
    await browser?.close();
    await muster?.[Symbol.asyncDispose]();
  });

  /** Opens the page; `where` is its query and fragment. */
  async function open(where = '', options?: BrowserContextOptions): Promise<Visit> {
    const visited = await visit(browser, options);
    await visited.page.goto(`${muster.ops}/docs${where}`);
    await visited.page.locator('.opblock').first().waitFor();
    return visited;
  }

  /** Enters the operator's token, and sends the open operation. */
  async function tryOut(page: Page): Promise<void> {
    await press(page.locator('.auth-wrapper .authorize'));
    await page.locator('#auth-bearer-value').fill(OPERATOR_TOKEN);
    await press(page.locator('.auth-btn-wrapper .authorize'));
    await press(page.locator('.auth-btn-wrapper .btn-done'));
    await execute(page);
  }

  async function execute(page: Page): Promise<void> {
    await press(page.locator('.try-out__btn'));
    await press(page.locator('.execute'));
    await page.locator('.live-responses-table .response-col_status').last().waitFor();
  }

  const statusIn = async (page: Page): Promise<string> =>
    (await page.locator('.live-responses-table .response .response-col_status').innerText()).trim();

  const judged = <T>(page: Page, what: 'contrasts' | 'overflow' | 'stored'): Promise<T> =>
    page.evaluate<T>(`judge.${what}()`);

  test.each(API_NAMES)('shows every operation of %s, and where its requests are answered', async (api) => {
    await using visited = await open(`?api=${api}`);
    const { page, requested, faults } = visited;
    expect(await page.locator('.opblock').count()).toBe(APIS[api].operations.length);
    expect(await page.locator('h1').allInnerTexts()).toEqual(['Muster API reference']);
    expect(await page.locator('nav [aria-current]').getAttribute('data-api')).toBe(api);
    expect(await page.locator('#where').innerText()).toContain(
      api === 'operator' ? 'this listener' : 'cannot be tried from here',
    );
    expect(await page.locator('#document').getAttribute('href')).toBe(`openapi/${api}.json`);
    // Authorization and requests are for the API of this listener alone.
    const authorize = await page.locator('.authorize').count();
    expect(authorize).toBe(api === 'operator' ? 1 : 0);
    await press(page.locator('.opblock-summary-control').first());
    await page.locator('.code-samples').waitFor();
    expect(await page.locator('.try-out__btn').count()).toBe(authorize);
    expect(requested.filter((url) => !url.startsWith(muster.ops) && !url.startsWith('data:'))).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('begins with the API of the owners, whatever else is asked for', async () => {
    for (const where of ['', '?api=toString', '?url=https://example.com/openapi.json']) {
      await using visited = await open(where);
      const shown = operation(visited.page, 'createApp').locator('.opblock-summary');
      expect(await shown.innerText()).toMatch(/^POST\s+\/v1\/apps\s+Create an app$/);
      expect(visited.requested.filter((url) => !url.startsWith(muster.ops) && !url.startsWith('data:'))).toEqual([]);
    }
  });

  test('a link leads to an operation, whose samples can be chosen and copied', async () => {
    const samples = samplesOf('v1', '/v1/apps', 'post');
    expect(samples.map(({ label }) => label)).toEqual(['curl', 'TypeScript', 'muster']);
    await using visited = await open('#/Apps/createApp', { permissions: ['clipboard-read', 'clipboard-write'] });
    const { page, faults } = visited;
    const shown = operation(page, 'createApp').locator('.code-samples');
    const pre = shown.locator('pre');
    expect(await pre.innerText()).toBe(samples[0]?.source);
    for (const { label, source } of samples) {
      await press(shown.getByRole('button', { name: label, exact: true }));
      expect(await pre.innerText()).toBe(source);
      await press(shown.getByRole('button', { name: 'Copy' }));
      await expect.poll(() => shown.getByRole('status').innerText()).toBe('Copied');
      expect(await page.evaluate('navigator.clipboard.readText()')).toBe(source);
    }
    // The next operation shows the same language.
    await press(page.locator('#operations-Apps-listApps .opblock-summary-control'));
    expect(await page.locator('#operations-Apps-listApps .code-samples pre').innerText()).toBe('muster apps list');
    expect(faults).toEqual([]);
  });

  test('without TLS, where a page has no clipboard, a sample is copied by its selection', async () => {
    await using visited = await visit(browser);
    const { page } = visited;
    await page.addInitScript("Object.defineProperty(navigator, 'clipboard', { value: undefined })");
    await page.goto(`${muster.ops}/docs#/Apps/createApp`);
    const shown = operation(page, 'createApp').locator('.code-samples');
    await press(shown.getByRole('button', { name: 'Copy' }));
    await expect.poll(() => shown.getByRole('status').innerText()).toBe('Copied');
    expect(await page.evaluate('getSelection().toString()')).toBe(samplesOf('v1', '/v1/apps', 'post')[0]?.source);
  });

  test('a request with the operator’s token is answered, and the token stays in memory alone', async () => {
    await using visited = await open('?api=operator#/Accounts/listAccounts');
    const { page, requested, faults } = visited;
    await execute(page);
    expect(await statusIn(page)).toMatch(/^401/);
    await page.reload();
    await page.locator('.code-samples').waitFor();
    await tryOut(page);
    expect(await statusIn(page)).toMatch(/^200/);
    const body = page.locator('.live-responses-table .response-col_description pre').first();
    expect(await body.innerText()).toContain(account.accountId);

    expect(await judged(page, 'stored')).toEqual([]);
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.content()).not.toContain(OPERATOR_TOKEN);
    expect(requested.filter((url) => !url.startsWith(muster.ops) && !url.startsWith('data:'))).toEqual([]);
    expect(requested.join('\n')).not.toContain(OPERATOR_TOKEN);
    expect(faults).toEqual([]);

    await page.reload();
    await page.locator('.code-samples').waitFor();
    await execute(page);
    expect(await statusIn(page)).toMatch(/^401/);
  });

  test('the field of the token hides it', async () => {
    await using visited = await open('?api=operator');
    await press(visited.page.locator('.auth-wrapper .authorize'));
    const field = visited.page.locator('#auth-bearer-value');
    expect([await field.getAttribute('type'), await field.getAttribute('autocomplete')]).toEqual(['password', 'off']);
  });

  test('the policy forbids what somebody else would put into the page', async () => {
    await using visited = await open();
    const { page, faults } = visited;
    await page.evaluate(`
      document.body.append(Object.assign(document.createElement('script'), { textContent: 'globalThis.ran = true' }));
      document.body.append(Object.assign(new Image(), { src: 'https://example.com/x.png' }));
      fetch('https://example.com/').catch(() => undefined);
    `);
    await expect
      .poll(() => faults.toSorted())
      .toEqual(['connect-src https://example.com/', 'img-src https://example.com/x.png', 'script-src-elem inline']);
    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
  });

  test('in the panel it shows the owners’ API, asks for no secret and sends nothing, whatever its address says', async () => {
    const { token } = await signedIn(store, { operator: true });
    await using visited = await visit(browser);
    const { page, requested, faults } = visited;
    await page.context().addCookies([{ name: `muster_${muster.service.panel.port}`, value: token, url: muster.panel }]);
    for (const where of ['', '?api=operator', '?api=device']) {
      await page.goto(`${muster.panel}/docs${where}#/Apps/createApp`);
      await page.locator('.opblock.is-open .code-samples').waitFor();
      expect(await page.locator('.opblock').count()).toBe(APIS.v1.operations.length);
      expect(await page.locator('.authorize, .authorization__btn, .try-out__btn, .execute, nav').count()).toBe(0);
      expect(await page.locator('body').innerText()).not.toMatch(/operator token|operator\/v1/i);
    }
    expect(requested.filter((url) => !url.startsWith(muster.panel) || url.includes('operator.json'))).toEqual([]);
    expect(faults).toEqual([]);
  });

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([360, 1440])('at a width of %i all can be read, and nothing hangs over', async (width) => {
      await using visited = await open('#/Configuration/storeOtelConfig', {
        colorScheme,
        viewport: { width, height: 900 },
      });
      const { page, faults } = visited;
      const all = operationsToOpen(page);
      await all(['createApp', 'listApps', 'deleteApp']);
      expect(await readable(page)).toEqual([]);
      expect(await judged(page, 'overflow')).toBe(0);
      await page.goto(`${muster.ops}/docs?api=operator#/Accounts/listAccounts`);
      await page.locator('.code-samples').waitFor();
      await press(page.locator('.auth-wrapper .authorize'));
      expect(await readable(page)).toEqual([]);
      await press(page.locator('.auth-btn-wrapper .btn-done'));
      await tryOut(page);
      await all(['changeAccount']);
      await showSchemas(page);
      expect(await readable(page)).toEqual([]);
      expect(await judged(page, 'overflow')).toBe(0);
      expect(faults).toEqual([]);
      // What a person does not read is found: in the colours of both schemes a grey lies between.
      await page.evaluate("document.querySelector('h1').style.color = '#808080'");
      expect(await readable(page)).toEqual(['Muster API reference']);
      await page.evaluate("document.querySelector('h1').style.width = '2000px'");
      expect(await judged(page, 'overflow')).toBeGreaterThan(0);
    });
  });

  const operationsToOpen =
    (page: Page) =>
    async (ids: readonly string[]): Promise<void> => {
      for (const id of ids) {
        await press(operation(page, id).locator('.opblock-summary-control'));
        await operation(page, id).locator('.code-samples').waitFor();
      }
    };

  /** In place of the examples, with all that they hold. */
  async function showSchemas(page: Page): Promise<void> {
    const press = (buttons: string, text: string): Promise<void> =>
      page.evaluate(
        `for (const button of document.querySelectorAll('${buttons}')) if (button.innerText === '${text}') button.click()`,
      );
    await press('.opblock .tablinks', 'Schema');
    await page.locator('.opblock .json-schema-2020-12-expand-deep-button').first().waitFor();
    await press('.opblock .json-schema-2020-12-expand-deep-button', 'Expand all');
    await page.locator('.opblock .json-schema-2020-12__constraint').first().waitFor();
  }

  /** The texts whose contrast is below 4.5, the bound of WCAG 2 AA. */
  async function readable(page: Page): Promise<readonly string[]> {
    const texts = await judged<readonly { readonly text: string; readonly contrast: number }[]>(page, 'contrasts');
    expect(texts.length).toBeGreaterThan(50);
    return texts.filter(({ contrast }) => contrast < 4.5).map(({ text }) => text);
  }

  test('what has the focus is seen', async () => {
    await using visited = await open();
    const { page } = visited;
    const seen: string[] = [];
    for (let step = 0; step < 8; step += 1) {
      await page.keyboard.press('Tab');
      seen.push(
        await page.evaluate<string>(
          '(({ outlineStyle, outlineWidth }) => `${outlineWidth} ${outlineStyle}`)(getComputedStyle(document.activeElement))',
        ),
      );
    }
    expect(new Set(seen)).toEqual(new Set(['3px solid']));
    expect(await page.evaluate("document.activeElement.closest('#reference') !== null")).toBe(true);
  });
});
