import { describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { forgingProvider, type Forgery } from '../../support/panel/forging-provider.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { ask, panelMuster, putUser, rewrite, signedIn, type PanelMuster } from '../../support/panel/panel-users.ts';
import { problemOf, secretFile, signing, type Signing } from '../../support/panel/signing.ts';
import { call, type Answer } from '../../support/service/muster.ts';

/* A proof of the person (A18) at a provider: what it says of the time, and of a second factor. */

const PAGES: ReadonlySet<string> = new Set(['/', '/me', '/proved', '/sign-in']);
const isPage = ({ pathname }: URL): boolean => PAGES.has(pathname);
const nowSeconds = (): number => Math.floor(Date.now() / 1000);

interface AtProvider extends AsyncDisposable {
  readonly panel: PanelMuster;
  readonly home: URL;
  readonly asked: readonly URLSearchParams[];
  readonly browser: RedirectedBrowser;
  /** The token of the browser's session. */
  readonly token: () => string;
  /** Goes to an address of the panel, and on until a page. */
  go(path: string): Promise<URL>;
}

/** A panel with a provider that says what the test wants, and a browser that has signed in there. */
async function atProvider(claims: Forgery['claims'], env: Record<string, string> = {}): Promise<AtProvider> {
  const forger = await forgingProvider({ claims: claims ?? {} });
  const panel = await panelMuster(undefined, {
    env: {
      ...env,
      MUSTER_OIDC_NEWCOMERS: 'all',
      MUSTER_OIDC_ISSUER: forger.issuer,
      MUSTER_OIDC_CLIENT_ID: 'muster',
      MUSTER_OIDC_CLIENT_SECRET_FILE: secretFile(),
    },
  });
  const home = new URL(panel.muster.panel.replace('127.0.0.1', 'localhost'));
  const browser = new RedirectedBrowser();
  const it: AtProvider = {
    panel,
    home,
    asked: forger.asked,
    browser,
    token: () => browser.cookie(home, `muster_${home.port}`) ?? '',
    go: async (path) => (await browser.go(`${home.origin}/panel/v1${path}`, isPage)).url,
    async [Symbol.asyncDispose]() {
      await panel[Symbol.asyncDispose]();
      await forger[Symbol.asyncDispose]();
    },
  };
  await it.go('/sign-in/provider');
  return it;
}

const asks = ({ panel, token }: AtProvider, path: string): Promise<Answer> => ask(panel, { token: token() }, path);

describe('a proof at a provider', () => {
  test.each<[says: string, seconds: number | undefined, sooner: number]>([
    ['nothing of the time', undefined, 403],
    ['that it was ten minutes and more ago', nowSeconds() - LIMITS.freshProofMs / 1000 - 5, 403],
    ['that it was a moment ago', nowSeconds(), 204],
    ['that it will be in half a minute', nowSeconds() + 30, 204],
    ['that it will be in two minutes and more', nowSeconds() + 150, 403],
    ['that it will be at the end of all time', 1e300, 403],
  ])('of a provider that says %s', async (_says, seconds, status) => {
    await using it = await atProvider(seconds === undefined ? {} : { auth_time: seconds });
    expect((await asks(it, '/me/proof')).status).toBe(status);
    const page = await it.go('/me/proof/provider');
    expect([page.pathname, problemOf(page)]).toEqual(['/proved', status === 204 ? null : 'proof_missing']);
    expect((await asks(it, '/me/proof')).status).toBe(status);
    const [signIn, proof] = it.asked;
    expect([signIn?.get('max_age'), proof?.get('max_age'), proof?.get('prompt')]).toEqual([null, '600', 'login']);
  });

  test('of a clock that is half a minute ahead lasts ten minutes all the same', async () => {
    await using it = await atProvider({ auth_time: nowSeconds() + 30 });
    const { entries } = await it.panel.store.list({ prefix: 'd/s/', limit: 10 });
    const { proof, createdAt } = JSON.parse(entries[0]?.value ?? '{}') as { proof: { at: number }; createdAt: number };
    expect(proof.at).toBeLessThanOrEqual(createdAt);
  });

  test('of another identity, or in another browser, proves nothing', async () => {
    await using it = await signing();
    await it.provider.set({ user: 'ann' });
    const { browser, token } = await it.signIn();
    await it.provider.set({ user: 'bob' });
    const at = `${it.origin.origin}/panel/v1/me/proof/provider`;
    // A browser that is not signed in at the provider yet.
    const elsewhere = new RedirectedBrowser();
    elsewhere.set(it.origin, `muster_${it.origin.port}`, token ?? '');
    const other = await elsewhere.go(at, isPage);
    expect([other.url.pathname, problemOf(other.url)]).toEqual(['/proved', 'other_identity']);
    // Nobody but Ann is signed in.
    expect((await ask(it.panel, { token: token ?? '' }, '/me')).body['name']).toBe('ann of the provider');
    expect((await ask(it.panel, { token: token ?? '' }, '/me/proof')).status).toBe(403);
    await it.provider.set({ user: 'ann' });
    const { response } = await browser.go(at, ({ pathname }) => pathname.endsWith('/callback'));
    const thief = new RedirectedBrowser();
    thief.keep(it.origin, response.headers);
    const page = await thief.go(response.headers.get('location') ?? '', isPage);
    expect(problemOf(page.url)).toBe('expired');
    expect((await browser.go(at, isPage)).url.href).toBe(`${it.origin.origin}/proved`);
    expect(await isProved(it, browser)).toBe(true);
  });

  test('of another session of the same user proves nothing', async () => {
    await using it = await signing();
    await it.provider.set({ user: 'ann' });
    const { browser, token } = await it.signIn();
    const { userId } = (await ask(it.panel, { token: token ?? '' }, '/me')).body as { userId: string };
    const at = `${it.origin.origin}/panel/v1/me/proof/provider`;
    const { response } = await browser.go(at, ({ pathname }) => pathname.endsWith('/callback'));
    const own = await signedIn(it.panel.store, userId, { proof: undefined });
    const other = new RedirectedBrowser();
    const flow = `muster-flow_${it.origin.port}`;
    other.set(it.origin, flow, browser.cookie(it.origin, flow) ?? '');
    other.set(it.origin, `muster_${it.origin.port}`, own.token);
    const { url } = await other.go(response.headers.get('location') ?? '', isPage);
    expect([problemOf(url), await isProved(it, other)]).toEqual(['expired', false]);
  });

  test('links an identity only while it is fresh, also when the browser comes back', async () => {
    await using it = await signing();
    const userId = await putUser(it.panel.store);
    const session = await signedIn(it.panel.store, userId);
    const cookie = `muster_${it.origin.port}`;
    const asked = await call(`${it.origin.origin}/panel/v1/me/provider`, {
      method: 'POST',
      body: {},
      headers: { 'content-type': 'application/json', cookie: `${cookie}=${session.token}`, origin: it.origin.origin },
    });
    const browser = new RedirectedBrowser();
    browser.keep(it.origin, asked.headers);
    browser.set(it.origin, cookie, session.token);
    const stale = { at: Date.now() - LIMITS.freshProofMs - 1, by: 'password' };
    await rewrite(it.panel, KEYS.session(session.sessionId), (record) => ({ ...record, proof: stale }));
    const end = await browser.go(String(asked.body['url']), isPage);
    expect(problemOf(end.url)).toBe('proof_required');
    expect((await ask(it.panel, session, '/me')).body['methods']).toMatchObject({ provider: false });
  });
});

const isProved = async ({ origin, panel }: Signing, browser: RedirectedBrowser): Promise<boolean> => {
  const token = browser.cookie(origin, `muster_${origin.port}`) ?? '';
  return (await ask(panel, { token }, '/me/proof')).status === 204;
};

describe('the second factor of a provider', () => {
  test.each<[amr: unknown, configured: string | undefined, required: boolean]>([
    [['pwd', 'mfa'], 'mfa hwk', false],
    [['pwd'], 'mfa hwk', true],
    [['pwd', 'mfa'], undefined, true],
    ['mfa', 'mfa', true],
    [undefined, 'mfa', true],
  ])('amr %j counts where %j is configured: required is then %j', async (amr, configured, required) => {
    await using it = await atProvider(amr === undefined ? {} : { amr }, {
      MUSTER_PANEL_SECOND_FACTOR: 'all',
      ...(configured !== undefined && { MUSTER_OIDC_SECOND_FACTOR: configured }),
    });
    expect((await asks(it, '/me')).body['session']).toMatchObject({ secondFactorRequired: required });
    expect((await asks(it, '/me/sessions')).status).toBe(required ? 403 : 200);
  });
});
