import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PINNED_MS_MAX, pinRevision } from '../../../src/domain/history/revision-pins.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectAbsent, StoreUnavailable, type Held, type Store } from '../../../src/store/port.ts';
import { purgeLoop } from '../../support/records/purge-loop.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStoreAlone } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const LOOK_MS = 5000;
const signal = new AbortController().signal;

function compacter(store: Store, clock: FakeClock): () => Promise<void> {
  const metrics = createMetrics('test');
  const loop = purgeLoop({ store, clock, metrics, compacts: true }, { fence: [], signal });
  return () => loop.reconcile(signal);
}

/** @returns the revision at which the secret was there last */
async function purge(store: Store): Promise<number> {
  const expectNothing = expectAbsent('never');
  const secret = await store.commit({
    expect: [expectNothing],
    write: [{ put: rawKey('thing'), value: randomUUID() }],
  });
  await store.commit({
    expect: [expectNothing],
    write: [{ remove: rawKey('thing') }, put(KEYS.purge(randomUUID()), { at: 1, keyNumber: 1 })],
  });
  return secret.outcome === 'committed' ? secret.revision : expect.unreachable('nobody else writes');
}

const isKept = async (store: Store, revision: number): Promise<boolean> =>
  (await store.listAt({ prefix: 'thing', limit: 1 }, revision)) !== 'compacted';
const isCounted = async (store: Store): Promise<boolean> =>
  (await store.list({ prefix: KEYS.purge.under(), limit: 1 })).entries.length === 0;

onEachStoreAlone('compaction and pins', (stores) => {
  test('a secret that was purged before a pin goes; one that was purged after it goes as soon as the pin does', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const look = compacter(store, clock);
    const before = await purge(store);
    const pinned = await pinRevision(store, clock, 'backup');
    const after = await purge(store);
    await look();
    expect([await isKept(store, before), await isKept(store, pinned.revision), await isKept(store, after)]).toEqual([
      false,
      true,
      true,
    ]);
    // The purge is held up for several rounds, and none of them compacts in vain.
    for (let n = 0; n < 24; n += 1) {
      clock.advance(LOOK_MS);
      await look();
    }
    expect([await isKept(store, pinned.revision), await isCounted(store)]).toEqual([true, false]);
    await pinned[Symbol.asyncDispose]();
    clock.advance(LOOK_MS);
    await look();
    expect([await isKept(store, after), await isCounted(store)]).toEqual([false, true]);
  });

  test('a revision that is pinned during a compaction stays readable', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    for (const moment of ['before the pins are listed', 'after the pins are listed', 'before it is compacted']) {
      clock.advance(60_000);
      const look = compacter(store, clock);
      const secret = await purge(opened);
      // The pin is of another process: a revision that this process retains would hold up its own compaction.
      let made: Held | undefined;
      const make = async (): Promise<void> => {
        const held = await opened.hold(KEYS.pin('reader'), '{"at":0}', 15_000);
        if (held !== 'taken') made = held;
        // This is newer than the pinned revision: a compaction to the store's revision of now would go too far.
        await opened.commit({ expect: [expectAbsent('never')], write: [{ put: rawKey('other'), value: moment }] });
      };
      // The first listing is that of the purges, the second that of the pins.
      if (moment === 'before it is compacted') store.intercept('compact', 'before', make);
      else {
        const when = moment.startsWith('before') ? 'before' : 'after';
        store.intercept('list', when, async () => undefined);
        store.intercept('list', when, make);
      }
      await look();
      expect(await isKept(opened, secret), `the secret, ${moment}`).toBe(false);
      expect(await isKept(opened, made?.revision ?? 0), `the pinned revision, ${moment}`).toBe(true);
      await made?.release();
    }
  });

  test('the smallest of several counts', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const first = await pinRevision(store, clock, 'z');
    const secret = await purge(store);
    const second = await pinRevision(store, clock, 'a');
    await compacter(store, clock)();
    expect([await isKept(store, first.revision), await isKept(store, secret)]).toEqual([true, true]);
    await first[Symbol.asyncDispose]();
    clock.advance(60_000);
    await compacter(store, clock)();
    expect([await isKept(store, secret), await isKept(store, second.revision)]).toEqual([false, true]);
  });

  test('a pin that is kept too long holds up nothing any more', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    // The pin is of another process, as above.
    const held = await opened.hold(KEYS.pin('stuck'), '{"at":0}', 15_000);
    if (held === 'taken') expect.unreachable('nobody else pins');
    const look = compacter(opened, clock);
    const secret = await purge(opened);
    await look();
    clock.advance(PINNED_MS_MAX - 1);
    await look();
    expect(await isKept(opened, secret), 'however old its holder’s clock says it is').toBe(true);
    clock.advance(1);
    await look();
    expect(await isKept(opened, secret)).toBe(false);
  });

  test('a reader in the process of the leader that takes too long holds up nothing any more, whoever leads', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await using pinned = await pinRevision(store, clock, 'slow');
    const secret = await purge(store);
    clock.advance(PINNED_MS_MAX - 1);
    await compacter(store, clock)();
    expect([await isKept(store, secret), pinned.lost.aborted]).toEqual([true, false]);
    clock.advance(1);
    await until(() => pinned.lost.aborted);
    await until(async () => (await store.get(KEYS.pin('slow'))) === undefined);
    await compacter(store, clock)();
    expect(await isKept(store, secret)).toBe(false);
  });

  test('an id is pinned once', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const one = await pinRevision(store, clock, 'one');
    await expect(pinRevision(store, clock, 'one')).rejects.toThrow(StoreUnavailable);
    const two = await pinRevision(store, clock, 'two');
    expect(two.revision).toBeGreaterThan(one.revision);
  });
});
