import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { RedirectedBrowser } from '../../support/panel/oidc-provider.ts';
import { ask, panelMuster, putUser, rewrite, signedIn } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { signing } from '../../support/panel/signing.ts';
import { enteredUser, GOOD_PASSWORD, OTHER_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { call, type Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';

/* A18: whoever changes a way in goes on under another token, and a copy of the cookie does not. */

const IDENTITY = { issuer: 'https://id.example.com', subject: 'ann', name: 'Ann', linkedAt: 1 };

interface Change {
  readonly says: string;
  readonly status: number;
  /** Whether other sessions of the user go on. */
  readonly others: boolean;
  /** Makes what the change takes, and then the change. */
  readonly prepare: (visitor: Visitor) => Promise<() => Promise<Answer>>;
}

const CHANGES: readonly Change[] = [
  {
    says: 'another password',
    status: 204,
    others: false,
    prepare: async (visitor) => () =>
      visitor.ask('/me/password', { method: 'PUT', body: { current: GOOD_PASSWORD, password: OTHER_PASSWORD } }),
  },
  {
    says: 'the removal of a passkey',
    status: 204,
    others: true,
    async prepare(visitor) {
      const { id } = await withPasskey(visitor);
      return () => visitor.ask(`/me/passkeys/${id}`, { method: 'DELETE' });
    },
  },
  {
    says: 'the unlinking of an identity',
    status: 204,
    others: true,
    prepare: async (visitor) => () => visitor.ask('/me/provider', { method: 'DELETE' }),
  },
];

onEachBackend('the session in which a way in is changed', (backend) => {
  test.each(CHANGES)('$says gives it another token in the same commit', async ({ status, others, prepare }) => {
    const before = new BeforeCommit('d/s/');
    await using panel = await panelMuster(backend, { wrapStore: before.wrapStore });
    const { visitor, userId } = await enteredUser(panel.muster);
    await rewrite(panel, KEYS.user(userId), (record) => ({ ...record, identities: [IDENTITY] }));
    const change = await prepare(visitor);
    const other = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    const thief = new Visitor(panel.muster);
    thief.setCookie('', visitor.cookie('') ?? '');
    const session = async (): Promise<unknown> => (await visitor.ask('/me')).body['session'];
    const { sessionId: _before, ...kept } = (await session()) as { sessionId: string };
    // It is one commit: at the instant before it nothing has changed.
    const user = async (): Promise<unknown> => (await panel.store.get(KEYS.user(userId)))?.value;
    const unchanged = await user();
    let isBefore: unknown;
    before.next = async () => {
      isBefore = [await thief.me(), (await user()) === unchanged];
    };
    const answer = await change();
    expect([answer.status, before.isDone, isBefore]).toEqual([status, true, [200, true]]);
    expect([await visitor.me(), await thief.me(), await other.me()]).toEqual([200, 401, others ? 200 : 401]);
    // It ends when it would have ended, and its proof is as old as it was.
    const { sessionId: _after, ...now } = (await session()) as { sessionId: string };
    expect(now).toEqual(kept);
    const proof = await visitor.ask('/me/proof');
    expect(proof.status).toBe(204);
    expect((await thief.post('/me/passkeys/options')).status).toBe(401);
  });

  test('a passkey that is added gives it another token, and is its proof', async () => {
    await using panel = await panelMuster(backend);
    const { visitor, userId } = await enteredUser(panel.muster);
    const other = new Visitor(panel.muster, { browser: await signedIn(panel.store, userId) });
    const thief = new Visitor(panel.muster);
    thief.setCookie('', visitor.cookie('') ?? '');
    await withPasskey(visitor);
    expect([await visitor.me(), await thief.me(), await other.me()]).toEqual([200, 401, 200]);
  });

  test('a change that is refused, and one that changes nothing, leave it as it is', async () => {
    await using panel = await panelMuster(backend);
    const { visitor } = await enteredUser(panel.muster);
    const before = visitor.cookie('');
    const body = { current: OTHER_PASSWORD, password: GOOD_PASSWORD };
    const refused = await visitor.ask('/me/password', { method: 'PUT', body });
    const nothing = await visitor.ask('/me/provider', { method: 'DELETE' });
    expect([refused.status, nothing.status]).toEqual([401, 204]);
    expect([visitor.cookie(''), await visitor.me()]).toEqual([before, 200]);
  });
});

test('an identity that is linked gives the session another token', async () => {
  await using it = await signing();
  await it.provider.set({ user: 'ann' });
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
  const { url } = await browser.go(String(asked.body['url']), ({ pathname }) => ['/me', '/sign-in'].includes(pathname));
  expect(url.pathname).toBe('/me');
  expect((await ask(it.panel, session, '/me')).status).toBe(401);
  const { body } = await ask(it.panel, { token: browser.cookie(it.origin, cookie) ?? '' }, '/me');
  expect(body).toMatchObject({ userId, methods: { provider: true } });
});
