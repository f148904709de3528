import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { Pair, Setting } from '../../support/concurrent/oracle.ts';
import { embeddedPlace, replicatedPlace, type Place } from '../../support/concurrent/place.ts';
import { faultsOf, pairsOf, Rounds, roundsOfPair, sequencesIn } from '../../support/concurrent/rounds.ts';
import {
  DELETES,
  DEMOTES,
  DISABLES,
  OF_ONE_USER,
  OF_OPERATORS,
  OF_OWNERS,
  operatorsSetting,
  ownersSetting,
  WITHOUT_PASSWORDS,
  type TwoUsers,
} from '../../support/concurrent/user-settings.ts';

const url = inject('etcd');

/** An earlier version left no operator after some of these rounds. */
const KNOWN: readonly Pair<TwoUsers>[] = [
  [DELETES, DELETES],
  [DELETES, DISABLES],
  [DELETES, DEMOTES],
  [DISABLES, DISABLES],
  [DEMOTES, DEMOTES],
];
const KNOWN_ROUNDS = roundsOfPair(12);
const ROUNDS = roundsOfPair(2);

const roundsOf = ([a, b]: Pair<TwoUsers>): number =>
  KNOWN.some(([one, other]) => one === a && other === b) ? KNOWN_ROUNDS : ROUNDS;

/** One service tells for all places what comes of each pair in order. */
let alone: Place;
let sequentialOperators: Setting<TwoUsers>;
let sequentialOwners: Setting<TwoUsers>;
let sequentialUsers: Setting<TwoUsers>;
const ofOperators = sequencesIn(() => sequentialOperators);
const ofOwners = sequencesIn(() => sequentialOwners);
const ofUsers = sequencesIn(() => sequentialUsers);

beforeAll(async () => {
  alone = await embeddedPlace(WITHOUT_PASSWORDS);
  sequentialOperators = operatorsSetting(alone);
  sequentialOwners = ownersSetting(alone);
  sequentialUsers = operatorsSetting(alone, 'the second');
});
afterAll(() => alone[Symbol.asyncDispose]());

/** Tries all pairs in one place. */
function suite(open: () => Promise<Place>): void {
  let place: Place;
  let operators: Rounds<TwoUsers>;
  let owners: Rounds<TwoUsers>;
  let users: Rounds<TwoUsers>;
  beforeAll(async () => {
    place = await open();
    // All scenes have the same record of operators.
    operators = new Rounds(operatorsSetting(place), ofOperators, 1);
    owners = new Rounds(ownersSetting(place), ofOwners, 8);
    users = new Rounds(operatorsSetting(place, 'the second'), ofUsers, 1);
  });
  afterAll(() => place[Symbol.asyncDispose]());

  test.each(OF_OPERATORS)(
    'a request that $name, and any other one come out as one after the other',
    async (mutation) => {
      const pairs = pairsOf(OF_OPERATORS, mutation);
      const failures = await operators.failures(pairs.map((pair) => ({ pair, rounds: roundsOf(pair) })));
      expect(failures.join('\n\n')).toBe('');
    },
  );

  test.each(OF_OWNERS)('a request that $name, and any other one come out as one after the other', async (mutation) => {
    const failures = await owners.failures(pairsOf(OF_OWNERS, mutation).map((pair) => ({ pair, rounds: ROUNDS })));
    expect(failures.join('\n\n')).toBe('');
  });

  test.each(OF_ONE_USER)(
    'a request that $name, and any other one come out as one after the other',
    async (mutation) => {
      const pairs = pairsOf(OF_ONE_USER, mutation);
      const failures = await users.failures(pairs.map((pair) => ({ pair, rounds: KNOWN_ROUNDS })));
      expect(failures.join('\n\n')).toBe('');
    },
  );

  test('few mutations are given up, and none by a fault', () => {
    expect([operators, owners, users].flatMap((rounds) => rounds.tooManyGivenUp())).toEqual([]);
    expect(faultsOf(place)).toEqual([]);
  });
}

describe('two changes of users at once on one service with its own store', () => {
  suite(() => embeddedPlace(WITHOUT_PASSWORDS));
});

describe.skipIf(url === undefined).each([
  ['beside etcd', { one: 0, other: 0 }],
  ['some milliseconds from etcd', { one: 2, other: 3 }],
])('two changes of users at once by two replicas %s', (_where, latency) => {
  suite(() => replicatedPlace(url ?? '', latency, WITHOUT_PASSWORDS));
});
