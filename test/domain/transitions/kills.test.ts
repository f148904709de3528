import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Change, Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { STALE_MS, ToldFleet, type LeaderStore } from '../../support/records/told-fleet.ts';
import { runs } from '../../support/run/effort.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/*
 * Nothing is lost and nothing told twice, wherever a leader is killed and however many lead at once: they have no fence
 * here, so that the record alone must hold.
 */

const MINUTE_MS = 60_000;
const ACCOUNTS = ['a'.repeat(16), 'b'.repeat(16), 'c'.repeat(16)] as const;
const APPS = 3;

/** What the last call of a leader that is killed has done. A commit that is `late` arrives after its successor's. */
const ENDS = ['before', 'after', 'late'] as const;
type End = (typeof ENDS)[number];

/** The store as a leader has it that is killed at a call. `arrive` lets the commits through that were under way. */
function dying(store: Store, atCall: number, end: End) {
  let calls = 0;
  const underWay: Change[] = [];
  async function last<T>(call: () => Promise<T>, change?: Change): Promise<T> {
    calls += 1;
    if (calls < atCall) return await call();
    if (calls === atCall && end === 'after') await call();
    if (calls === atCall && end === 'late' && change) underWay.push(change);
    throw new Error('killed');
  }
  const own: LeaderStore = {
    get: (key) => last(() => store.get(key)),
    list: (request) => last(() => store.list(request)),
    commit: (change) => last(() => store.commit(change), change),
  };
  return {
    store: own,
    arrive: async (): Promise<void> => {
      for (const change of underWay.splice(0)) await store.commit(change);
    },
  };
}

/** A fleet whose apps come and go, and what must be told of that, in any order. */
class World {
  readonly fleet: ToldFleet;
  readonly #clock: FakeClock;
  readonly #silent = new Set<string>();
  readonly #expected: string[] = [];
  #revision = 0;

  constructor(store: Store) {
    this.#clock = new FakeClock();
    this.fleet = new ToldFleet(store, this.#clock);
    for (const account of ACCOUNTS) this.fleet.account(account);
  }

  /** Has some apps silent and others not, and perhaps a revision that all have applied. */
  async change(silent: readonly boolean[], isStored: boolean): Promise<void> {
    this.#clock.advance(MINUTE_MS);
    for (const [n, isSilent] of silent.entries()) {
      const account = ACCOUNTS[Math.floor(n / APPS)] ?? ACCOUNTS[0];
      const app = `app${n}`;
      this.fleet.app(account, app, { enrolledAt: this.#clock.now() - (isSilent ? 2 * STALE_MS : 0) });
      if (isSilent !== this.#silent.has(app)) this.#expected.push(`${isSilent ? 'app.silent' : 'app.back'} ${app}`);
      if (isSilent) this.#silent.add(app);
      else this.#silent.delete(app);
    }
    if (!isStored) return;
    this.#revision += 1;
    this.fleet.otel(ACCOUNTS[0], this.#revision);
    for (let n = 0; n < APPS; n += 1) await this.fleet.ack(ACCOUNTS[0], `app${n}`, this.#revision);
    this.#expected.push(`rollout.completed ${this.#revision}`);
  }

  async compare(): Promise<void> {
    const entries = (await Promise.all(ACCOUNTS.map((account) => this.fleet.entries(account)))).flat();
    const told = entries.map(([action, app, { revision }]) => `${action} ${app ?? String(revision)}`);
    expect(told.toSorted()).toEqual(this.#expected.toSorted());
  }
}

const killed = async (round: Promise<void>): Promise<void> => {
  await round.catch((error: unknown) => expect(String(error)).toBe('Error: killed'));
};

onEachStore('a leader that is killed', (stores) => {
  let store: Store;
  beforeEach(async () => void (store = await stores.open()));
  afterEach(() => store[Symbol.asyncDispose]());

  /** More than the calls of a round. */
  const CALLS = 6;

  describe.each(ENDS)('at a call of the store, which is %s', (end) => {
    test('leaves all that became so to the next one, and nothing twice', async () => {
      const world = new World(store);
      await world.fleet.begin();
      const all = Array.from({ length: ACCOUNTS.length * APPS }, () => false);
      await world.change(all, false);
      for (let atCall = 1; atCall <= CALLS; atCall += 1) {
        await world.change(
          all.map((_, n) => (n + atCall) % 3 === 0),
          true,
        );
        const first = dying(store, atCall, end);
        await killed(world.fleet.leader({ store: first.store }).round());
        const next = world.fleet.leader();
        await next.look();
        await first.arrive();
        await next.write();
        // The commit that arrived late may have made that of the successor conflict.
        await next.round();
        await world.compare();
      }
    });
  });

  test('and two that lead at once tell everything once', async () => {
    const world = new World(store);
    await world.fleet.begin();
    const [one, other] = [world.fleet.leader(), world.fleet.leader()];
    for (let step = 0; step < 6; step += 1) {
      await world.change(
        Array.from({ length: ACCOUNTS.length * APPS }, (_, n) => (n * step) % 4 === 1),
        step % 2 === 0,
      );
      await one.look();
      await other.look();
      await Promise.all([one.write(), other.write()]);
      await one.round();
      await world.compare();
    }
  });
});

test('whatever becomes so, whoever leads, and wherever leaders end: everything is told once', async () => {
  const silent = fc.array(fc.boolean(), { minLength: ACCOUNTS.length * APPS, maxLength: ACCOUNTS.length * APPS });
  const end = fc.record({ atCall: fc.integer({ min: 1, max: 7 }), end: fc.constantFrom(...ENDS) });
  const step = fc.record({
    silent,
    isStored: fc.boolean(),
    ends: fc.array(end, { maxLength: 3 }),
    isRival: fc.boolean(),
    isNext: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      await using store = await openSqliteStore(':memory:');
      const world = new World(store);
      await world.fleet.begin();
      let leader = world.fleet.leader();
      const rival = world.fleet.leader();
      for (const { silent: apps, isStored, ends, isRival, isNext } of steps) {
        await world.change(apps, isStored);
        const late = ends.map(({ atCall, end: how }) => dying(store, atCall, how));
        for (const one of late) await killed(world.fleet.leader({ store: one.store }).round());
        if (isRival) await rival.look();
        if (isNext) leader = world.fleet.leader();
        await leader.look();
        for (const one of late) await one.arrive();
        await Promise.all([leader.write(), ...(isRival ? [rival.write()] : [])]);
        await leader.round();
        await world.compare();
      }
    }),
    { numRuns: runs(60) },
  );
});
