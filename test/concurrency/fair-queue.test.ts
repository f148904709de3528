import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairQueue } from '../../src/concurrency/fair-queue.ts';
import { runs } from '../support/run/effort.ts';

/** Asks for work in that order, and says in which order it was done; never two pieces at once. */
async function orderOf(asked: readonly string[], waitingMax = 1000): Promise<string[]> {
  const queue = new FairQueue(waitingMax);
  const done: string[] = [];
  let running = 0;
  const work = (what: string) => async (): Promise<void> => {
    running += 1;
    expect(running).toBe(1);
    await Promise.resolve();
    done.push(what);
    running -= 1;
  };
  await Promise.all(asked.map(async (what) => queue.tryRun(what.charAt(0), work(what))));
  return done;
}

test('who brings much waits behind himself', async () => {
  expect(await orderOf(['a1', 'a2', 'a3', 'b1', 'c1', 'b2'])).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2']);
});

test('work that throws before it waits rejects, and does not stop the queue', async () => {
  const queue = new FairQueue(10);
  const throws = (): Promise<never> => {
    throw new Error('at once');
  };
  const [first, second] = [queue.tryRun('a', throws), queue.tryRun('b', async () => 'done')];
  await expect(first).rejects.toThrow('at once');
  expect(await second).toBe('done');
});

test('work above the bound of one is refused, and the others have theirs', async () => {
  // The first of them runs already and waits no more.
  expect(await orderOf(['a1', 'a2', 'a3', 'a4', 'b1'], 2)).toEqual(['a1', 'a2', 'b1', 'a3']);
});

test('work that fails holds nothing up, and the queue can be used again', async () => {
  const queue = new FairQueue(1);
  const failed = queue.tryRun('a', () => Promise.reject(new Error('no')));
  const passed = queue.tryRun('b', () => Promise.resolve(1));
  await expect(failed).rejects.toThrow('no');
  expect(await passed).toBe(1);
  expect(await queue.tryRun('a', () => Promise.resolve(2))).toBe(2);
});

test('everything is done once, in the order of its owner, and nobody waits for more than one piece of each', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 40 }), async (owners) => {
      const asked = owners.map((owner, number) => `${owner}${number}`);
      const done = await orderOf(asked);
      expect(done.toSorted()).toEqual(asked.toSorted());
      for (const owner of ['a', 'b', 'c']) {
        const own = (list: readonly string[]): string[] => list.filter((what) => what.startsWith(owner));
        expect(own(done)).toEqual(own(asked));
        // Between two pieces of one there is at most one of each other, and one that began before.
        for (const [first, second] of own(done).map((what, at, all) => [what, all[at + 1]] as const)) {
          if (second === undefined) continue;
          const between = done.slice(done.indexOf(first) + 1, done.indexOf(second)).map((what) => what.charAt(0));
          expect(between.length).toBe(new Set(between).size);
        }
      }
    }),
    { numRuns: runs(50) },
  );
});
