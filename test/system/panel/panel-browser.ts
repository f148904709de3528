import { expect } from 'vitest';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { buildPages } from '../../../scripts/build-web.ts';
import type { GivenRole } from '../../../src/domain/users/user-state.ts';
import { seedAccount, userLink, type SeededAccount, type Where } from '../../support/panel/seeded-panel.ts';
import { Muster } from '../../support/service/muster.ts';
import { openChromium, press, visit, type Visit } from '../browser/chromium.ts';

/* One person in a browser before the panel. */

export const PASSWORD = 'four plain words, kept';

/** Signs a new user in by the link that the operator sends. The address of the panel is that of its link. */
export async function signInByLink(
  visited: Visit,
  where: Where,
  login: string,
  role: GivenRole = 'operator',
): Promise<void> {
  await acceptLink(visited.page, where, await userLink(where, login, role));
}

/** Accepts the link of a first sign-in. */
export async function acceptLink(page: Page, where: Pick<Where, 'panel'>, link: string): Promise<void> {
  await page.goto(atPanel(where, link));
  await page.getByLabel('Password').fill(PASSWORD);
  await untilEntered(page, page.getByLabel('Password'));
}

/** Signs in by the name and `PASSWORD`. */
export async function enterPassword(page: Page, login: string): Promise<void> {
  await fillSignIn(page, login);
  await untilEntered(page, page.getByLabel('Password'));
}

async function fillSignIn(page: Page, login: string): Promise<void> {
  await page.getByLabel('Name').fill(login);
  await page.getByLabel('Password').fill(PASSWORD);
}

/** The words of a refusal that passes, as while the store is slow; the person tries again. */
const PASSES = /It can be tried again/;

/** Sends the form of the field until its person is signed in. */
async function untilEntered(page: Page, field: Locator): Promise<void> {
  const passes = page.getByText(PASSES);
  do {
    // The key, for a hook of the runner has no expect.poll.
    await field.press('Enter');
    // The words before are gone as soon as the form is sent.
    await userMenu(page).or(passes).first().waitFor();
  } while (await passes.isVisible());
}

/** A name that somebody may choose: markup, another direction, marks that pile up. */
export const HOSTILE = `<img src=x onerror=alert(1)>\u202Egnp.exe${'a\u0301'.repeat(20)}`;

/** Types the name and `PASSWORD` on the sign-in page, and sends them; what follows is up to the service. */
export async function signInByPassword(page: Page, login: string): Promise<void> {
  await fillSignIn(page, login);
  await press(page.getByRole('button', { name: 'Sign in', exact: true }));
}

const userMenu = (page: Page): Locator => page.getByRole('button', { name: /^Your menu/ });

/** The frame of the pages is there, which is for the signed-in alone. */
export const untilSignedIn = (page: Page): Promise<void> => userMenu(page).waitFor();

export const openUserMenu = (page: Page): Promise<void> => press(userMenu(page));

/** Presses it; what follows is up to the page. */
export async function pressSignOut(page: Page): Promise<void> {
  await openUserMenu(page);
  await press(page.getByRole('button', { name: 'Sign out' }));
}

export async function signOut(page: Page): Promise<void> {
  await pressSignOut(page);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

/** The service is reached by its port alone, whatever name its links have. */
export function atPanel({ panel }: Pick<Where, 'panel'>, url: string): string {
  const { pathname, search, hash } = new URL(url);
  return `${panel.replace('127.0.0.1', 'localhost')}${pathname}${search}${hash}`;
}

/** A page, once it has read what it shows. */
export async function openPage(page: Page, where: Pick<Where, 'panel'>, path: string, shows: RegExp): Promise<void> {
  await page.goto(atPanel(where, `http://panel${path}`));
  await expect.poll(async () => await page.locator('main').innerText()).toMatch(shows);
  await expect.poll(async () => await page.locator('.skeleton').count()).toBe(0);
}

/** A signed-in operator in a profile of his own. */
export async function operatorVisit(
  browser: Browser,
  where: Where,
  login: string,
  options: BrowserContextOptions = {},
): Promise<Visit> {
  const visited = await visit(browser, options);
  await signInByLink(visited, where, login);
  return visited;
}

/** A service with an account of some weeks, and an operator in a browser before its panel. */
export interface PanelWorld extends AsyncDisposable {
  readonly muster: Muster;
  readonly browser: Browser;
  readonly account: SeededAccount;
  readonly visited: Visit;
  readonly page: Page;
}

/** Opens a world for the tests of one file. @param executablePath as `findChromium` answers it */
export async function openWorld(
  executablePath: string | undefined,
  apps: number,
  options: BrowserContextOptions = {},
): Promise<PanelWorld> {
  await using opening = new AsyncDisposableStack();
  await buildPages();
  const muster = opening.use(await Muster.start());
  const account = await seedAccount(muster, apps);
  const browser = await openChromium(executablePath ?? '');
  opening.defer(() => browser.close());
  const visited = opening.use(await operatorVisit(browser, muster, 'ann@example.com', options));
  const opened = opening.move();
  return { muster, browser, account, visited, page: visited.page, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Presses Done in a dialog whose secret nobody has copied, and that one is closed all the same. */
export async function leaveSecret(page: Page): Promise<void> {
  await press(page.getByRole('dialog').getByRole('button', { name: 'Done' }));
  await press(page.getByRole('button', { name: 'Close anyway' }));
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0);
}

/** A new user who has accepted an invitation as a viewer of the account. */
export async function viewerVisit({ muster, browser, account, page }: PanelWorld, login: string): Promise<Visit> {
  await openPage(page, muster, `/accounts/${account.accountId}/members?new=invitation`, /Members/);
  const dialog = page.getByRole('dialog');
  await press(dialog.getByRole('button', { name: 'Make the link' }));
  const link = await dialog.locator('.secret code').innerText();
  await leaveSecret(page);
  await using opening = new AsyncDisposableStack();
  const viewer = opening.use(await visit(browser));
  await viewer.page.goto(atPanel(muster, link));
  await viewer.page.getByLabel('Your name').fill('Viewer');
  await viewer.page.getByLabel('Name to sign in with').fill(login);
  await viewer.page.getByLabel('Password').fill(PASSWORD);
  await viewer.page.getByLabel('Password').press('Enter');
  await untilSignedIn(viewer.page);
  opening.move();
  return viewer;
}
