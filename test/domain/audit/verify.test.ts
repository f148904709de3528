import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { blockDigest } from '../../../src/domain/audit/chain.ts';
import type { AuditFault } from '../../../src/domain/audit/faults.ts';
import { verifyAudit } from '../../../src/domain/audit/verify.ts';
import type { ChainRecord, SealRecord } from '../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import type { Store } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealedBlocks, sealNow, tamper, writeEntry } from '../../support/records/audit.ts';
import { runs } from '../../support/run/effort.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

interface Scene {
  readonly store: Store;
  readonly clock: FakeClock;
  /** By block, from 0. */
  readonly keys: string[][];
  /** The key of an audit entry of another account. */
  readonly theirs: string;
}

/** Four blocks of three entries, and the same of a neighbour, who is never touched. */
async function audited(): Promise<AsyncDisposable & Scene> {
  await using opened = new AsyncDisposableStack();
  const store = opened.use(await openSqliteStore(':memory:'));
  const clock = new FakeClock();
  const theirs = await writeEntry(store, clock.now(), OTHER_ACCOUNT);
  await sealNow(store, clock, OTHER_ACCOUNT);
  const keys = await sealedBlocks(store, clock, 4, 3);
  const whole = opened.move();
  return { store, clock, keys, theirs, [Symbol.asyncDispose]: () => whole.disposeAsync() };
}

const readBlock = async (store: Store, number: number): Promise<SealRecord> => {
  const entry = await store.get(KEYS.seal(ACCOUNT, number));
  return parseRecord(KEYS.seal, entry ?? expect.unreachable('the block is there')).record;
};
const readChain = async (store: Store): Promise<ChainRecord> => {
  const entry = await store.get(KEYS.chain(ACCOUNT));
  return parseRecord(KEYS.chain, entry ?? expect.unreachable('the head is there')).record;
};
const putBlock = (store: Store, block: SealRecord): Promise<void> =>
  tamper(store, KEYS.seal(ACCOUNT, block.number), JSON.stringify(block));
const putChain = (store: Store, chain: ChainRecord): Promise<void> =>
  tamper(store, KEYS.chain(ACCOUNT), JSON.stringify(chain));

const told = ({ what, block, entry }: AuditFault): string => `${what} ${block ?? '-'} ${entry ?? '-'}`;
const suffix = (key = ''): string => key.slice(KEYS.audit.under(ACCOUNT).length);

