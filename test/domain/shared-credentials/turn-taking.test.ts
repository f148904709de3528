import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  showsId,
  takesTurns,
  withId,
  withTurn,
  type Turn,
} from '../../../src/domain/shared-credentials/turn-taking.ts';

const WINDOW_MS = 600_000;
const TAKERS_MAX = 8;

/** Whether each turn finds two in turn, one after the other; what was found is not forgotten. */
function found(contacts: readonly Turn[], takersMax = TAKERS_MAX): readonly boolean[] {
  let turns: readonly Turn[] = [];
  return contacts.map((contact) => {
    const next = withTurn(turns, contact, takersMax);
    turns = next.turns;
    return next.isShared;
  });
}

/** The same by the definition: four contacts of A, B, A and B, the last one now, within ten minutes. */
function isShared(contacts: readonly Turn[]): boolean {
  const now = contacts.at(-1);
  if (!now) return false;
  const recent = contacts.filter(({ at }) => at >= now.at - WINDOW_MS);
  return recent.some((first, a) =>
    recent
      .slice(a + 1, -1)
      .some(
        (second, b) =>
          first.taker !== now.taker &&
          second.taker === now.taker &&
          recent.slice(a + 1 + b + 1, -1).some((third) => third.taker === first.taker),
      ),
  );
}

const contacts = (takers: number, pauseMs: number): fc.Arbitrary<readonly Turn[]> =>
  fc
    .array(fc.tuple(fc.integer({ min: 1, max: takers }), fc.oneof(fc.constant(0), fc.nat({ max: pauseMs }))), {
      maxLength: 60,
      size: 'max',
    })
    .map((steps) => {
      let at = 1_000_000;
      return steps.map(([taker, pause]) => ({ taker, at: (at += pause) }));
    });

describe('the turns of ten minutes', () => {
  test.each([
    [3, 30_000],
    [TAKERS_MAX, 30_000],
    [TAKERS_MAX, 200_000],
  ])(
    'of up to %i takers are found at the contact that makes them two in turn, and at no other one',
    (takers, pause) => {
      fc.assert(
        fc.property(contacts(takers, pause), (all) => {
          expect(found(all)).toEqual(all.map((_, index) => isShared(all.slice(0, index + 1))));
        }),
      );
    },
  );

  test('of however many takers are never found where there are none, and never take more than their room', () => {
    fc.assert(
      fc.property(contacts(40, 60_000), (all) => {
        let turns: readonly Turn[] = [];
        for (const [index, contact] of all.entries()) {
          const next = withTurn(turns, contact, TAKERS_MAX);
          if (next.isShared) {
            expect(isShared(all.slice(0, index + 1))).toBe(true);
            return;
          }
          turns = next.turns;
          expect(turns.length).toBeLessThan(2 * TAKERS_MAX);
        }
      }),
    );
  });

  test.each([2, 3, TAKERS_MAX, TAKERS_MAX + 1, 50, 500])(
    '%i machines in a circle are found in their second one',
    (machines) => {
      const circles = Array.from({ length: 2 * machines }, (_, index) => ({
        taker: (index % machines) + 1,
        at: index * 100,
      }));
      expect(found(circles).indexOf(true)).toBe(machines + 1);
    },
  );

  test.each([
    ['ABAB', true, 'two in turn'],
    ['ABCAB', true, 'whoever comes between'],
    ['AABBAABB', true, 'each more than once'],
    ['ABBA', false, 'back again'],
    ['ABACADAE', false, 'one beside whom others come and go'],
    ['ABCDEFGHIJ', false, 'nobody comes back'],
    ['ABCDDCBA', false, 'each comes back once'],
  ])('%s: %s (%s)', (takers, isFound) => {
    const all = takers.split('').map((taker, index) => ({ taker: taker.charCodeAt(0), at: index }));
    expect(found(all).includes(true)).toBe(isFound);
  });
});

describe('the turns of takers of whom some show an id', () => {
  const place = (taker: number): number => (showsId(taker) ? taker - withId(0) : taker);
  const mixed = fc
    .tuple(contacts(4, 30_000), fc.infiniteStream(fc.boolean()))
    .map(([all, ids]) => all.map(({ taker, at }) => ({ taker: ids.next().value ? withId(taker) : taker, at })));

  /**
   * By the definition: the last two of four turns are of the two before, and one of the two shows no id in its turns.
   */
  function areShared(all: readonly Turn[]): boolean {
    const now = all.at(-1);
    if (!now) return false;
    const isOwn = ({ taker }: Turn): boolean => place(taker) === place(now.taker);
    const asPlaces = (turns: readonly Turn[]): Turn[] => turns.map(({ taker, at }) => ({ taker: place(taker), at }));
    const hidden = (turn: Turn): boolean => !showsId(turn.taker);
    return (
      isShared(asPlaces(all.filter((turn) => isOwn(turn) || hidden(turn)))) ||
      (hidden(now) && isShared(asPlaces(all.filter((turn) => !isOwn(turn) || hidden(turn)))))
    );
  }

  test('are found at the contact that makes them two in turn, and at no other one, and take little room', () => {
    fc.assert(
      fc.property(mixed, (all) => {
        expect(found(all)).toEqual(all.map((_, index) => areShared(all.slice(0, index + 1))));
        let turns: readonly Turn[] = [];
        for (const contact of all) {
          const next = withTurn(turns, contact, TAKERS_MAX);
          if (next.isShared) return;
          turns = next.turns;
          expect(turns.length).toBeLessThan(TAKERS_MAX ** 2);
        }
      }),
    );
  });

  test.each([
    ['aBaB', true, 'one with an id, and one without'],
    ['abab', false, 'the ids alone decide between two with an id'],
    ['abcabcabcabc', false, 'they do so for however many turns'],
    ['aAaA', false, 'an id that is not always sent'],
    ['aBABab', true, 'one that does not always send its id, and one that never does'],
    ['aBAb', false, 'neither goes without an id in both of its turns'],
  ])('%s: %s (%s)', (letters, isFound) => {
    const all = letters.split('').map((letter, index) => {
      const taker = letter.toUpperCase().charCodeAt(0);
      return { taker: letter === letter.toUpperCase() ? taker : withId(taker), at: index };
    });
    expect(found(all).includes(true)).toBe(isFound);
  });
});

test.each([
  [['B', 'A'], 'B', 3, true],
  [['B', 'A'], 'B', 4, false],
  [['B', 'A'], 'C', 3, false],
  [[], 'A', 1, false],
])('after %j, %s is in turn with another %i times: %s', (before, taker, times, isFound) => {
  expect(takesTurns(before, taker, times)).toBe(isFound);
});
