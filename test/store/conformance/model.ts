/** Random histories, compared with the simplest store there is: a map. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { expectRevision } from '../../../src/store/entry.ts';
import type { Change, CommitResult, Entry, Expectation, Store, Write } from '../../../src/store/port.ts';
import { ABSENT } from '../../../src/store/port.ts';
import { runs } from '../../support/run/effort.ts';
import type { DeclarePromise } from './harness.ts';
import { everything, pageOf, put, writes } from './harness.ts';
import { record } from './recorder.ts';
import { rawKey, rawPrefix } from '../../support/store/raw-key.ts';

type State = ReadonlyMap<string, Entry>;

/** An expectation before it is known at which revisions the keys are. */
interface Guess {
  readonly key: string;
  readonly is: 'current' | 'absent' | 'stale' | 'future';
}

interface Step {
  readonly guesses: readonly Guess[];
  readonly write: readonly Write[];
  readonly quiet: boolean;
}

const KEYS = ['a', 'a/', 'a/1', 'a/2', 'a/2/x', 'a0', 'b', 'b/1', '~'].map(rawKey);
const PREFIXES = ['a/', 'a/2', 'b', 'nothing/'].map(rawPrefix);

const anyKey = fc.constantFrom(...KEYS);
const anyPut = fc.record({ put: anyKey, value: fc.string({ unit: 'grapheme', maxLength: 20 }) });
const anyWrite: fc.Arbitrary<Write> = fc.oneof(
  { arbitrary: anyPut, weight: 5 },
  { arbitrary: fc.record({ remove: anyKey }), weight: 2 },
  { arbitrary: fc.record({ removeAll: fc.constantFrom(...PREFIXES) }), weight: 1 },
);
const anyGuess: fc.Arbitrary<Guess> = fc.record({
  key: anyKey,
  is: fc.constantFrom('current', 'current', 'current', 'current', 'absent', 'stale', 'future'),
});
const anyStep: fc.Arbitrary<Step> = fc.record({
  guesses: fc.array(anyGuess, { minLength: 1, maxLength: 3 }),
  write: fc.array(anyWrite, { maxLength: 4 }).map(withoutOverlap),
  quiet: fc.boolean(),
});

function target(write: Write): string {
  if ('put' in write) return write.put;
  return 'remove' in write ? write.remove : write.removeAll;
}

function touches(write: Write, key: string): boolean {
  return 'removeAll' in write ? key.startsWith(write.removeAll) : target(write) === key;
}

/** The writes that may stand together: no two touch the same key. */
function withoutOverlap(candidates: readonly Write[]): Write[] {
  const kept: Write[] = [];
  for (const write of candidates) {
    if (!kept.some((other) => touches(other, target(write)) || touches(write, target(other)))) kept.push(write);
  }
  return kept;
}

const under = (prefix: string, write: Write): Write => {
  if ('put' in write) return { put: rawKey(prefix + write.put), value: write.value };
  return 'remove' in write
    ? { remove: rawKey(prefix + write.remove) }
    : { removeAll: rawPrefix(prefix + write.removeAll) };
};

function expectationOf({ key, is }: Guess, state: State, prefix: string): Expectation {
  const current = state.get(prefix + key)?.revision ?? ABSENT;
  const revision = { current, absent: ABSENT, stale: Math.max(1, current - 1), future: current + 1 }[is];
  return expectRevision(prefix + key, revision);
}

function changeOf(step: Step, state: State, prefix: string): Change {
  const [first = { key: 'a', is: 'absent' } as const, ...others] = step.guesses;
  return {
    expect: [expectationOf(first, state, prefix), ...others.map((guess) => expectationOf(guess, state, prefix))],
    write: step.write.map((write) => under(prefix, write)),
    ...(step.quiet ? { quiet: true } : {}),
  };
}

const holds = (change: Change, state: State): boolean =>
  change.expect.every(({ key, revision }) => (state.get(key)?.revision ?? ABSENT) === revision);

function apply(change: Change, state: State, revision: number): State {
  const next = new Map(state);
  for (const write of change.write) {
    for (const key of next.keys()) if (touches(write, key)) next.delete(key);
    if ('put' in write) next.set(write.put, { key: write.put, value: write.value, revision });
  }
  return next;
}

