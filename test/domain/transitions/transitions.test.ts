import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LIMITS } from '../../../src/domain/limits.ts';
import type { AppRecord } from '../../../src/domain/records/app-records.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, expectHeld, expectUnchanged } from '../../../src/store/port.ts';
import { DAY_MS, HOUR_MS } from '../../../src/time/utc-days.ts';
import { ACCOUNT, OTHER_ACCOUNT } from '../../support/records/audit.ts';
import { STALE_MS, ToldFleet, type ToldEntry } from '../../support/records/told-fleet.ts';
import { boundedStore } from '../../support/store/bounded-store.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { rawPut } from '../../support/store/raw-key.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* The transitions that the leader tells of, each with its neighbour that is none. */

const NOON = Date.UTC(2026, 5, 1, 12);
const MINUTE_MS = 60_000;
const NOTHING: readonly ToldEntry[] = [];
const iso = (at: number): string => new Date(at).toISOString();

onEachStore('the transitions that the leader tells', (stores) => {
  let store: FaultyStore;
  let clock: FakeClock;
  let fleet: ToldFleet;
  beforeEach(async () => {
    store = faultyStore(await stores.open());
    clock = new FakeClock(NOON);
    fleet = new ToldFleet(store, clock);
    await fleet.begin();
    fleet.account(ACCOUNT);
  });
  afterEach(() => store[Symbol.asyncDispose]());

  const seenAgo = (ms: number): Partial<AppRecord> => ({ enrolledAt: clock.now() - ms });
  const codes = (...ends: readonly number[]): Partial<AppRecord> => ({
    codes: ends.map((expiresAt, n) => ({ hash: `hash${n}`, issuedAt: 0, expiresAt })),
  });
  const recordOf = async (accountId = ACCOUNT) => {
    const entry = await store.get(KEYS.told(accountId));
    return entry && parseRecord(KEYS.told, entry).record;
  };
  /** What a further round tells. */
  async function news(leader = fleet.leader(), accountId = ACCOUNT): Promise<readonly ToldEntry[]> {
    const before = (await fleet.entries(accountId)).length;
    await leader.round();
    return (await fleet.entries(accountId)).slice(before);
  }

  describe('of silent daemons', () => {
    test('once where an app has been silent for more than three polls, and once when it is back', async () => {
      const leader = fleet.leader();
      fleet.app(ACCOUNT, 'app1', seenAgo(STALE_MS));
      fleet.app(ACCOUNT, 'app2');
      fleet.app(ACCOUNT, 'app3', { ...seenAgo(DAY_MS), status: 'revoked' });
      fleet.app(ACCOUNT, 'app4', { ...seenAgo(DAY_MS), status: 'pending' });
      expect(await news(leader)).toEqual([]);
      clock.advance(1);
      expect(await news(leader)).toEqual([['app.silent', 'app1', { lastSeenAt: iso(NOON - STALE_MS) }]]);
      clock.advance(MINUTE_MS);
      expect(await news(leader)).toEqual([]);
      fleet.app(ACCOUNT, 'app1');
      const silentSeconds = (STALE_MS + MINUTE_MS + 1) / 1000;
      expect(await news(leader)).toEqual([
        ['app.back', 'app1', { silentSince: iso(NOON - STALE_MS), silentSeconds: Math.round(silentSeconds) }],
      ]);
      expect(await news(leader)).toEqual([]);
      expect(await recordOf()).toEqual({});
    });

    test('by no entry where an app is revoked or deleted while it is silent, and its number leaves the record', async () => {
      const leader = fleet.leader();
      for (const id of ['app1', 'app2', 'app3']) fleet.app(ACCOUNT, id, seenAgo(2 * STALE_MS));
      expect(await news(leader)).toHaveLength(3);
      fleet.app(ACCOUNT, 'app1', { ...seenAgo(2 * STALE_MS), status: 'revoked' });
      fleet.removeApp(ACCOUNT, 'app2');
      expect(await news(leader)).toEqual([]);
      expect(await recordOf()).toEqual({ silent: [[3, NOON - 2 * STALE_MS]] });
    });

    test('not before the replica has been listening for three polls; one that is back is told all the same', async () => {
      fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
      await fleet.leader().round();
      fleet.app(ACCOUNT, 'app2', seenAgo(2 * STALE_MS));
      const begun = fleet.leader({ heardMs: STALE_MS - 1 });
      expect(await news(begun)).toEqual([]);
      fleet.app(ACCOUNT, 'app1');
      expect((await news(begun)).map(([action]) => action)).toEqual(['app.back']);
      expect((await news()).map(([action, appId]) => [action, appId])).toEqual([['app.silent', 'app2']]);
    });

    test('not by a clock that is not trusted', async () => {
      fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
      expect(await news(fleet.leader({ isTrusted: false }))).toEqual([]);
      expect(await news()).toHaveLength(1);
    });

    test('not of an account that is disabled, nor for three polls after it is enabled again', async () => {
      const leader = fleet.leader();
      fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
      await leader.round();
      fleet.account(ACCOUNT, { disabled: true });
      fleet.app(ACCOUNT, 'app2', seenAgo(2 * STALE_MS));
      fleet.key(ACCOUNT, 'k', NOON + DAY_MS);
      expect(await news(leader)).toEqual([]);
      clock.advance(DAY_MS);
      fleet.account(ACCOUNT);
      expect(await news(leader)).toEqual([]);
      fleet.app(ACCOUNT, 'app1');
      // What else is true now is told at once; another leader knows of the rest as well.
      expect((await news(fleet.leader())).map(([action]) => action)).toEqual(['app.back', 'key.expired']);
      clock.advance(STALE_MS - 1);
      fleet.app(ACCOUNT, 'app1');
      expect(await news(leader)).toEqual([]);
      clock.advance(1);
      expect((await news(leader)).map(([action, appId]) => [action, appId])).toEqual([['app.silent', 'app2']]);
    });
  });

  test('of more than 20 of a kind in one round by their count, and of 20 one by one', async () => {
    for (let n = 0; n < 21; n += 1) fleet.app(ACCOUNT, `app${n}`, seenAgo(2 * STALE_MS));
    fleet.account(OTHER_ACCOUNT);
    for (let n = 0; n < 20; n += 1) fleet.app(OTHER_ACCOUNT, `other${n}`, seenAgo(2 * STALE_MS));
    const leader = fleet.leader();
    expect(await news(leader)).toEqual([['app.silent', undefined, { count: 21 }]]);
    expect(await fleet.entries(OTHER_ACCOUNT)).toHaveLength(20);
    for (let n = 0; n < 21; n += 1) fleet.app(ACCOUNT, `app${n}`, codes(NOON + (n + 1) * HOUR_MS));
    expect(await news()).toEqual([
      ['app.back', undefined, { count: 21 }],
      ['code.expiring', undefined, { count: 21, expiresAt: iso(NOON + HOUR_MS) }],
    ]);
  });

  test('of a code that ends within 72 hours, once, and neither its secret nor its hash', async () => {
    const leader = fleet.leader();
    const end = NOON + LIMITS.codeExpiringMs;
    fleet.app(ACCOUNT, 'app1', { status: 'pending', ...codes(end + 1, end + 15 * MINUTE_MS, NOON - 1) });
    expect(await news(leader)).toEqual([]);
    clock.advance(10 * MINUTE_MS);
    expect(await news(leader)).toEqual([['code.expiring', 'app1', { expiresAt: iso(end + 1) }]]);
    clock.advance(10 * MINUTE_MS);
    expect(await news(leader)).toEqual([['code.expiring', 'app1', { expiresAt: iso(end + 15 * MINUTE_MS) }]]);
    expect(await news()).toEqual([]);
    const { entries } = await store.list({ prefix: '', limit: 1000 });
    expect(JSON.stringify(entries)).not.toContain('hash0');
  });

  test('of a key from 14 days before its expiry, and of its expiry; a rotation begins that anew', async () => {
    const leader = fleet.leader();
    const end = NOON + LIMITS.keyExpiryShownMs + 1;
    fleet.key(ACCOUNT, 'k1', end);
    fleet.key(ACCOUNT, 'k2', undefined);
    expect(await news(leader)).toEqual([]);
    clock.advance(1);
    const detail = { keyId: 'k1', expiresAt: iso(end) };
    expect(await news(leader)).toEqual([['key.expiring', undefined, detail]]);
    clock.advance(end - clock.now() - 1);
    expect(await news(leader)).toEqual([]);
    clock.advance(1);
    expect(await news(leader)).toEqual([['key.expired', undefined, detail]]);
    expect(await news()).toEqual([]);
    fleet.key(ACCOUNT, 'k1', end + 90 * DAY_MS);
    expect(await news(leader)).toEqual([]);
    expect(await recordOf()).toEqual({});
    clock.advance(80 * DAY_MS);
    expect((await news(leader)).map(([action]) => action)).toEqual(['key.expiring']);
  });

  describe('of rollouts', () => {
    beforeEach(() => {
      for (const id of ['app1', 'app2']) fleet.app(ACCOUNT, id);
      fleet.otel(ACCOUNT, 7);
    });

    test('that are completed: all receivers have applied the revision, and there is one', async () => {
      const leader = fleet.leader();
      fleet.app(ACCOUNT, 'app3', { connection: 'private' });
      await fleet.ack(ACCOUNT, 'app1', 7);
      await fleet.ack(ACCOUNT, 'app2', 6);
      expect(await news(leader)).toEqual([]);
      await fleet.ack(ACCOUNT, 'app2', 7);
      expect(await news(leader)).toEqual([['rollout.completed', undefined, { revision: 7, devices: 2 }]]);
      // A daemon more begins no other rollout.
      fleet.app(ACCOUNT, 'app4');
      expect(await news()).toEqual([]);
      await fleet.ack(ACCOUNT, 'app4', 7);
      expect(await news()).toEqual([]);
      fleet.otel(ACCOUNT, 8);
      for (const id of ['app1', 'app2', 'app4']) await fleet.ack(ACCOUNT, id, 8);
      expect(await news(leader)).toEqual([['rollout.completed', undefined, { revision: 8, devices: 3 }]]);
    });

    test.each([
      ['an account without a device that receives it', () => fleet.account(ACCOUNT, { entitlement: 'standard' })],
      ['a purge', () => fleet.otel(ACCOUNT, 7, { config: undefined })],
    ])('but not of %s', async (_what, change) => {
      for (const id of ['app1', 'app2']) await fleet.ack(ACCOUNT, id, 7);
      change();
      expect(await news()).toEqual([]);
    });

    test('that fail: the first failure of a revision, and no further one', async () => {
      const leader = fleet.leader();
      await fleet.ack(ACCOUNT, 'app1', 7, 'failed');
      expect(await news(leader)).toEqual([['rollout.failed', undefined, { revision: 7, failed: 1, devices: 2 }]]);
      await fleet.ack(ACCOUNT, 'app2', 7, 'failed');
      expect(await news()).toEqual([]);
      fleet.otel(ACCOUNT, 8);
      await fleet.ack(ACCOUNT, 'app2', 8, 'failed');
      expect((await news(leader)).map(([action]) => action)).toEqual(['rollout.failed']);
    });

    test('that are stuck: an hour after the revision a device polls, and has not said what it did', async () => {
      const leader = fleet.leader();
      await fleet.ack(ACCOUNT, 'app1', 7);
      clock.advance(LIMITS.rolloutStuckMs - 1);
      for (let minutes = 0; minutes < 2; minutes += 1) {
        fleet.app(ACCOUNT, 'app1');
        fleet.app(ACCOUNT, 'app2');
        expect(await news(leader)).toEqual([]);
        clock.advance(1);
      }
      for (let minute = 1; minute < 3; minute += 1) {
        clock.advance(MINUTE_MS);
        fleet.app(ACCOUNT, 'app2');
        expect(await news(leader)).toEqual([]);
      }
      clock.advance(MINUTE_MS);
      fleet.app(ACCOUNT, 'app2');
      fleet.app(ACCOUNT, 'app1');
      expect(await news(leader)).toEqual([['rollout.stuck', undefined, { revision: 7, pending: 1, devices: 2 }]]);
      clock.advance(STALE_MS);
      expect((await news(leader)).map(([action]) => action)).not.toContain('rollout.stuck');
    });

    test('but not for silent devices, nor for one that is back and has just got the configuration', async () => {
      const leader = fleet.leader();
      await fleet.ack(ACCOUNT, 'app1', 7);
      clock.advance(2 * LIMITS.rolloutStuckMs);
      for (let minute = 0; minute < 5; minute += 1) {
        await leader.round();
        clock.advance(MINUTE_MS);
        fleet.app(ACCOUNT, 'app1');
      }
      fleet.app(ACCOUNT, 'app2');
      await leader.round();
      clock.advance(2 * MINUTE_MS);
      await leader.round();
      clock.advance(MINUTE_MS);
      await fleet.ack(ACCOUNT, 'app2', 7);
      await leader.round();
      const actions = (await fleet.entries(ACCOUNT)).map(([action]) => action);
      expect(actions).not.toContain('rollout.stuck');
      expect(actions).toContain('rollout.completed');
    });
  });

  test('of a quota from 80 % on, and again only after it was below 75 %', async () => {
    const quotaBytes = 1024 * 1024;
    const leader = fleet.leader();
    const at = async (part: number) => {
      fleet.stored(ACCOUNT, Math.ceil(quotaBytes * part));
      return await news(leader);
    };
    expect(await at(0.7999)).toEqual([]);
    const storedBytes = Math.ceil(quotaBytes * 0.8);
    expect(await at(0.8)).toEqual([['quota.near', undefined, { storedBytes, quotaBytes }]]);
    expect(await at(0.75)).toEqual([]);
    expect(await at(0.9)).toEqual([]);
    expect(await at(0.7499)).toEqual([]);
    expect(await at(0.9)).toHaveLength(1);
    fleet.account(ACCOUNT, { quotaMb: 0 });
    expect(await at(5)).toEqual([]);
    fleet.account(ACCOUNT, { quotaMb: 5 });
    expect(await at(4.5)).toHaveLength(1);
  });

  describe('on a store of before', () => {
    beforeEach(async () => {
      const telling = await store.get(KEYS.telling());
      const expectation = telling ? expectUnchanged(telling) : expect.unreachable('it began');
      await store.commit({ expect: [expectation], write: [{ remove: KEYS.telling() }], quiet: true });
      fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
      fleet.app(ACCOUNT, 'app2', codes(NOON + HOUR_MS));
      fleet.app(ACCOUNT, 'app3', seenAgo(0));
      fleet.key(ACCOUNT, 'k1', NOON + DAY_MS);
      fleet.key(ACCOUNT, 'k2', NOON - DAY_MS);
      fleet.stored(ACCOUNT, 1024 * 1024);
      fleet.otel(ACCOUNT, 7, { at: NOON - DAY_MS });
      await fleet.ack(ACCOUNT, 'app1', 7, 'failed');
      fleet.account(OTHER_ACCOUNT, { disabled: true });
      fleet.key(OTHER_ACCOUNT, 'k3', NOON - DAY_MS);
      fleet.otel(OTHER_ACCOUNT, 3);
      fleet.app(OTHER_ACCOUNT, 'app4');
      await fleet.ack(OTHER_ACCOUNT, 'app4', 3);
    });

    test('only of what becomes so: what is so already is noted once silence can be judged', async () => {
      await fleet.leader({ heardMs: 0 }).round();
      expect(await recordOf()).toBeUndefined();
      await fleet.leader().round();
      await fleet.leader().round();
      expect(await fleet.entries(ACCOUNT)).toEqual(NOTHING);
      expect(await recordOf()).toEqual({
        silent: [[1, NOON - 2 * STALE_MS]],
        codesTo: NOON + HOUR_MS,
        expiring: ['k1'],
        expired: ['k2'],
        failed: 7,
        stuck: 7,
        nearQuota: true,
      });
      // The other account has nothing to be told of when it is enabled, either.
      fleet.account(OTHER_ACCOUNT);
      await fleet.leader().round();
      clock.advance(STALE_MS);
      fleet.app(OTHER_ACCOUNT, 'app4');
      for (const id of ['app2', 'app3']) fleet.app(ACCOUNT, id, codes(NOON + HOUR_MS));
      fleet.app(ACCOUNT, 'app1');
      await fleet.leader().round();
      expect((await fleet.entries(ACCOUNT)).map(([action]) => action)).toEqual(['app.back']);
      expect(await fleet.entries(OTHER_ACCOUNT)).toEqual(NOTHING);
    });

    test('and whoever is killed before all of that is noted leaves the rest of it to the next leader', async () => {
      store.fates.push('passes', 'lost before commit');
      await expect(fleet.leader().round()).rejects.toThrow();
      expect(await store.get(KEYS.telling())).toBeUndefined();
      await fleet.leader().round();
      await fleet.leader().round();
      expect(await store.get(KEYS.telling())).toBeDefined();
      expect(await fleet.entries(ACCOUNT)).toEqual(NOTHING);
    });

    test('and a leader that still notes what was so swallows nothing of an account after another one has begun', async () => {
      await using quiet = await stores.open();
      const calm = new ToldFleet(quiet, clock);
      calm.account(ACCOUNT);
      calm.app(ACCOUNT, 'app1');
      const late = calm.leader();
      await late.look();
      await calm.leader().round();
      calm.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
      await late.look();
      await late.write();
      await calm.leader().round();
      expect((await calm.entries(ACCOUNT)).map(([action]) => action)).toEqual(['app.silent']);
    });

    test('and two leaders at once swallow nothing that becomes so after the first of them has begun', async () => {
      const late = fleet.leader();
      await late.look();
      await fleet.leader().round();
      fleet.app(ACCOUNT, 'app3', seenAgo(2 * STALE_MS));
      await fleet.leader().round();
      await late.round();
      expect((await fleet.entries(ACCOUNT)).map(([action, appId]) => [action, appId])).toEqual([
        ['app.silent', 'app3'],
      ]);
    });
  });

  test('from the first account on where a store is new, whether or not silence can be judged yet', async () => {
    await using empty = faultyStore(await stores.open());
    const young = new ToldFleet(empty, clock);
    const leader = young.leader({ heardMs: 0 });
    await leader.round();
    young.account(ACCOUNT);
    young.app(ACCOUNT, 'app1');
    young.otel(ACCOUNT, 1);
    await young.ack(ACCOUNT, 'app1', 1);
    await leader.round();
    expect((await young.entries(ACCOUNT)).map(([action]) => action)).toEqual(['rollout.completed']);
  });

  test('without a read or a write of the store for accounts of which nothing has changed', async () => {
    for (let n = 0; n < 30; n += 1) fleet.app(ACCOUNT, `app${n}`, seenAgo(n * STALE_MS));
    const leader = fleet.leader();
    await leader.round();
    const [lists, commits] = [store.calls.list, store.calls.commit];
    await leader.round();
    // That of the acknowledgements.
    expect(store.calls).toMatchObject({ get: 1, list: lists + 1, commit: commits });
    // Another term reads the records in pages.
    await fleet.leader().round();
    expect(store.calls).toMatchObject({ get: 2, list: lists + 3, commit: commits });
  });

  test('with the fence of the term: not by a leader whose term is over', async () => {
    const held = await store.hold(KEYS.leader(), 'r', 60_000);
    if (held === 'taken') expect.unreachable('nobody leads yet');
    const leader = fleet.leader({ fence: [expectHeld(KEYS.leader(), held)] });
    fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
    await leader.look();
    await held.release();
    await leader.write();
    expect(await fleet.entries(ACCOUNT)).toEqual([]);
    expect(await news()).toHaveLength(1);
  });

  test('later where the store is full: what is still true then; what needs no entry goes on', async () => {
    const full = faultyStore(boundedStore(store));
    const leader = fleet.leader({ store: full });
    fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
    await leader.round();
    full.full = 0.8;
    fleet.app(ACCOUNT, 'app1', { ...seenAgo(2 * STALE_MS), status: 'revoked' });
    fleet.account(OTHER_ACCOUNT);
    for (const id of ['app2', 'app3']) fleet.app(OTHER_ACCOUNT, id, seenAgo(2 * STALE_MS));
    store.full = 0.8;
    await expect(leader.round()).rejects.toThrow('80 % full');
    expect(await recordOf()).toEqual({});
    expect(await fleet.entries(OTHER_ACCOUNT)).toEqual([]);
    fleet.app(OTHER_ACCOUNT, 'app2');
    store.full = undefined;
    await leader.round();
    expect((await fleet.entries(OTHER_ACCOUNT)).map(([action, appId]) => [action, appId])).toEqual([
      ['app.silent', 'app3'],
    ]);
  });

  test('with a record that cannot be read: it is written anew, and what was so is told no second time', async () => {
    await store.commit({
      expect: [expectAbsent(KEYS.told(ACCOUNT))],
      write: [rawPut(KEYS.told(ACCOUNT), { silent: 'damaged' })],
      quiet: true,
    });
    fleet.app(ACCOUNT, 'app1', seenAgo(2 * STALE_MS));
    expect(await news()).toEqual([]);
    expect(await recordOf()).toEqual({ silent: [[1, NOON - 2 * STALE_MS]] });
  });

  test('in a record of at most 32 KB, and in commits within their bound, whatever an account may have', async () => {
    const slot = 10_000_000;
    for (let n = 0; n < LIMITS.appsPerAccountMax; n += 1) {
      const ends = Array.from({ length: LIMITS.openCodesPerAppMax }, (_, code) => NOON + 1 + n * 20 + code);
      fleet.app(ACCOUNT, `app${slot + n}`, { ...seenAgo(2 * STALE_MS), ...codes(...ends) });
    }
    for (let n = 0; n < LIMITS.apiKeysPerAccountMax; n += 1) {
      fleet.key(ACCOUNT, `key${String(n).padStart(9, '0')}`, n % 2 === 0 ? NOON + DAY_MS : NOON - DAY_MS);
    }
    fleet.otel(ACCOUNT, Number.MAX_SAFE_INTEGER, { at: NOON - DAY_MS });
    expect((await news()).map(([action, , { count }]) => [action, count])).toEqual([
      ['app.silent', 1000],
      ['code.expiring', 20_000],
      ['key.expired', 100],
      ['key.expiring', 100],
    ]);
    expect(Buffer.byteLength((await store.get(KEYS.told(ACCOUNT)))?.value ?? '')).toBeLessThan(32 * 1024);
    // As many entries as one account can have in one round: they fit a commit.
    fleet.account(OTHER_ACCOUNT);
    for (let n = 0; n < 20; n += 1) {
      fleet.app(OTHER_ACCOUNT, `app${n}`, { ...seenAgo(2 * STALE_MS), ...codes(NOON + HOUR_MS) });
      fleet.key(OTHER_ACCOUNT, `soon${n}`, NOON + DAY_MS);
      fleet.key(OTHER_ACCOUNT, `over${n}`, NOON - DAY_MS);
    }
    fleet.stored(OTHER_ACCOUNT, 1024 * 1024);
    await fleet.leader().round();
    expect(await fleet.entries(OTHER_ACCOUNT)).toHaveLength(81);
  });
});
