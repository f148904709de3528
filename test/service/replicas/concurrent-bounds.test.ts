import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { BOUNDS, type AlmostFull } from '../../support/concurrent/bounds.ts';
import { embeddedPlace, replicatedPlace, type Place } from '../../support/concurrent/place.ts';
import { faultsOf } from '../../support/concurrent/rounds.ts';
import { spelledAnswer } from '../../support/concurrent/spelling.ts';
import { runs } from '../../support/run/effort.ts';

const url = inject('etcd');

/** Requests that want the last free place, half of them by each replica. */
const ASKING = 8;
const ROUNDS = runs(2);

/** Asks until it is answered: a store under contention may give a request up, and its client repeats it. */
async function answered(full: AlmostFull, place: Place, index: number): Promise<string> {
  for (;;) {
    const answer = await full.ask(index % 2 === 0 ? place.one : place.other, index);
    if (answer.status !== 502) return spelledAnswer(answer);
  }
}

/** Tries every bound in one place. */
function suite(open: () => Promise<Place>): void {
  let place: Place;
  beforeAll(async () => {
    place = await open();
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(BOUNDS)('at the bound of $name, one of several requests at once gets the last place', async (bound) => {
    const rounds: string[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const full = await bound.fill(place, ASKING);
      const before = await full.count();
      const answers = await Promise.all(Array.from({ length: ASKING }, (_, index) => answered(full, place, index)));
      const refused = answers.filter((answer) => answer === bound.refused).length;
      const others = answers.filter((answer) => answer !== bound.refused);
      rounds.push(`${before} + ${others.join(', ')}, ${refused} refused = ${await full.count()}`);
    }
    const right = expect.stringMatching(
      new RegExp(`^${bound.most - 1} \\+ 20[0-4], ${ASKING - 1} refused = ${bound.most}$`),
    ) as string;
    expect(rounds).toEqual(rounds.map(() => right));
  });

  test('nothing is given up by a fault', () => {
    expect(faultsOf(place)).toEqual([]);
  });
}

describe('a bound that several requests reach at once on one service with its own store', () => {
  suite(() => embeddedPlace());
});

describe.skipIf(url === undefined).each([
  ['beside etcd', { one: 0, other: 0 }],
  ['some milliseconds from etcd', { one: 2, other: 3 }],
])('a bound that several requests reach at once by two replicas %s', (_where, latency) => {
  suite(() => replicatedPlace(url ?? '', latency));
});
