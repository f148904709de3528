import { randomUUID } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { enteredUser, GOOD_PASSWORD, Visitor } from '../../support/panel/visitor.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { Muster, type Answer } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* Attempts to sign in at several replicas: what counts is counted for the installation (docs/CONTRACT.md#p5). */

const url = inject('etcd');
const LOGIN = 'ann@example.com';
const NOBODY = 'nobody@example.com';

interface Fleet extends AsyncDisposable {
  readonly replicas: readonly Muster[];
  readonly clock: FakeClock;
  readonly store: Store;
}

async function fleetOf(count: number): Promise<Fleet> {
  const clock = new FakeClock();
  const env = { MUSTER_ETCD_PREFIX: `/${randomUUID()}/`, MUSTER_TRUSTED_PROXIES: '127.0.0.1' };
  const replicas: Muster[] = [];
  const stores: Store[] = [];
  const wrapStore = (opened: Store): Store => {
    stores.push(opened);
    return opened;
  };
  for (let i = 0; i < count; i += 1) replicas.push(await Muster.start({ store: `etcd:${url}`, env, clock, wrapStore }));
  const [store] = stores;
  if (!store) throw new Error('The service has opened no store.');
  return {
    replicas,
    clock,
    store,
    async [Symbol.asyncDispose]() {
      for (const replica of replicas) await replica[Symbol.asyncDispose]();
    },
  };
}

const signIn = (visitor: Visitor, login = LOGIN, password = 'not the password at all'): Promise<Answer> =>
  visitor.post('/sign-in/password', { login, password });
let attempts = 0;
const elsewhere = (muster: Muster): Visitor => {
  attempts += 1;
  return new Visitor(muster, { address: `10.${attempts >> 8}.${attempts & 255}.1` });
};

describe.skipIf(url === undefined)('sign-ins at several replicas (etcd)', () => {
  test('three replicas compare no more wrong passwords in a minute than one does: ten', async () => {
    const compared: number[] = [];
    for (const count of [1, 3]) {
      await using fleet = await fleetOf(count);
      const [first] = fleet.replicas;
      if (first) await enteredUser(first);
      // Some come back as they are told, with the ticket, and others try without pause.
      const patient = fleet.replicas.flatMap((muster) =>
        Array.from({ length: 4 }, () => ({ visitor: elsewhere(muster), dueAt: 0 })),
      );
      let failed = 0;
      for (let second = 0; second < 60; second += 1) {
        const now = fleet.clock.now();
        const waiting = patient.filter(({ dueAt }) => dueAt <= now);
        const answers = await Promise.all([
          ...waiting.map(async (one) => {
            const answer = await signIn(one.visitor);
            one.dueAt = now + Number(answer.headers.get('retry-after') ?? 0) * 1000;
            return answer;
          }),
          ...fleet.replicas.map((muster) => signIn(elsewhere(muster))),
        ]);
        for (const { status } of answers) {
          expect([401, 429]).toContain(status);
          if (status === 401) failed += 1;
        }
        fleet.clock.advance(1000);
      }
      compared.push(failed);
    }
    for (const count of compared) expect(count).toBeLessThanOrEqual(10);
    // Those who wait have their turns.
    expect(Math.min(...compared)).toBeGreaterThanOrEqual(8);
  });

  test('many at once, at three replicas, are as many as one replica compares', async () => {
    await using fleet = await fleetOf(3);
    const answers = await Promise.all(
      Array.from({ length: 45 }, (_, i) => signIn(elsewhere(fleet.replicas[i % 3] ?? fleet.replicas[0]!))),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status !== 429)).toEqual([401, 401, 401, 401, 401]);
  });

  test('a name that somebody has and one that nobody has are answered alike, at one replica and at the other', async () => {
    await using fleet = await fleetOf(2);
    const [first, second] = fleet.replicas;
    if (!first || !second) throw new Error('There are two replicas.');
    await enteredUser(first);
    const told = async (login: string): Promise<string[]> => {
      const seen: string[] = [];
      for (let i = 0; i < 14; i += 1) {
        const { status, headers, body } = await signIn(elsewhere(i % 3 === 1 ? second : first), login);
        const cookies = headers.getSetCookie().map((cookie) => cookie.replace(/=[^;]*/, ''));
        seen.push(JSON.stringify([status, headers.get('retry-after'), cookies, body['error']]));
      }
      return seen;
    };
    const [known, unknown] = [await told(LOGIN), await told(NOBODY)];
    expect(known).toEqual(unknown);
    expect(known.filter((one) => one.startsWith('[401'))).toHaveLength(5);
    expect(known.filter((one) => one.startsWith('[429'))).toHaveLength(9);
  });

  test('whoever was told to wait at one replica is judged at the other', async () => {
    await using fleet = await fleetOf(2);
    const [first, second] = fleet.replicas;
    if (!first || !second) throw new Error('There are two replicas.');
    await enteredUser(first);
    for (let i = 0; i < 6; i += 1) await signIn(elsewhere(first));
    const here = new Visitor(first, { address: '203.0.113.7' });
    const there = new Visitor(second, { address: '203.0.113.7' });
    const refused = await signIn(here, LOGIN, GOOD_PASSWORD);
    expect(refused.status).toBe(429);
    fleet.clock.advance(Number(refused.headers.get('retry-after')) * 1000);
    there.setCookie('-ticket', here.cookie('-ticket') ?? '');
    expect((await signIn(there, LOGIN, GOOD_PASSWORD)).status).toBe(200);
  });

  test('a ticket is for one name and one network, and good once', async () => {
    await using fleet = await fleetOf(2);
    const [first, second] = fleet.replicas;
    if (!first || !second) throw new Error('There are two replicas.');
    await enteredUser(first);
    for (let i = 0; i < 6; i += 1) {
      for (const login of [LOGIN, NOBODY]) await signIn(elsewhere(first), login);
    }
    const told = new Visitor(first, { address: '203.0.113.7' });
    fleet.clock.advance(Number((await signIn(told)).headers.get('retry-after')) * 1000);
    const withTicket = async (address: string, login: string): Promise<number> => {
      const copy = new Visitor(second, { address });
      copy.setCookie('-ticket', told.cookie('-ticket') ?? '');
      return (await signIn(copy, login)).status;
    };
    expect(await withTicket('203.0.113.7', NOBODY)).toBe(429);
    expect(await withTicket('203.0.114.7', LOGIN)).toBe(429);
    expect(await withTicket('203.0.113.7', LOGIN)).toBe(401);
    // In the next turn it is spent.
    fleet.clock.advance(LIMITS.signInTurnMs);
    expect(await withTicket('203.0.113.7', LOGIN)).toBe(429);
  });

  test('strangers write records of a fixed size, for whichever names they try', async () => {
    await using fleet = await fleetOf(2);
    const tried = async (count: number): Promise<string[]> => {
      for (let i = 0; i < count; i += 1) {
        await signIn(elsewhere(fleet.replicas[i % 2] ?? fleet.replicas[0]!), `name-${i}-${count}@example.com`);
      }
      const entries = await entriesOf(fleet.store, '');
      return entries.filter(({ key }) => /sign-in|name-/.test(key)).map(({ key, value }) => `${key} ${value.length}`);
    };
    const [few, many] = [await tried(20), await tried(60)];
    expect(new Set([...few, ...many].map((one) => one.split(' ')[1])).size).toBe(1);
    expect(many.every((one) => one.startsWith(KEYS.signInNames.under()))).toBe(true);
    expect(many.length).toBeLessThanOrEqual(64);
  });
});
