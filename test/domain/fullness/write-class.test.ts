import { describe, expect, test } from 'vitest';
import { fullInWords, hasRoomFor, refuseWithoutRoom, strictestOf } from '../../../src/domain/fullness/write-class.ts';

describe('A12: what a store of a fullness takes', () => {
  test.each([
    [0, true, true],
    [0.79, true, true],
    [0.8, false, true],
    [0.949, false, true],
    [0.95, false, false],
    [1, false, false],
    [Number.NaN, true, true],
  ])('%f: growth %s, upkeep %s, and always what is vital', (fullness, growth, upkeep) => {
    expect(hasRoomFor('growth', fullness)).toBe(growth);
    expect(hasRoomFor('upkeep', fullness)).toBe(upkeep);
    expect(hasRoomFor('vital', fullness)).toBe(true);
  });

  test.each([
    [[], 'vital'],
    [['vital', 'vital'], 'vital'],
    [['vital', 'upkeep'], 'upkeep'],
    [['upkeep', 'growth', 'vital'], 'growth'],
  ] as const)('together %j are refused as %s', (classes, writeClass) => {
    expect(strictestOf(classes)).toBe(writeClass);
  });

  test('a refusal names the fullness, and says that nothing was sent', () => {
    expect(() => refuseWithoutRoom({ fullness: () => 0.8 }, 'growth')).toThrow(/80 % full.*not sent/);
    expect(() => refuseWithoutRoom({ fullness: () => 0.8 }, 'upkeep')).not.toThrow();
  });

  test.each([
    [0.79, undefined],
    [Number.NaN, undefined],
    [0.8, /80 % full: only what takes access away is taken$/],
    [0.96, /96 % full: .*nights are not written$/],
    [1, /takes no writes at all: reads go on/],
  ])('%f in words', (fullness, words) => {
    if (words === undefined) expect(fullInWords(fullness)).toBeUndefined();
    else expect(fullInWords(fullness)).toMatch(words);
  });
});
