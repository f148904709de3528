import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { packLastSeen, unpackLastSeen } from '../../../src/domain/fleet/last-seen-codec.ts';
import { runs } from '../../support/run/effort.ts';

const NOW = Date.UTC(2026, 5, 1, 12);
const DAY_MS = 86_400_000;
/** From the first instant to the last that a date can tell. */
const instant = fc.oneof(
  fc.integer({ min: 0, max: 8_640_000_000_000_000 }),
  fc.integer({ min: NOW - 60_000, max: NOW }),
);
const bySlot = (contacts: readonly number[], firstSlot = 0): Map<number, number> =>
  new Map(contacts.map((at, i) => [firstSlot + i, at]));

test('what was packed is unpacked: any slots, any instants, in any order of insertion', () => {
  const entries = fc.uniqueArray(fc.tuple(fc.nat({ max: 5_000_000 }), instant), { selector: ([slot]) => slot });
  fc.assert(
    fc.property(entries, (all) => {
      expect(unpackLastSeen(packLastSeen(new Map(all)))).toEqual(new Map(all));
    }),
  );
});

describe('the same, at the edges', () => {
  test.each<[string, readonly (readonly [number, number])[]]>([
    ['nobody was seen', []],
    ['one device, seen at the first instant of all', [[0, 0]]],
    ['one device in a late slot', [[1_000_000, NOW]]],
    [
      'neighbours, seen at the same instant',
      [
        [4, NOW],
        [5, NOW],
      ],
    ],
    [
      'a gap of one slot',
      [
        [4, NOW],
        [6, NOW - 1],
      ],
    ],
    [
      'given in descending order',
      [
        [9, NOW],
        [3, NOW - 5],
        [0, NOW - 9],
      ],
    ],
    [
      'distances at the border of a byte',
      [
        [127, NOW],
        [255, NOW - 127],
        [384, NOW - 128],
      ],
    ],
    [
      'distances at the border of two',
      [
        [16_383, NOW],
        [32_768, NOW - 16_383],
        [49_153, NOW - 16_384],
      ],
    ],
  ])('%s', (_what, entries) => {
    expect(unpackLastSeen(packLastSeen(new Map(entries)))).toEqual(new Map(entries));
  });
});

describe('a thousand devices of one account take little', () => {
  const thousand = (at: fc.Arbitrary<number>): fc.Arbitrary<number[]> =>
    fc.array(at, { minLength: 1000, maxLength: 1000, size: 'max' });

  test('at most 8192 characters, whenever in fifty years each was last seen', () => {
    fc.assert(
      fc.property(
        thousand(fc.integer({ min: NOW - 50 * 365 * DAY_MS, max: NOW })),
        fc.nat({ max: 100_000 }),
        (contacts, first) => {
          expect(packLastSeen(bySlot(contacts, first)).length).toBeLessThanOrEqual(8192);
        },
      ),
      { numRuns: runs(10) },
    );
  });

  test('where one polls and the others have been silent for years', () => {
    const contacts = Array.from({ length: 1000 }, (_, i) => (i === 500 ? NOW : NOW - 3 * 365 * DAY_MS - i));
    expect(packLastSeen(bySlot(contacts)).length).toBeLessThanOrEqual(8192);
  });

  test('about 4 KiB where all polled within two minutes', () => {
    fc.assert(
      fc.property(thousand(fc.integer({ min: NOW - 120_000, max: NOW })), (contacts) => {
        expect(packLastSeen(bySlot(contacts)).length).toBeLessThanOrEqual(4200);
      }),
      { numRuns: runs(10) },
    );
  });
});

describe('a text that was not packed is refused, not guessed at', () => {
  const whole = packLastSeen(
    new Map([
      [3, NOW],
      [4, NOW - 1000],
      [5, NOW - 70_000],
    ]),
  );

  test('a run cut off after any byte but its last', () => {
    const bytes = Buffer.from(whole, 'base64');
    for (let length = 7; length < bytes.length; length += 1) {
      expect(() => unpackLastSeen(bytes.subarray(0, length).toString('base64'))).toThrow(RangeError);
    }
    expect(unpackLastSeen(bytes.toString('base64')).size).toBe(3);
  });

  test('a number without an end', () => {
    expect(() => unpackLastSeen(Buffer.alloc(20, 0xff).toString('base64'))).toThrow(RangeError);
  });
});