const TAMPERINGS: [string, (scene: Scene) => Promise<string[]>][] = [
  [
    'an entry is removed',
    async ({ store, keys }) => {
      await tamper(store, keys[1]?.[1] ?? '', undefined);
      return [`removed 2 ${suffix(keys[1]?.[1])}`];
    },
  ],
  [
    'an entry is changed',
    async ({ store, keys }) => {
      const entry = await store.get(keys[2]?.[0] ?? '');
      await tamper(store, keys[2]?.[0] ?? '', entry?.value.replace('"test"', '"rest"'));
      return [`changed 3 ${suffix(keys[2]?.[0])}`];
    },
  ],
  [
    'the newest entry is removed',
    async ({ store, keys }) => {
      await tamper(store, keys[3]?.[2] ?? '', undefined);
      return [`removed 4 ${suffix(keys[3]?.[2])}`];
    },
  ],
  [
    'an entry is added, and the head is made to cover it',
    async ({ store, clock }) => {
      const key = await writeEntry(store, clock.now() - 5000);
      const entry = await store.get(key);
      await putChain(store, { ...(await readChain(store)), through: entry?.revision ?? 0 });
      return [`added - ${suffix(key)}`];
    },
  ],
  [
    'an entry of another time is added, and not sealed yet',
    async ({ store, clock }) => {
      const key = await writeEntry(store, clock.now() - 660_000);
      return [`backdated - ${suffix(key)}`];
    },
  ],
  [
    'an entry of another time is added, and then sealed by the leader',
    async ({ store, clock }) => {
      const key = await writeEntry(store, clock.now() - 660_000);
      await sealNow(store, clock);
      return [`backdated 5 ${suffix(key)}`];
    },
  ],
  [
    'an entry with a key of its own kind is added',
    async ({ store }) => {
      await tamper(store, `${KEYS.audit.under(ACCOUNT)}zzz`, '{}');
      return ['added - zzz'];
    },
  ],
  [
    'a block is removed',
    async ({ store }) => {
      await tamper(store, KEYS.seal(ACCOUNT, 2), undefined);
      return ['chain_broken 2 -'];
    },
  ],
  [
    'the newest block is removed',
    async ({ store }) => {
      await tamper(store, KEYS.seal(ACCOUNT, 4), undefined);
      return ['chain_broken 4 -'];
    },
  ],
  [
    'an entry is taken out, of the store and of its block',
    async ({ store, keys }) => {
      const block = await readBlock(store, 2);
      await tamper(store, keys[1]?.[0] ?? '', undefined);
      await putBlock(store, { ...block, entries: block.entries.slice(1) });
      return ['chain_broken 2 -'];
    },
  ],
  [
    'the same, and the block’s own digest is made to fit',
    async ({ store, keys }) => {
      const block = await readBlock(store, 2);
      await tamper(store, keys[1]?.[0] ?? '', undefined);
      const forged = { ...block, entries: block.entries.slice(1) };
      await putBlock(store, { ...forged, digest: blockDigest(forged) });
      return ['chain_broken 3 -'];
    },
  ],
  [
    'two blocks change places',
    async ({ store }) => {
      const [two, three] = [await readBlock(store, 2), await readBlock(store, 3)];
      await tamper(store, KEYS.seal(ACCOUNT, 2), JSON.stringify(three));
      await tamper(store, KEYS.seal(ACCOUNT, 3), JSON.stringify(two));
      return ['chain_broken 2 -', 'chain_broken 3 -'];
    },
  ],
  [
    'a block becomes something else altogether',
    async ({ store }) => {
      await tamper(store, KEYS.seal(ACCOUNT, 3), 'nothing');
      return ['chain_broken 3 -'];
    },
  ],
  [
    'the head goes back to an older block',
    async ({ store }) => {
      const block = await readBlock(store, 3);
      await putChain(store, { ...(await readChain(store)), number: 3, digest: block.digest });
      return ['chain_broken 4 -'];
    },
  ],
  [
    'the head names another digest',
    async ({ store }) => {
      await putChain(store, { ...(await readChain(store)), digest: (await readBlock(store, 1)).digest });
      return ['chain_broken 4 -'];
    },
  ],
  [
    'the beginning moves on, and the blocks before it stay',
    async ({ store }) => {
      const { number, digest } = await readBlock(store, 1);
      await putChain(store, { ...(await readChain(store)), base: { number, digest } });
      return ['chain_broken 1 -'];
    },
  ],
  [
    'the blocks of another account stand in',
    async ({ store, theirs }) => {
      const other = await store.get(KEYS.seal(OTHER_ACCOUNT, 1));
      await tamper(store, KEYS.seal(ACCOUNT, 1), other?.value);
      const foreign = theirs.slice(KEYS.audit.under(OTHER_ACCOUNT).length);
      return ['chain_broken 1 -', `removed 1 ${foreign}`, 'chain_broken 2 -'];
    },
  ],
  [
    'the head cannot be read',
    async ({ store }) => {
      await tamper(store, KEYS.chain(ACCOUNT), 'nothing');
      return ['chain_broken - -', 'chain_broken 1 -'];
    },
  ],
  [
    'the head is removed',
    async ({ store }) => {
      await tamper(store, KEYS.chain(ACCOUNT), undefined);
      return ['chain_broken 1 -'];
    },
  ],
];

