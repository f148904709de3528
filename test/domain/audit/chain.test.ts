import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { BLOCK_ENTRIES_MAX, emptyChain, portions, sealed, withThrough } from '../../../src/domain/audit/chain.ts';
import { instantOf } from '../../../src/domain/records/audit-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { runs } from '../../support/run/effort.ts';
import { seeded } from '../../support/time/timeline.ts';

const COMMIT_ENTRIES_MAX = 127;

test('portions hold every entry once, in the order of revisions and keys, and no revision in two', () => {
  const revisions = fc.array(fc.integer({ min: 1, max: COMMIT_ENTRIES_MAX }), { maxLength: 12 });
  fc.assert(
    fc.property(revisions, fc.nat(), (sizes, seed) => {
      const random = seeded(seed);
      const entries = sizes.flatMap((size, index) =>
        Array.from({ length: size }, (_, n) => ({
          suffix: `k${n}`,
          revision: (index + 1) * 3,
          digest: `d${index}`,
          ownBytes: 0,
        })),
      );
      const ranked = entries.map((entry) => ({ entry, rank: random() }));
      const shuffled = ranked.toSorted((a, b) => a.rank - b.rank).map(({ entry }) => entry);
      const cut = portions(shuffled);
      const sorted = entries.toSorted((a, b) => a.revision - b.revision || (a.suffix < b.suffix ? -1 : 1));
      expect(cut.flat()).toEqual(sorted);
      for (const portion of cut) expect(portion.length).toBeLessThanOrEqual(BLOCK_ENTRIES_MAX);
      const homes = cut.flatMap((portion) => [...new Set(portion.map(({ revision }) => revision))]);
      expect(homes).toEqual([...new Set(homes)]);
    }),
    { numRuns: runs(30) },
  );
});

test('the head after a block covers exactly what is in it', () => {
  const entries = [7, 7, 9].map((revision, n) => ({ suffix: `k${n}`, revision, digest: 'd', ownBytes: n }));
  const { block, chain } = sealed(emptyChain('a'), entries, 5);
  expect(chain).toMatchObject({ own: { bytes: 3, number: 1 }, number: 1, digest: block.digest, through: 9, at: 5 });
  expect(block.previous).toBe(emptyChain('a').digest);
  expect(emptyChain('b').digest).not.toBe(emptyChain('a').digest);
});

test('a restored head has another revision, and keeps fields of a newer version', () => {
  const chain = KEYS.chain.schema.parse({ ...emptyChain('a'), number: 3, through: 70, newer: 'kept' });
  expect(withThrough(chain, 12)).toEqual({ ...chain, through: 12, newer: 'kept' });
});

test.each([
  [KEYS.audit('a', 0, 'm').slice(8), 0, 'the first instant'],
  [KEYS.audit('a', 1_780_315_200_000, 'm').slice(8), 1_780_315_200_000, 'an instant of now'],
  ['00000000-m', Number.NaN, 'a digit is missing'],
  ['zzz', Number.NaN, 'no instant'],
  ['00000000A-m', Number.NaN, 'a capital is no digit'],
])('the instant of %s is %d (%s)', (suffix, instant) => {
  expect(instantOf(suffix)).toBe(instant);
});
