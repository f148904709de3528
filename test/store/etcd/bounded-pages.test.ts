import { randomBytes, randomInt } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { generateAccountId, generateAppId, systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { BoundedPages, boundAfter } from '../../../src/store/etcd/bounded-pages.ts';
import { KeySpace } from '../../../src/store/etcd/wire/key-space.ts';
import type { FoundRange } from '../../../src/store/etcd/wire/range-codec.ts';
import { CACHED_PREFIX, HEAD_KEY, expectAbsent } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { rawKey } from '../../support/store/raw-key.ts';

interface Range {
  readonly key?: unknown;
  readonly range_end?: unknown;
  readonly limit?: unknown;
}

/** An etcd with these keys: it counts all keys of a range, as etcd does, and tells how many those were. */
function countingEtcd(keys: readonly string[]) {
  const sorted = keys.toSorted();
  const counted = { asked: 0, visited: 0 };
  return {
    counted,
    sorted,
    ask: async ({ key, range_end: end, limit }: Range): Promise<FoundRange> => {
      const [from, to] = [String(key), String(end)];
      // etcd's spelling of "to the end of all keys".
      const within = sorted.filter((one) => one >= from && (to === '\0' || one < to));
      counted.asked += 1;
      counted.visited += within.length;
      const entries = within.slice(0, Number(limit)).map((one) => ({ key: rawKey(one), value: '', revision: 1 }));
      return { entries, more: within.length > entries.length, revision: 1 };
    },
  };
}

async function listed(keys: readonly string[], prefix: string, limit: number) {
  const etcd = countingEtcd(keys);
  const pages = new BoundedPages(new KeySpace(''));
  const found: string[] = [];
  let after: string | undefined;
  do {
    const { entries, more } = await pages.find({ prefix, limit, after }, etcd.ask);
    found.push(...entries.map(({ key }) => key));
    after = more ? found.at(-1) : undefined;
  } while (after !== undefined);
  return { found, ...etcd };
}

const random = systemRandom();
const accountIds = Array.from({ length: 200 }, () => generateAccountId(random));
const word = (alphabet: string): fc.Arbitrary<string> =>
  fc.string({ unit: fc.constantFrom(...Array.from(alphabet)), minLength: 1, maxLength: 12 });
const anyKeys = fc.uniqueArray(fc.oneof(word('ab'), word('az09-_'), word(' ~'), word('a/')), { maxLength: 400 });

describe('pages that are asked for in ranges that end soon', () => {
  test('have the same keys as those of the whole range, whatever keys there are', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyKeys,
        fc.constantFrom('', 'a', 'a/', 'z'),
        fc.integer({ min: 1, max: 60 }),
        async (keys, prefix, limit) => {
          const { found, sorted } = await listed(keys, prefix, limit);
          expect(found).toEqual(sorted.filter((key) => key.startsWith(prefix)));
        },
      ),
      { numRuns: runs(300) },
    );
  });

  test('end behind the page and within its prefix', () => {
    const key = fc.tuple(word('ab'), word('az09-_')).map(([one, other]) => `p/${one}${other}`);
    fc.assert(
      fc.property(key, key, fc.integer({ min: 16, max: 1000 }), (one, other, keys) => {
        const [first = '', last = ''] = [one, other].toSorted();
        const bound = boundAfter({ first, last, keys }, 'p/', 4000);
        if (bound === undefined) return;
        expect(bound > last).toBe(true);
        expect(bound.startsWith('p/')).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });

  test.each([
    ['hashes', (): string => KEYS.credential(randomBytes(32).toString('base64url'))],
    [
      'apps of 200 accounts',
      (): string => KEYS.app(accountIds[randomInt(accountIds.length)] ?? '', generateAppId(random)),
    ],
    ['apps of as many accounts', (): string => KEYS.app(generateAccountId(random), generateAppId(random))],
  ])('make etcd count some keys for each that is returned, and not all that follow: %s', async (_, key) => {
    const keys = Array.from({ length: 20_000 }, key);
    const { counted } = await listed(keys, CACHED_PREFIX, 100);
    // The whole range, page by page: 200 pages of 10,000 keys on average.
    expect(counted.visited).toBeLessThan(20 * keys.length);
    expect(counted.asked).toBeLessThan(2 * (keys.length / 100));
  });
});

onEachStore('pages of a large range', (stores) => {
  test('come to all of its keys once, in their order, now and at a revision', async () => {
    await using store = await stores.open();
    const keys = Array.from({ length: 600 }, (_, index) => `${index % 3}/${randomBytes(6).toString('base64url')}`);
    let revision = 0;
    for (let start = 0; start < keys.length; start += 100) {
      const write = keys.slice(start, start + 100).map((key) => ({ put: rawKey(key), value: key }));
      const result = await store.commit({ expect: [expectAbsent('none')], write });
      if (result.outcome === 'committed') ({ revision } = result);
    }
    for (const read of [
      store.list.bind(store),
      async (page: Parameters<typeof store.listAt>[0]) => store.listAt(page, revision),
    ]) {
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await read({ prefix: '', limit: 20, after });
        if (page === 'compacted') throw new Error('compacted');
        found.push(...page.entries.map(({ key }) => key));
        after = page.next;
      } while (after !== undefined);
      expect(found.filter((key) => key !== HEAD_KEY)).toEqual(keys.toSorted());
    }
  });

  test('ends with its page where the store is closed meanwhile, however many questions that takes', async () => {
    const store = await stores.open();
    const write = Array.from({ length: 95 }, (_, index) => ({
      put: rawKey(`p/${(index * 7919) % 99_991}`),
      value: '',
    }));
    await store.commit({ expect: [expectAbsent('none')], write });
    const { next = '' } = await store.list({ prefix: 'p/', limit: 50 });
    const listing = store.list({ prefix: 'p/', limit: 50, after: next });
    const closing = store[Symbol.asyncDispose]();
    expect((await listing).entries).toHaveLength(45);
    await closing;
  });
});
