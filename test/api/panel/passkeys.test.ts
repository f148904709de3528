import { expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectUnchanged } from '../../../src/store/port.ts';
import { Authenticator, type Misbehaviour } from '../../support/panel/authenticator.ts';
import { panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import { asOperator, enteredUser, GOOD_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import type { Answer } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** A sign-in by the passkey alone. */
async function signIn(visitor: Visitor, authenticator: Authenticator, misbehaviour?: Misbehaviour): Promise<Answer> {
  const begun = await visitor.post('/sign-in/passkey/options');
  const response = authenticator.get(begun.body['options'], visitor.origin, misbehaviour);
  return await visitor.post('/sign-in/passkey', { response });
}

const withPassword = (visitor: Visitor, login: string): Promise<Answer> =>
  visitor.post('/sign-in/password', { login, password: GOOD_PASSWORD });

onEachBackend('passkeys', (backend) => {
  test('a passkey is added, listed, signs in by itself, and works no more once it is removed', async () => {
    await using muster = await backend.fresh();
    const { visitor } = await enteredUser(muster);
    const begun = await visitor.post('/me/passkeys/options');
    expect(begun.body['options']).toMatchObject({
      rp: { id: '127.0.0.1' },
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
      excludeCredentials: [],
    });
    const authenticator = await withPasskey(visitor);
    const listed = (await visitor.ask('/me/passkeys')).body['passkeys'] as { passkeyId: string; name: string }[];
    expect(listed).toMatchObject([{ passkeyId: authenticator.id, name: 'Laptop' }]);
    const other = new Visitor(muster);
    const entered = await signIn(other, authenticator);
    expect([entered.status, entered.body]).toEqual([200, { next: 'signed-in' }]);
    expect((await other.ask('/me')).body).toMatchObject({
      session: { method: 'passkey' },
      methods: { password: true, passkeys: 1 },
    });
    expect((await visitor.ask(`/me/passkeys/${authenticator.id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await visitor.ask(`/me/passkeys/${authenticator.id}`, { method: 'DELETE' })).status).toBe(404);
    expect((await signIn(new Visitor(muster), authenticator)).status).toBe(401);
  });

  test('with a passkey the password is the first of two steps, and only a passkey of that user is the second', async () => {
    await using muster = await backend.fresh();
    const { visitor, login } = await enteredUser(muster);
    const bob = await enteredUser(muster, { login: 'bob@example.com', name: 'Bob' });
    const [own, foreign] = [await withPasskey(visitor), await withPasskey(bob.visitor)];
    const other = new Visitor(muster);
    const first = await withPassword(other, login);
    expect(first.body).toMatchObject({ next: 'passkey', options: { allowCredentials: [{ id: own.id }] } });
    expect(await other.me()).toBe(401);
    const wrong = await other.post('/sign-in/passkey', { response: foreign.get(first.body['options'], other.origin) });
    expect([wrong.status, wrong.body['error']]).toMatchObject([401, { code: 'sign_in_failed' }]);
    const again = await withPassword(other, login);
    const right = await other.post('/sign-in/passkey', { response: own.get(again.body['options'], other.origin) });
    expect(right.status).toBe(200);
    expect((await other.ask('/me')).body['login']).toBe(login);
  });

  test('a new password ends a sign-in whose password was right before it', async () => {
    await using muster = await backend.fresh();
    const { visitor, login } = await enteredUser(muster);
    const authenticator = await withPasskey(visitor);
    const other = new Visitor(muster);
    const first = await withPassword(other, login);
    const body = { current: GOOD_PASSWORD, password: 'a row of brass lanterns' };
    expect((await visitor.ask('/me/password', { method: 'PUT', body })).status).toBe(204);
    const response = authenticator.get(first.body['options'], other.origin);
    expect((await other.post('/sign-in/passkey', { response })).status).toBe(401);
    expect((await signIn(other, authenticator)).status).toBe(200);
  });

  test('a challenge is good once, for its purpose and for ten minutes; its cookie cannot be forged', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ clock });
    const { visitor } = await enteredUser(muster);
    const authenticator = await withPasskey(visitor);
    const other = new Visitor(muster);
    const begin = async () => (await other.post('/sign-in/passkey/options')).body['options'];
    const answer = (of: unknown) => other.post('/sign-in/passkey', { response: authenticator.get(of, other.origin) });
    const challenge = await begin();
    const flow = other.cookie('-flow') ?? '';
    expect((await answer(challenge)).status).toBe(200);
    other.setCookie('-flow', flow);
    expect((await answer(challenge)).status).toBe(401);
    // One for another purpose.
    const addition = (await visitor.post('/me/passkeys/options')).body['options'];
    other.setCookie('-flow', visitor.cookie('-flow') ?? '');
    expect((await answer({ ...(addition as object), rpId: '127.0.0.1' })).status).toBe(401);
    const forged = await begin();
    other.setCookie('-flow', `${(other.cookie('-flow') ?? '').slice(0, -2)}AA`);
    expect((await answer(forged)).status).toBe(401);
    clock.advance(60_000);
    const late = await begin();
    clock.advance(600_000);
    expect((await answer(late)).status).toBe(401);
    clock.advance(60_000);
    const inTime = await begin();
    clock.advance(599_000);
    expect((await answer(inTime)).status).toBe(200);
  });

  test.each<[why: string, misbehaviour: Misbehaviour]>([
    ['another page', { origin: 'http://evil.example' }],
    ['a page of another origin frames ours', { crossOrigin: true }],
    ['a named one frames it', { crossOrigin: true, topOrigin: 'http://evil.example' }],
    ['it is framed, and says otherwise', { topOrigin: 'http://evil.example' }],
    ['nobody was asked for', { isUserVerified: false }],
    ['another challenge', { challenge: 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }],
  ])('%s: neither a new passkey nor a sign-in is taken', async (_why, misbehaviour) => {
    await using muster = await backend.fresh();
    const { visitor } = await enteredUser(muster);
    const begun = await visitor.post('/me/passkeys/options');
    const response = new Authenticator().create(begun.body['options'], visitor.origin, misbehaviour);
    const refused = await visitor.post('/me/passkeys', { name: 'x', response });
    expect([refused.status, refused.body['error']]).toMatchObject([400, { code: 'invalid_request' }]);
    const authenticator = await withPasskey(visitor);
    const other = new Visitor(muster);
    expect((await signIn(other, authenticator, misbehaviour)).status).toBe(401);
    expect((await signIn(other, authenticator)).status).toBe(200);
  });

  test('a counter that stands still or goes back is that of a copy; one that is always 0 is that of a kept passkey', async () => {
    await using muster = await backend.fresh();
    const { visitor } = await enteredUser(muster);
    const [counting, kept] = [await withPasskey(visitor, 'Key'), await withPasskey(visitor, 'Phone')];
    const statusOf = async (authenticator: Authenticator, counter: number): Promise<number> =>
      (await signIn(new Visitor(muster), authenticator, { counter })).status;
    expect(await statusOf(counting, 5)).toBe(200);
    expect(await statusOf(counting, 5)).toBe(401);
    expect(await statusOf(counting, 4)).toBe(401);
    expect(await statusOf(counting, 6)).toBe(200);
    expect([await statusOf(kept, 0), await statusOf(kept, 0)]).toEqual([200, 200]);
  });

  test('a passkey belongs to one user, who has a bounded number of them, and the last way to sign in stays', async () => {
    await using panel = await panelMuster(backend);
    const { muster, store } = panel;
    const { visitor, userId } = await enteredUser(muster);
    const bob = await enteredUser(muster, { login: 'bob@example.com', name: 'Bob' });
    const authenticator = await withPasskey(visitor);
    const begun = await bob.visitor.post('/me/passkeys/options');
    const response = authenticator.create(begun.body['options'], bob.visitor.origin);
    const taken = await bob.visitor.post('/me/passkeys', { name: 'mine', response });
    expect([taken.status, taken.body['error']]).toMatchObject([409, { message: 'This passkey is added already.' }]);

    const change = async (fields: object): Promise<void> => {
      const entry = await store.get(KEYS.user(userId));
      if (!entry) throw new Error('The user is gone.');
      const value = JSON.stringify({ ...(JSON.parse(entry.value) as object), ...fields });
      await store.commit({ expect: [expectUnchanged(entry)], write: [{ put: KEYS.user(userId), value }] });
    };
    await change({ password: undefined });
    const last = await visitor.ask(`/me/passkeys/${authenticator.id}`, { method: 'DELETE' });
    expect([last.status, last.body['error']]).toMatchObject([
      409,
      { code: 'conflict', message: expect.stringMatching(/last way/) as string },
    ]);
    expect((await signIn(new Visitor(muster), authenticator)).status).toBe(200);

    const others = Array.from({ length: LIMITS.passkeysPerUserMax }, (_, i) => ({
      id: `k${i}`,
      publicKey: '',
      name: '',
      createdAt: 1,
    }));
    await change({ passkeys: others.slice(1) });
    await withPasskey(visitor);
    await expect(withPasskey(visitor)).rejects.toThrow(/409 .*remove one first/);
  });

  test('where passwords are off, one that was set before is no way in: the last passkey stays', async () => {
    await using panel = await panelMuster(backend, { env: { MUSTER_PANEL_PASSWORDS: 'off' } });
    const visitor = new Visitor(panel.muster, { browser: await signedIn(panel.store) });
    expect((await visitor.ask('/me')).body).toMatchObject({ methods: { password: true } });
    const authenticator = await withPasskey(visitor);
    const last = await visitor.ask(`/me/passkeys/${authenticator.id}`, { method: 'DELETE' });
    expect([last.status, last.body['error']]).toMatchObject([
      409,
      { code: 'conflict', message: expect.stringMatching(/last way/) as string },
    ]);
  });

  test('a reset takes the passkeys away', async () => {
    await using muster = await backend.fresh();
    const { visitor, userId } = await enteredUser(muster);
    const authenticator = await withPasskey(visitor);
    const made = await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' });
    const token = new URL(String(made.body['url'])).hash.slice(1);
    const other = new Visitor(muster);
    expect((await signIn(new Visitor(muster), authenticator)).status).toBe(200);
    expect((await other.post('/links/accept', { token, password: 'a row of brass lanterns' })).status).toBe(200);
    expect((await other.ask('/me/passkeys')).body).toEqual({ passkeys: [] });
    expect((await signIn(new Visitor(muster), authenticator)).status).toBe(401);
    // It can be added anew: nothing of it is left.
    const begun = await other.post('/me/passkeys/options');
    const response = authenticator.create(begun.body['options'], other.origin);
    expect((await other.post('/me/passkeys', { name: 'again', response })).status).toBe(201);
  });
});
