import { expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { cheapPasswords } from '../../support/panel/cheap-passwords.ts';
import {
  asOperator,
  enteredUser,
  GOOD_PASSWORD,
  OTHER_PASSWORD,
  tokenOf,
  Visitor,
} from '../../support/panel/visitor.ts';
import type { Answer, Muster, MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { BeforeCommit } from '../../support/store/before-commit.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/** Every attempt may come from an address of its own. */
const BEHIND_PROXY: MusterOptions = { env: { MUSTER_TRUSTED_PROXIES: '127.0.0.1' } };
const SIGN_IN_FAILED = { code: 'sign_in_failed', message: 'The sign-in failed: the name or the secret is wrong.' };

let addresses = 0;
/** Each in a network of its own. */
const from = (muster: Muster, address = `10.${addresses >> 8}.${(addresses += 1) & 255}.1`): Visitor =>
  new Visitor(muster, { address });
const signIn = (visitor: Visitor, login: string, password = GOOD_PASSWORD): Promise<Answer> =>
  visitor.post('/sign-in/password', { login, password });
const attempt = async (muster: Muster, login: string, password?: string): Promise<number> =>
  (await signIn(from(muster), login, password)).status;
/** Wrong passwords one after the other, each from another address. */
async function failures(muster: Muster, login: string, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i += 1) statuses.push(await attempt(muster, login, 'not the password at all'));
  return statuses;
}

onEachBackend('passwords', (backend) => {
  test('a sign-in by the old password, just before the commit of another one, ends with the other sessions', async () => {
    // Nothing else writes a user: the change of the password does.
    const race = new BeforeCommit(KEYS.user.under());
    await using muster = await backend.fresh({ ...BEHIND_PROXY, wrapStore: race.wrapStore });
    const { visitor, login } = await enteredUser(muster);
    const thief = from(muster);
    race.next = async () => expect((await signIn(thief, login)).status).toBe(200);
    const changed = await visitor.ask('/me/password', {
      method: 'PUT',
      body: { current: GOOD_PASSWORD, password: OTHER_PASSWORD },
    });
    expect([changed.status, race.isDone]).toEqual([204, true]);
    expect([await visitor.me(), await thief.me()]).toEqual([200, 401]);
  });

  test('somebody signs in with his login in any case, and out; a wrong password and an unknown login are told alike', async () => {
    await using muster = await backend.fresh();
    const { login, visitor } = await enteredUser(muster);
    expect(await visitor.me()).toBe(200);
    const other = new Visitor(muster);
    const signedIn = await signIn(other, login.toUpperCase());
    expect([signedIn.status, signedIn.body]).toEqual([200, { next: 'signed-in' }]);
    const cookies = signedIn.headers.getSetCookie();
    expect(cookies.find((cookie) => cookie.startsWith(`muster_${muster.service.panel.port}=`))).toMatch(
      /; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/,
    );
    expect((await other.ask('/me')).body['session']).toMatchObject({ method: 'password' });
    expect((await other.post('/sign-out')).status).toBe(200);
    expect([await other.me(), await visitor.me()]).toEqual([401, 200]);
    const wrong = await signIn(other, login, OTHER_PASSWORD);
    const unknown = await signIn(other, 'nobody@example.com');
    for (const refused of [wrong, unknown]) {
      expect([refused.status, refused.body['error'], refused.headers.getSetCookie()]).toEqual([
        401,
        SIGN_IN_FAILED,
        [],
      ]);
    }
    expect(muster.logged.join('')).not.toContain(GOOD_PASSWORD);
    expect(muster.logged.join('')).not.toMatch(/mst_(?:link|session)_|argon2/);
  });

  test('a disabled user is told no more than a stranger', async () => {
    await using muster = await backend.fresh();
    const { login, userId, visitor } = await enteredUser(muster);
    await enteredUser(muster, { login: 'op@example.com', operator: true });
    const disabled = await asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { disabled: true } });
    expect(disabled.status).toBe(200);
    expect(await visitor.me()).toBe(401);
    const refused = await signIn(new Visitor(muster), login);
    expect([refused.status, refused.body['error']]).toEqual([401, SIGN_IN_FAILED]);
    await asOperator(muster, `/users/${userId}`, { method: 'PATCH', body: { disabled: false } });
    expect((await signIn(new Visitor(muster), login)).status).toBe(200);
  });

  test('after five failures an attempt waits for a turn, of an unknown login as well; a known browser does not', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { login, visitor } = await enteredUser(muster);
    const turn = LIMITS.signInTurnMs / 1000;
    const patient = new Map<string, Visitor>();
    for (const name of [login, 'nobody@example.com']) {
      expect(await failures(muster, name, LIMITS.slowFromFailures)).toEqual([401, 401, 401, 401, 401]);
      patient.set(name, from(muster));
      const early = await signIn(patient.get(name)!, name, OTHER_PASSWORD);
      expect([early.status, early.headers.get('retry-after')]).toEqual([429, String(turn)]);
      expect(early.body['error']).toMatchObject({ code: 'rate_limited' });
    }
    clock.advance(LIMITS.signInTurnMs);
    for (const [name, browser] of patient) {
      // Whoever has not waited takes no turn from one who has; in a turn there is one.
      expect(await failures(muster, name, 2)).toEqual([429, 429]);
      expect((await signIn(browser, name, OTHER_PASSWORD)).status).toBe(401);
      expect((await signIn(browser, name, OTHER_PASSWORD)).headers.get('retry-after')).toBe(
        String(turn + LIMITS.signInTurnFirstMs / 1000),
      );
    }
    // The user's own browser comes in all the same, also after a slip.
    expect((await signIn(visitor, login, 'mistyped by myself')).status).toBe(401);
    expect((await signIn(visitor, login)).status).toBe(200);
    expect(await attempt(muster, login)).toBe(429);
    // Failures decay, and the next attempt is compared at once.
    clock.advance(LIMITS.signInFailuresHalfLifeMs);
    expect(await attempt(muster, login)).toBe(200);
  });

  test('what was right counts as no failure: one signs in from as many browsers as one likes', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { login } = await enteredUser(muster);
    for (let i = 0; i < 3 * LIMITS.slowFromFailures; i += 1) expect(await attempt(muster, login)).toBe(200);
  });

  test('many attempts at once are counted before their passwords are compared', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { login } = await enteredUser(muster);
    const statuses = await Promise.all(
      Array.from({ length: LIMITS.passwordsOfStrangersMax }, (_, i) =>
        attempt(muster, login, `guess number ${i} of many`),
      ),
    );
    expect(statuses.filter((status) => status !== 429)).toEqual([401, 401, 401, 401, 401]);
  });

  test('the guesses of a signed-in thief at the password so far wait as well, and take no turn from the user', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { login, visitor } = await enteredUser(muster);
    const thief = from(muster);
    thief.setCookie('', visitor.cookie('') ?? '');
    const guess = async (): Promise<number> =>
      (await thief.ask('/me/password', { method: 'PUT', body: { current: OTHER_PASSWORD, password: 'x' } })).status;
    const guesses: number[] = [];
    for (let i = 0; i < 8; i += 1) guesses.push(await guess());
    expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
    expect(await attempt(muster, login)).toBe(200);
  });

  test('each address has so many attempts a minute: a /64 of IPv6 is one, and an IPv4 in IPv6 is that IPv4', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const most = 20;
    const tries = async (addressOf: (i: number) => string, count: number): Promise<number> => {
      let refused = 0;
      for (let i = 0; i < count; i += 1) {
        const { status } = await signIn(from(muster, addressOf(i)), `x${i}${Math.trunc(i / 7)}`);
        if (status === 429) refused += 1;
      }
      return refused;
    };
    expect(await tries((i) => `2001:db8:0:1::${i + 1}`, most)).toBe(0);
    expect(await tries(() => '2001:db8:0:1:ffff::9', 1)).toBe(1);
    expect(await tries(() => '2001:db8:0:2::9', 1)).toBe(0);
    expect(await tries((i) => (i % 2 === 0 ? '198.51.100.7' : '::ffff:198.51.100.7'), most)).toBe(0);
    expect(await tries(() => '::ffff:c633:6407', 1)).toBe(1);
    const refused = await signIn(from(muster, '198.51.100.7'), 'x');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    clock.advance(120_000);
    expect(await tries(() => '198.51.100.7', 1)).toBe(0);
  });

  test('a few passwords are hashed at once and some wait; more are told to come back, which costs them no attempt', async () => {
    await using muster = await backend.fresh(BEHIND_PROXY);
    const { login } = await enteredUser(muster);
    const places = LIMITS.passwordsHashedMax + LIMITS.passwordsWaitingMax;
    const many = 2 * LIMITS.passwordRoomsPerPlace * places;
    const full = Promise.withResolvers<undefined>();
    // Nothing is hashed until somebody is told to come back, and then quickly: whoever waits is answered in time.
    const cheap = cheapPasswords(full.promise);
    onTestFinished(() => cheap[Symbol.dispose]());
    const crowd = Array.from({ length: many }, async (_, i) => {
      const answer = await signIn(from(muster), `crowd-${i}`);
      if (answer.status === 503) full.resolve(undefined);
      return answer;
    });
    const answers = await Promise.all(crowd);
    cheap[Symbol.dispose]();
    const overloaded = answers.filter(({ status }) => status === 503);
    expect(overloaded.length).toBeGreaterThan(0);
    expect(overloaded[0]?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 503]));
    expect(await attempt(muster, login)).toBe(200);
  });

  test('a new password needs the one so far and ends all other sessions; of two at once one is taken', async () => {
    await using muster = await backend.fresh();
    const { login, visitor } = await enteredUser(muster);
    const other = new Visitor(muster);
    await signIn(other, login);
    const change = (current: string, password: string) =>
      visitor.ask('/me/password', { method: 'PUT', body: { current, password } });
    const wrong = await change(OTHER_PASSWORD, 'a row of brass lanterns');
    expect([wrong.status, wrong.body['error']]).toMatchObject([
      401,
      { message: 'current: this is not the password so far.' },
    ]);
    const weak = await change(GOOD_PASSWORD, 'password1234');
    expect([weak.status, weak.body['error']]).toMatchObject([
      400,
      { code: 'invalid_request', message: expect.stringMatching(/^password /) as string },
    ]);
    expect([await visitor.me(), await other.me()]).toEqual([200, 200]);
    const both = await Promise.all([change(GOOD_PASSWORD, OTHER_PASSWORD), change(GOOD_PASSWORD, OTHER_PASSWORD)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([204, 401]);
    expect([await visitor.me(), await other.me()]).toEqual([200, 401]);
    expect((await signIn(other, login)).status).toBe(401);
    expect((await signIn(other, login, OTHER_PASSWORD)).status).toBe(200);
  });

  test('a common password is refused in words wherever one is chosen, and its neighbour is taken', async () => {
    await using muster = await backend.fresh();
    const { visitor } = await enteredUser(muster);
    const created = await asOperator(muster, '/users', {
      method: 'POST',
      body: { name: 'Eve', login: 'eve@example.com' },
    });
    const token = tokenOf((created.body['link'] as { url: string }).url);
    const choose = (password: string): readonly Promise<Answer>[] => [
      visitor.ask('/me/password', { method: 'PUT', body: { current: GOOD_PASSWORD, password } }),
      new Visitor(muster).post('/links/accept', { token, password }),
    ];
    for (const password of ['justinbieber', 'fuckyou12345', 'manchester1!']) {
      for (const answer of choose(password)) {
        const { status, body } = await answer;
        expect([password, status, body['error']]).toEqual([
          password,
          400,
          { code: 'invalid_request', message: expect.stringMatching(/easy to guess; choose .* words/) as string },
        ]);
      }
    }
    expect(await Promise.all(choose(OTHER_PASSWORD).map(async (answer) => (await answer).status))).toEqual([204, 200]);
    expect(muster.logged.join('')).not.toContain('justinbieber');
  });

  test('a browser has one session: a further sign-in takes the place of whoever was signed in', async () => {
    await using muster = await backend.fresh();
    const { visitor: ann } = await enteredUser(muster);
    const bob = await enteredUser(muster, { login: 'bob@example.com', name: 'Bob' });
    const before = ann.cookie('') ?? '';
    expect((await signIn(ann, bob.login)).status).toBe(200);
    expect((await ann.ask('/me')).body['name']).toBe('Bob');
    const stale = new Visitor(muster);
    stale.setCookie('', before);
    expect(await stale.me()).toBe(401);
  });

  test('where passwords are off, nobody signs in with one, and nobody sets one', async () => {
    await using muster = await backend.fresh({ env: { MUSTER_PANEL_PASSWORDS: 'off' } });
    const visitor = new Visitor(muster);
    expect((await visitor.ask('/sign-in')).body).toEqual({ password: false });
    const refused = await signIn(visitor, 'ann@example.com');
    expect([refused.status, refused.body['error']]).toMatchObject([400, { code: 'invalid_request' }]);
  });
});