describe('the verification of an account’s audit', () => {
  test('finds nothing wrong where nobody did wrong', async () => {
    await using scene = await audited();
    const { head, own, ...rest } = await verifyAudit(scene.store, ACCOUNT);
    expect(own.noted).toBe(own.bytes);
    expect(own.bytes).toBeGreaterThan(0);
    expect(rest).toEqual({
      accountId: ACCOUNT,
      entries: 12,
      blocks: 4,
      firstBlock: 1,
      unsealed: 0,
      faults: [],
      faultCount: 0,
    });
    expect(head).toEqual({ number: 4, digest: (await readBlock(scene.store, 4)).digest, at: scene.clock.now() });
  });

  test('counts what is new, and does not call it added', async () => {
    await using scene = await audited();
    await writeEntry(scene.store, scene.clock.now());
    // A replica whose clock is behind, or a commit that came late.
    await writeEntry(scene.store, scene.clock.now() - 540_000);
    const { entries, unsealed, faults } = await verifyAudit(scene.store, ACCOUNT);
    expect({ entries, unsealed, faults }).toEqual({ entries: 12, unsealed: 2, faults: [] });
  });

  test.each(TAMPERINGS)('%s: found, and where', async (_what, does) => {
    await using scene = await audited();
    const expected = await does(scene);
    // In windows smaller than the audit the same is found.
    for (const windowEntries of [100_000, 5, 1]) {
      const { faults, faultCount } = await verifyAudit(scene.store, ACCOUNT, { windowEntries });
      expect(faults.map(told), `in windows of ${windowEntries}`).toEqual(expected);
      expect(faultCount).toBe(expected.length);
    }
    expect((await verifyAudit(scene.store, OTHER_ACCOUNT)).faults, 'the neighbour').toEqual([]);
  });

  test('lists a hundred faults, and counts all', async () => {
    await using scene = await audited();
    const [keys = []] = await sealedBlocks(scene.store, scene.clock, 1, 120);
    for (const key of keys) await tamper(scene.store, key, undefined);
    const { faults, faultCount } = await verifyAudit(scene.store, ACCOUNT);
    expect([faults.length, faultCount]).toEqual([100, 120]);
  });
});

describe('whatever is done', () => {
  type Deed = 'remove' | 'change' | 'swap' | 'backdate';
  const deed = fc.record({
    deed: fc.constantFrom<Deed>('remove', 'change', 'swap', 'backdate'),
    where: fc.nat({ max: 40 }),
    what: fc.constantFrom('entry', 'block'),
  });

  test('to entries and blocks that are sealed, it is found', async () => {
    await using store = await openSqliteStore(':memory:');
    const clock = new FakeClock();
    const keys = (await sealedBlocks(store, clock, 6, 4)).flat();
    const blocks = Array.from({ length: 6 }, (_, index) => KEYS.seal(ACCOUNT, index + 1));
    const all = async (): Promise<Map<string, string>> =>
      new Map(
        (await Promise.all([...keys, ...blocks].map((key) => store.get(key))))
          .filter((entry) => entry !== undefined)
          .map(({ key, value }) => [key, value]),
      );
    const before = await all();

    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 4 }), async (deeds) => {
        const added: string[] = [];
        for (const { deed: does, where, what } of deeds) {
          const pool = what === 'entry' ? keys : blocks;
          const [key = '', next = ''] = [pool[where % pool.length], pool[(where + 1) % pool.length]];
          const value = (await store.get(key))?.value;
          if (does === 'remove' && value !== undefined) await tamper(store, key, undefined);
          // Twice done to a block, it is the block again; of an entry every character counts.
          if (does === 'change') {
            const changed = `${value}`.replace(/\d/, (digit) => String(9 - Number(digit)));
            await tamper(store, key, what === 'entry' ? `${changed} ` : changed);
          }
          if (does === 'swap') {
            const other = (await store.get(next))?.value;
            if (value !== undefined && other !== undefined) {
              await tamper(store, key, other);
              await tamper(store, next, value);
            }
          }
          if (does === 'backdate') added.push(await writeEntry(store, clock.now() - 700_000 - where));
        }
        const now = await all();
        const isTouched = added.length > 0 || [...before].some(([key, value]) => now.get(key) !== value);
        const { faultCount } = await verifyAudit(store, ACCOUNT);
        for (const [key, value] of before) if (now.get(key) !== value) await tamper(store, key, value);
        for (const key of added) await tamper(store, key, undefined);
        expect(faultCount > 0).toBe(isTouched);
        expect((await verifyAudit(store, ACCOUNT)).faultCount, 'put back as it was').toBe(0);
      }),
      { numRuns: runs(60) },
    );
  });
});
