import { atOnce, inOrders, spelledPair, type Mutation, type Orders, type Pair, type Setting } from './oracle.ts';
import { EFFORT, runs } from '../run/effort.ts';
import type { Place } from './place.ts';

/** Rounds of a pair in a long run. */
const ROUNDS_LONG = 200;

/** The number of rounds of a pair. @param few as many as the usual run has */
export const roundsOfPair = (few: number): number => (EFFORT < 10 ? runs(few) : ROUNDS_LONG);

/** The share of rounds that may be given up for conflicts. */
const GIVEN_UP_MAX = 0.05;

/** Runs tasks, so many at a time. @throws the first error, once all that have begun have ended */
async function together<T>(tasks: readonly T[], atATime: number, run: (task: T) => Promise<void>): Promise<void> {
  const left = [...tasks];
  const worker = async (): Promise<void> => {
    for (let task = left.shift(); task !== undefined; task = left.shift()) await run(task);
  };
  const ends = await Promise.allSettled(Array.from({ length: atATime }, worker));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
}

/** A pair with the number of its rounds. */
interface Wanted<Scene> {
  readonly pair: Pair<Scene>;
  readonly rounds: number;
}

/** What comes of pairs in order, each made once. */
type Sequences<Scene> = (pair: Pair<Scene>) => Promise<Orders>;

export function sequencesIn<Scene>(setting: () => Setting<Scene>): Sequences<Scene> {
  const made = new Map<string, Promise<Orders>>();
  return (pair) => {
    const key = spelledPair(pair);
    const orders = made.get(key) ?? inOrders(setting(), pair);
    made.set(key, orders);
    return orders;
  };
}

/** Makes pairs at once in one place, and counts how that comes out. */
export class Rounds<Scene> {
  readonly #setting: Setting<Scene>;
  readonly #sequences: Sequences<Scene>;
  readonly #atATime: number;
  readonly #givenUp: string[] = [];
  #made = 0;

  /** @param atATime rounds that are under way together, each in a scene of its own */
  constructor(setting: Setting<Scene>, sequences: Sequences<Scene>, atATime: number) {
    this.#setting = setting;
    this.#sequences = sequences;
    this.#atATime = atATime;
  }

  /** @returns for each pair that fails how often it did, with the first observation that is no order's */
  async failures(wanted: readonly Wanted<Scene>[]): Promise<readonly string[]> {
    const failed = new Map<Pair<Scene>, { times: number; rounds: number; first: string }>();
    const all = wanted.flatMap(({ pair, rounds }) =>
      Array.from({ length: rounds }, (_, round) => ({ pair, rounds, round })),
    );
    await together(all, this.#atATime, async ({ pair, rounds, round }) => {
      const outcome = await atOnce(this.#setting, pair, { round, orders: await this.#sequences(pair) });
      this.#made += 1;
      if (outcome === 'as in order') return;
      if (outcome === 'given up') {
        this.#givenUp.push(spelledPair(pair));
        return;
      }
      const { times, first } = failed.get(pair) ?? { times: 0, first: outcome.failure };
      failed.set(pair, { times: times + 1, rounds, first });
    });
    return [...failed].map(
      ([pair, { times, rounds, first }]) => `${spelledPair(pair)}: ${times} of ${rounds} rounds\n${first}`,
    );
  }

  /** The rounds of all calls that told nothing, where they are more than a few. */
  tooManyGivenUp(): readonly string[] {
    return this.#givenUp.length > this.#made * GIVEN_UP_MAX ? this.#givenUp : [];
  }
}

/**
 * Words of errors that a machine brings about which is busy elsewhere, or stood still: what was given up is counted.
 */
const OF_THE_MACHINE = ['are refused with 502 until it does', 'the clock jumped', 'the file cannot be read within'];

/** What a place logged as an error: a conflict is none, however often it came, nor is the machine's trouble. */
export const faultsOf = ({ one, other }: Place): readonly string[] =>
  [...new Set([one, other])].flatMap(({ logged }) =>
    logged.filter((line) => line.includes('"level":"error"') && !OF_THE_MACHINE.some((words) => line.includes(words))),
  );

/** Each mutation of a list with itself, and with those that stand behind it. */
export const pairsOf = <Scene>(mutations: readonly Mutation<Scene>[], a: Mutation<Scene>): readonly Pair<Scene>[] =>
  mutations.slice(mutations.indexOf(a)).map((b) => [a, b] as const);