const entriesOf = (state: State): Entry[] => [...state.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** Each run has its own prefix in the one store of the test, so that a run costs no opening. */
function prefixes(): () => string {
  let runs = 0;
  return () => `m/${(runs += 1)}/`;
}

export function modelPromises(promise: DeclarePromise): void {
  promise('any sequence of changes ends as in a map, outcome by outcome', async ({ store }) => {
    const nextPrefix = prefixes();
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { maxLength: 25 }), async (steps) => {
        await followsTheModel(store, nextPrefix(), steps);
      }),
      { numRuns: runs(15) },
    );
  });

  promise('changes issued together have outcomes that some order explains', async ({ store }) => {
    const nextPrefix = prefixes();
    const anyTurns = fc.array(fc.array(anyStep, { minLength: 1, maxLength: 8 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(anyTurns, async (turns) => {
        await isExplainedByRevisions(store, nextPrefix(), turns);
      }),
      { numRuns: runs(15) },
    );
  });
}

async function followsTheModel(store: Store, prefix: string, steps: readonly Step[]): Promise<void> {
  const start = await writes(store, put('t/start'));
  let state: State = new Map();
  const states: { readonly revision: number; readonly state: State }[] = [{ revision: start, state }];
  for (const step of steps) {
    const change = changeOf(step, state, prefix);
    const result = await store.commit(change);
    expect(result.outcome).toBe(holds(change, state) ? 'committed' : 'conflict');
    if (result.outcome === 'committed') {
      state = apply(change, state, result.revision);
      states.push({ revision: result.revision, state });
    }
    expect(await everything(store, prefix)).toEqual(entriesOf(state));
  }
  await replayEndsAs(store, prefix, start, state);
  // A change without any effect need not have a revision of its own: the last state at a revision is the one to see.
  for (const [revision, then] of new Map(states.map((past) => [past.revision, past.state]))) {
    const page = pageOf(await store.listAt({ prefix, limit: 1000 }, revision));
    expect(page.entries).toEqual(entriesOf(then));
  }
}

async function isExplainedByRevisions(store: Store, prefix: string, turns: readonly Step[][]): Promise<void> {
  const start = await writes(store, put('t/start'));
  let state: State = new Map();
  for (const steps of turns) {
    const changes = steps.map((step) => changeOf(step, state, prefix));
    const results = await Promise.all(changes.map(async (change) => store.commit(change)));
    state = explain(changes, results, state);
    expect(await everything(store, prefix)).toEqual(entriesOf(state));
  }
  await replayEndsAs(store, prefix, start, state);
}

/**
 * Applies the committed changes in revision order: every expectation must have held at its moment. Changes that share a
 * revision depend on nothing of each other, save that one without any effect may bear the revision that it read.
 */
function explain(changes: readonly Change[], results: readonly CommitResult[], before: State): State {
  let waiting = changes.flatMap((change, index) => {
    const result = results[index];
    return result?.outcome === 'committed' ? [{ change, revision: result.revision }] : [];
  });
  if (waiting.length === 0) expect(changes.some((change) => holds(change, before))).toBe(false);
  let state = before;
  while (waiting.length > 0) {
    const revision = Math.min(...waiting.map((member) => member.revision));
    const next = waiting.find((member) => member.revision === revision && holds(member.change, state));
    if (next === undefined) throw new Error(`no order of the changes at revision ${revision} explains their outcomes`);
    state = apply(next.change, state, revision);
    waiting = waiting.filter((member) => member !== next);
  }
  return state;
}

async function replayEndsAs(store: Store, prefix: string, start: number, state: State): Promise<void> {
  using recording = await record(store, prefix, start + 1);
  const last = await writes(store, put(`${prefix}last`));
  const { recorder } = recording;
  await recorder.until(() => (recorder.batches.at(-1)?.revision ?? 0) >= last);
  const replayed = new Map<string, Entry>();
  for (const { key, revision, value } of recorder.changes) {
    if (value === undefined) replayed.delete(key);
    else replayed.set(key, { key, value, revision });
  }
  replayed.delete(`${prefix}last`);
  expect(entriesOf(replayed)).toEqual(entriesOf(state));
  expect(recorder.misconduct).toEqual([]);
}
