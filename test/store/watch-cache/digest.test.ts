import { expect, test } from 'vitest';
import { PAGE_ENTRIES_MAX, expectAbsent, type Store } from '../../../src/store/port.ts';
import { digestOf, storedDigest } from '../../../src/store/watch-cache/digest.ts';
import { systemClock } from '../../../src/time/clock.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const PER_COMMIT = 100;
const KEYS = Array.from({ length: 2 * PAGE_ENTRIES_MAX + 1 }, (_, index) => `g/${index}`);

async function filled(store: Store): Promise<number> {
  let reached = 0;
  for (let start = 0; start < KEYS.length; start += PER_COMMIT) {
    const write = KEYS.slice(start, start + PER_COMMIT).map((key) => ({ put: rawKey(key), value: '' }));
    const result = await store.commit({ expect: [expectAbsent('none')], write });
    if (result.outcome === 'committed') reached = result.revision;
  }
  return reached;
}

onEachStore('the digest of a group of several pages', (stores) => {
  test('is read with pauses three times as long as the reading took', async () => {
    await using store = await stores.open();
    const revision = await filled(store);
    const slept: number[] = [];
    let now = 0;
    // Each page takes 7 ms by this clock: one look before it, and one after.
    const clock = { monotonic: () => (now += 7), sleep: async (ms: number): Promise<void> => void slept.push(ms) };
    const digest = await storedDigest({ store, clock }, 'g/', revision, new AbortController().signal);
    expect(digest).toMatchObject({ count: KEYS.length });
    expect(slept).toEqual([21, 21]);
  });

  test('is that of the keys and their revisions', async () => {
    await using store = await stores.open();
    const revision = await filled(store);
    const held = await Promise.all(KEYS.map(async (key) => [key, (await store.get(key))?.revision ?? 0] as const));
    const digest = await storedDigest({ store, clock: systemClock }, 'g/', revision, new AbortController().signal);
    expect(digest).toEqual(digestOf(held));
  });

  test('is given up between two pages', async () => {
    await using store = await stores.open();
    const revision = await filled(store);
    const stop = new AbortController();
    let pages = 0;
    const clock = { monotonic: () => 0, sleep: async (): Promise<void> => stop.abort() };
    const counting = {
      listAt: async (...asked: Parameters<Store['listAt']>) => ((pages += 1), store.listAt(...asked)),
    };
    expect(await storedDigest({ store: counting, clock }, 'g/', revision, stop.signal)).toBe('stopped');
    expect(pages).toBe(1);
  });
});
