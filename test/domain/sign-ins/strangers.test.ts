import { expect, test } from 'vitest';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { StoreUnavailable, type Store } from '../../../src/store/port.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { panelMuster, signedIn } from '../../support/panel/panel-users.ts';
import { withPasskey } from '../../support/panel/passkeys.ts';
import {
  asOperator,
  enteredUser,
  GOOD_PASSWORD,
  OTHER_PASSWORD,
  tokenOf,
  Visitor,
} from '../../support/panel/visitor.ts';
import { runs } from '../../support/run/effort.ts';
import { tenant, type Answer, type Muster, type MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* A stranger must not use up what honest people need to sign in (docs/CONTRACT.md#p5). */

const BEHIND_PROXY: MusterOptions = { env: { MUSTER_TRUSTED_PROXIES: '127.0.0.1' } };
const WRONG = 'not the password at all';
/** Honest people, one after another; a long run has more of them. */
const HONEST = Math.min(20, runs(5));
const WITHIN_SECONDS = 30;
const LOGIN = 'ann@example.com';

const signIn = (visitor: Visitor, login = LOGIN, password = GOOD_PASSWORD): Promise<Answer> =>
  visitor.post('/sign-in/password', { login, password });
const secondsOf = (answer: Answer): number => Number(answer.headers.get('retry-after'));

/** The address of the next attempt of a stranger. */
type Addresses = (attempt: number) => string;
const STRANGERS: readonly (readonly [title: string, addressOf: Addresses])[] = [
  ['from one address', () => '198.51.100.7'],
  ['from six addresses in turn', (i) => `198.51.${i % 6}.7`],
  ['from fifty addresses in turn', (i) => `198.51.${i % 50}.7`],
  ['from another address each time', (i) => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`],
  ['from another /48 each time', (i) => `2001:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::1`],
];

/** A stranger who tries wrong passwords three times a second for as long as somebody waits. */
class Stranger {
  readonly statuses: number[] = [];
  readonly #muster: Muster;
  readonly #clock: FakeClock;
  readonly #addressOf: Addresses;

  constructor(muster: Muster, clock: FakeClock, addressOf: Addresses) {
    this.#muster = muster;
    this.#clock = clock;
    this.#addressOf = addressOf;
  }

  async tries(count: number): Promise<void> {
    for (let i = 0; i < count; i += 1) {
      const visitor = new Visitor(this.#muster, { address: this.#addressOf(this.statuses.length) });
      this.statuses.push((await signIn(visitor, LOGIN, WRONG)).status);
    }
  }

  async meanwhile(seconds: number): Promise<void> {
    for (let i = 0; i < seconds; i += 1) {
      this.#clock.advance(1000);
      await this.tries(3);
    }
  }
}

/** Signs in, and comes back as it is told. @returns the seconds that it took, or 1000 where it took too long */
async function patiently(visitor: Visitor, stranger: Stranger): Promise<number> {
  let waited = 0;
  while (waited <= WITHIN_SECONDS) {
    const answer = await signIn(visitor);
    if (answer.status === 200) return waited;
    expect(answer.status).toBe(429);
    await stranger.meanwhile(secondsOf(answer));
    waited += secondsOf(answer);
  }
  return 1000;
}

onEachBackend('strangers before the sign-in', (backend) => {
  test.each(STRANGERS)('while one tries %s, each honest person gets in within half a minute', async (_title, of) => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { visitor: known } = await enteredUser(muster);
    const stranger = new Stranger(muster, clock, of);
    await stranger.tries(30);
    const waited: number[] = [];
    for (let i = 0; i < HONEST; i += 1) {
      // In a browser in which the user has signed in before nobody waits at all.
      expect((await signIn(known)).status).toBe(200);
      waited.push(await patiently(new Visitor(muster, { address: `203.0.113.${i}` }), stranger));
    }
    expect(Math.max(...waited)).toBeLessThanOrEqual(WITHIN_SECONDS);
    expect(stranger.statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(10);
  });

  // Whoever has a whole prefix has as many addresses as it takes to let each rest until its one failure is forgotten.
  test.each<[title: string, count: number, of: Addresses, restMs: number]>([
    ['six', 6, (i) => `198.51.${i}.7`, 0],
    ['eighty of one /24', 80, (i) => `198.51.100.${i + 1}`, 900_000],
    ['eighty of one /48', 80, (i) => `2001:db8:7:${(i << 8).toString(16)}::1`, 900_000],
  ])('strangers who wait as told, too, %s of them, leave others the turns', async (_title, count, of, restMs) => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    await enteredUser(muster);
    const patient = Array.from({ length: count }, (_, i) => ({
      visitor: new Visitor(muster, { address: of(i) }),
      dueAt: 0,
    }));
    const tries = async (): Promise<void> => {
      for (const one of patient) {
        while (clock.now() >= one.dueAt) {
          const answer = await signIn(one.visitor, LOGIN, WRONG);
          if (answer.status === 429) one.dueAt = clock.now() + secondsOf(answer) * 1000;
          else if (restMs > 0) one.dueAt = clock.now() + restMs;
        }
      }
    };
    for (let seconds = 0; seconds < 90; seconds += 1) {
      await tries();
      clock.advance(1000);
    }
    const waited: number[] = [];
    for (let i = 0; i < HONEST; i += 1) {
      const visitor = new Visitor(muster, { address: `203.0.113.${i}` });
      let seconds = 0;
      for (let answer = await signIn(visitor); answer.status !== 200; answer = await signIn(visitor)) {
        for (let s = secondsOf(answer); s > 0; s -= 1) {
          clock.advance(1000);
          await tries();
        }
        seconds += secondsOf(answer);
      }
      waited.push(seconds);
    }
    expect(Math.max(...waited)).toBeLessThanOrEqual(WITHIN_SECONDS);
  });

  test('behind the address of a stranger, too, whoever waits as told gets in', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { visitor: known } = await enteredUser(muster);
    const address = '198.51.100.7';
    const stranger = new Stranger(muster, clock, () => address);
    await stranger.tries(30);
    expect(stranger.statuses.at(-1)).toBe(429);
    const browser = new Visitor(muster, { address });
    browser.setCookie('-browser', known.cookie('-browser') ?? '');
    expect((await signIn(browser)).status).toBe(200);
    let waited = 0;
    const visitor = new Visitor(muster, { address });
    for (let answer = await signIn(visitor); answer.status !== 200; answer = await signIn(visitor)) {
      await stranger.meanwhile(secondsOf(answer));
      waited += secondsOf(answer);
    }
    expect(waited).toBeLessThanOrEqual(60);
  });

  test('empty requests, and those by which no secret can be guessed, leave an address its sign-ins', async () => {
    await using muster = await backend.fresh({
      env: { ...BEHIND_PROXY.env, MUSTER_SIGN_INS_PER_ADDRESS: '3' },
      clock: new FakeClock(),
    });
    await enteredUser(muster);
    const visitor = new Visitor(muster, { address: '198.51.100.7' });
    for (let i = 0; i < 30; i += 1) {
      expect((await visitor.post('/sign-in/passkey/options')).status).toBe(200);
      expect((await visitor.post('/links/read', { token: '' })).status).toBe(400);
      expect([400, 429]).toContain((await visitor.post('/links/accept', { token: 'x' })).status);
      expect([401, 429]).toContain((await visitor.post('/sign-in/passkey', { response: {} })).status);
      expect((await visitor.post('/sign-in/password', {})).status).toBe(400);
    }
    expect((await signIn(visitor, LOGIN, WRONG)).status).toBe(401);
    expect((await signIn(new Visitor(muster, { address: '198.51.100.7' }))).status).toBe(200);
    // Three a minute, as it is set; the next one is told to wait, and others are not.
    expect((await signIn(new Visitor(muster, { address: '198.51.100.7' }), LOGIN, WRONG)).status).toBe(401);
    const refused = await signIn(new Visitor(muster, { address: '198.51.100.7' }));
    expect([refused.status, secondsOf(refused) > 0]).toEqual([429, true]);
    expect((await signIn(new Visitor(muster, { address: '198.51.100.8' }))).status).toBe(200);
  });

  test.each([
    ['one /56', (i: number) => `2001:db8:7:${(0x1200 + (i & 255)).toString(16)}::${(i >> 8).toString(16)}`],
    ['one /48', (i: number) => `2001:db8:7:${(i & 0xffff).toString(16)}::1`],
    ['one /24', (i: number) => `198.51.100.${i & 255}`],
  ] as const)('a flood from %s keeps no honest person from the hashing of passwords', async (_title, addressOf) => {
    await using muster = await backend.fresh(BEHIND_PROXY);
    await enteredUser(muster);
    const over = new AbortController();
    let sent = 0;
    const statuses = new Map<number, number>();
    const flooding = Array.from({ length: 60 }, async () => {
      while (!over.signal.aborted) {
        sent += 1;
        const visitor = new Visitor(muster, { address: addressOf(sent) });
        const { status } = await signIn(visitor, `x${sent}`, WRONG);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    const honest: number[] = [];
    for (let i = 0; i < HONEST; i += 1) {
      honest.push((await signIn(new Visitor(muster, { address: `203.0.113.${i}` }))).status);
    }
    over.abort();
    await Promise.all(flooding);
    expect(honest).toEqual(honest.map(() => 200));
    // The flood met its bound, and went on within it.
    expect([statuses.get(503) ?? 0, statuses.get(401) ?? 0].every((count) => count > 0)).toBe(true);
  });

  test('the invitations of one tenant keep nobody from the hashing of passwords', async () => {
    await using panel = await panelMuster(backend, BEHIND_PROXY);
    const { muster } = panel;
    const { visitor: known } = await enteredUser(muster);
    const { accountId } = await tenant(muster);
    const owner = await signedIn(panel.store, { accounts: [{ accountId, role: 'owner' }] });
    const browser = new Visitor(muster, { browser: owner });
    const over = new AbortController();
    const statuses = new Set<number>();
    const flooding = Array.from({ length: 20 }, async (_, i) => {
      const made = await browser.post(`/accounts/${accountId}/invitations`, { role: 'viewer' });
      const token = tokenOf(made.body['url']);
      const visitor = new Visitor(muster, { address: `198.51.${i}.7` });
      const body = { token, name: 'X', login: `x${i}`, password: 'password12345' };
      const loop = async (): Promise<void> => {
        while (!over.signal.aborted) statuses.add((await visitor.post('/links/accept', body)).status);
      };
      await Promise.all([loop(), loop()]);
    });
    const honest: number[] = [];
    for (let i = 0; i < HONEST; i += 1) {
      honest.push((await signIn(known)).status);
      honest.push((await signIn(new Visitor(muster, { address: `203.0.113.${i}` }))).status);
    }
    over.abort();
    await Promise.all(flooding);
    expect(honest).toEqual(honest.map(() => 200));
    // The flood met its bound, and went on within it.
    expect(statuses.has(503) && statuses.has(400)).toBe(true);
  });

  test('four people behind one address sign in at once', async () => {
    await using muster = await backend.fresh(BEHIND_PROXY);
    const logins = await Promise.all(
      [1, 2, 3, 4].map(async (i) => (await enteredUser(muster, { login: `p${i}@example.com` })).login),
    );
    const answers = await Promise.all(
      logins.map((login) => signIn(new Visitor(muster, { address: '198.51.100.7' }), login)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test('right passwords, and attempts that were turned away, make no known browser a stranger’s', async () => {
    await using muster = await backend.fresh(BEHIND_PROXY);
    const { visitor } = await enteredUser(muster);
    await withPasskey(visitor);
    await new Stranger(muster, new FakeClock(), (i) => `10.0.${i}.1`).tries(6);
    const browser = new Visitor(muster, { address: '198.51.100.7' });
    browser.setCookie('-browser', visitor.cookie('-browser') ?? '');
    for (let i = 0; i < 12; i += 1) expect((await signIn(browser)).body).toMatchObject({ next: 'passkey' });
  });

  test('a copied browser cookie guesses ten passwords, and is then a stranger’s; a new password ends it at once', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { visitor } = await enteredUser(muster);
    await new Stranger(muster, clock, (i) => `10.0.${i}.1`).tries(6);
    const thief = (): Visitor => {
      const copy = new Visitor(muster, { address: '198.51.100.7' });
      copy.setCookie('-browser', visitor.cookie('-browser') ?? '');
      return copy;
    };
    const guesses: number[] = [];
    for (let i = 0; i < 11; i += 1) guesses.push((await signIn(thief(), LOGIN, WRONG)).status);
    expect(guesses).toEqual([...Array.from({ length: 10 }, () => 401), 429]);
    // The browser is known again by a sign-in that waited, and no more after a change of the password.
    const told = await signIn(visitor);
    expect(told.status).toBe(429);
    clock.advance(secondsOf(told) * 1000);
    expect((await signIn(visitor)).status).toBe(200);
    expect((await signIn(visitor)).status).toBe(200);
    const body = { current: GOOD_PASSWORD, password: OTHER_PASSWORD };
    expect((await visitor.ask('/me/password', { method: 'PUT', body })).status).toBe(204);
    expect((await signIn(visitor, LOGIN, OTHER_PASSWORD)).status).toBe(429);
  });

  test('a reset ends the browsers by which a user is known, and the user’s deletion ends what is known at all', async () => {
    const clock = new FakeClock();
    await using panel = await panelMuster(backend, { ...BEHIND_PROXY, clock });
    const { muster, store } = panel;
    const { visitor, userId } = await enteredUser(muster);
    await enteredUser(muster, { login: 'op@example.com', operator: true });
    const before = visitor.cookie('-browser') ?? '';
    const made = await asOperator(muster, `/users/${userId}/reset`, { method: 'POST' });
    const elsewhere = new Visitor(muster, { address: '203.0.113.7' });
    const accepted = await elsewhere.post('/links/accept', {
      token: tokenOf(made.body['url']),
      password: GOOD_PASSWORD,
    });
    expect(accepted.status).toBe(200);
    await new Stranger(muster, clock, (i) => `10.0.${i}.1`).tries(6);
    const old = new Visitor(muster, { address: '198.51.100.7' });
    old.setCookie('-browser', before);
    expect((await signIn(old)).status).toBe(429);
    expect((await signIn(elsewhere)).status).toBe(200);
    expect(await store.get(KEYS.signIns(userId))).toBeDefined();
    expect((await asOperator(muster, `/users/${userId}`, { method: 'DELETE' })).status).toBe(204);
    expect(await store.get(KEYS.signIns(userId))).toBeUndefined();
  });

  test('on a store that takes no more notes a known browser is judged as a stranger’s, and gets in', async () => {
    let isFull = false;
    const wrapStore = (store: Store): Store =>
      wrappedStore(store, {
        commit: (change) => {
          const notes = change.write.some((write) => 'put' in write && write.put.startsWith(KEYS.signIns.under()));
          if (isFull && notes) throw new StoreUnavailable('full', 'The store is nearly full.');
          return store.commit(change);
        },
      });
    await using muster = await backend.fresh({ ...BEHIND_PROXY, wrapStore });
    const { visitor } = await enteredUser(muster);
    isFull = true;
    expect((await signIn(visitor)).status).toBe(200);
    expect((await signIn(visitor, LOGIN, WRONG)).status).toBe(401);
  });

  test('two users of one browser are both known by it, and each only by the marks of their own', async () => {
    const clock = new FakeClock();
    await using muster = await backend.fresh({ ...BEHIND_PROXY, clock });
    const { visitor } = await enteredUser(muster);
    const bob = await enteredUser(muster, { login: 'bob@example.com', name: 'Bob' });
    const ofAnn = visitor.cookie('-browser') ?? '';
    expect((await signIn(visitor, bob.login)).status).toBe(200);
    const [first, second, ...others] = (visitor.cookie('-browser') ?? '').split('.');
    expect([first, others]).toEqual([ofAnn, []]);
    expect(second).toMatch(/^\w{43}$/);
    await new Stranger(muster, clock, (i) => `10.0.${i}.1`).tries(6);
    const copy = new Visitor(muster, { address: '198.51.100.7' });
    copy.setCookie('-browser', second ?? '');
    expect((await signIn(copy)).status).toBe(429);
    copy.setCookie('-browser', ofAnn);
    expect((await signIn(copy)).status).toBe(200);
    for (let i = 0; i < 6; i += 1) {
      await signIn(new Visitor(muster, { address: `10.1.${i}.1` }), bob.login, WRONG);
    }
    expect((await signIn(visitor, bob.login)).status).toBe(200);
  });
});
