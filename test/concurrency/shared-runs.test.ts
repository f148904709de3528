import { expect, test } from 'vitest';
import { SharedRuns } from '../../src/concurrency/shared-runs.ts';

/** Runs and pauses that the test ends, in the order in which they began. */
function controlled() {
  const runs: PromiseWithResolvers<string>[] = [];
  const pauses: PromiseWithResolvers<void>[] = [];
  const begin = <T>(list: PromiseWithResolvers<T>[]): Promise<T> => {
    const begun = Promise.withResolvers<T>();
    list.push(begun);
    return begun.promise;
  };
  return {
    runs,
    pauses,
    shared: new SharedRuns(
      () => begin(runs),
      () => begin(pauses),
    ),
  };
}

test('all who ask while a run is under way share the next one, which begins after a pause', async () => {
  const { runs, pauses, shared } = controlled();
  const first = shared.run();
  const others = [shared.run(), shared.run()];
  expect(runs).toHaveLength(1);
  runs[0]?.resolve('first');
  expect(await first).toBe('first');
  const inPause = shared.run();
  expect([runs.length, pauses.length]).toEqual([1, 1]);
  pauses[0]?.resolve();
  await pauses[0]?.promise;
  expect(runs).toHaveLength(2);
  runs[1]?.resolve('second');
  expect(await Promise.all([...others, inPause])).toEqual(['second', 'second', 'second']);
});

test('a run that fails does so for those who share it; the next one is its own', async () => {
  const { runs, pauses, shared } = controlled();
  const asked = [shared.run(), shared.run()] as const;
  runs[0]?.reject(new Error('no'));
  await expect(asked[0]).rejects.toThrow('no');
  pauses[0]?.resolve();
  await pauses[0]?.promise;
  runs[1]?.resolve('yes');
  expect(await asked[1]).toBe('yes');
});

test('one who asks after a pause is served at once', async () => {
  const { runs, pauses, shared } = controlled();
  const first = shared.run();
  runs[0]?.resolve('first');
  await first;
  pauses[0]?.resolve();
  await pauses[0]?.promise;
  const second = shared.run();
  expect(runs).toHaveLength(2);
  runs[1]?.resolve('second');
  expect(await second).toBe('second');
});
