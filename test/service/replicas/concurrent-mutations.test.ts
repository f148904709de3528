import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import {
  BY_MEMBERS,
  CONSENT,
  DELETE_ACTIVE,
  DISABLE,
  DOWNGRADE,
  ENROLL,
  ENROLL_ANEW,
  MUTATIONS,
  RENAME,
} from '../../support/concurrent/account-mutations.ts';
import type { Scene } from '../../support/concurrent/account-scene.ts';
import { accountSetting } from '../../support/concurrent/account-setting.ts';
import type { Pair, Setting } from '../../support/concurrent/oracle.ts';
import { embeddedPlace, replicatedPlace, type Place } from '../../support/concurrent/place.ts';
import { faultsOf, pairsOf, Rounds, roundsOfPair, sequencesIn } from '../../support/concurrent/rounds.ts';

const url = inject('etcd');

/** Pairs that an earlier version lost one of, or made in no order. They need some rounds: it did so in one of five. */
const KNOWN: readonly Pair<Scene>[] = [
  [DISABLE, DOWNGRADE],
  [DISABLE, RENAME],
  [DISABLE, CONSENT],
  [DISABLE, ENROLL],
  [DELETE_ACTIVE, ENROLL_ANEW],
];
const KNOWN_ROUNDS = roundsOfPair(25);
/** An earlier version failed in most rounds with these. */
const OFTEN: readonly Pair<Scene>[] = BY_MEMBERS.map((mutation) => [DISABLE, mutation]);
const OFTEN_ROUNDS = roundsOfPair(4);
const ROUNDS = roundsOfPair(1);

const isAmong = (pairs: readonly Pair<Scene>[], pair: Pair<Scene>): boolean =>
  pairs.some((one) => one.every((mutation) => pair.includes(mutation)));

function roundsOf(pair: Pair<Scene>): number {
  if (isAmong(KNOWN, pair)) return KNOWN_ROUNDS;
  return isAmong(OFTEN, pair) ? OFTEN_ROUNDS : ROUNDS;
}

/** Rounds that are under way together, each on an account of its own. */
const AT_A_TIME = 16;

/** One service tells for all places what comes of each pair in order. */
let sequential: Setting<Scene>;
const sequences = sequencesIn(() => sequential);

beforeAll(async () => {
  sequential = await accountSetting(await embeddedPlace());
});
afterAll(() => sequential.place[Symbol.asyncDispose]());

/** Tries all pairs in one place. */
function suite(open: () => Promise<Place>): void {
  let place: Place;
  let rounds: Rounds<Scene>;
  beforeAll(async () => {
    place = await open();
    rounds = new Rounds(await accountSetting(place), sequences, AT_A_TIME);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(MUTATIONS)('a request that $name, and any other one come out as one after the other', async (mutation) => {
    const failures = await rounds.failures(
      pairsOf(MUTATIONS, mutation).map((pair) => ({ pair, rounds: roundsOf(pair) })),
    );
    expect(failures.join('\n\n')).toBe('');
  });

  test('few mutations are given up, and none by a fault', () => {
    expect(rounds.tooManyGivenUp()).toEqual([]);
    expect(faultsOf(place)).toEqual([]);
  });
}

describe('two mutations at once on one service with its own store', () => {
  suite(() => embeddedPlace());
});

describe.skipIf(url === undefined).each([
  ['beside etcd', { one: 0, other: 0 }],
  ['some milliseconds from etcd', { one: 2, other: 3 }],
])('two mutations at once by two replicas %s', (_where, latency) => {
  suite(() => replicatedPlace(url ?? '', latency));
});
