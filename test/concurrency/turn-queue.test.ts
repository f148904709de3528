import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../src/concurrency/turn-queue.ts';

/** Numbers, each with the turn in which it was done. */
function recorder(queue: TurnQueue): {
  put(count: number): void;
  readonly done: (readonly [number, number])[];
  turn: number;
} {
  let next = 0;
  const record = {
    done: [] as (readonly [number, number])[],
    turn: 0,
    put(count: number) {
      for (let i = 0; i < count; i += 1) {
        const number = next;
        next += 1;
        queue.do(() => record.done.push([number, record.turn]));
      }
    },
  };
  return record;
}

test('a burst is done in pieces, the first at once, and the event loop turns in between', async () => {
  const queue = new TurnQueue(3);
  const record = recorder(queue);
  record.put(7);
  expect(record.done).toEqual([
    [0, 0],
    [1, 0],
    [2, 0],
  ]);
  for (record.turn = 1; queue.waiting > 0; record.turn += 1) await setImmediate();
  expect(record.done.slice(3)).toEqual([
    [3, 1],
    [4, 1],
    [5, 1],
    [6, 2],
  ]);
});

test('turn() is a promise only where the turn has no room left, and stands in the same queue', async () => {
  const queue = new TurnQueue(1);
  expect(queue.turn()).toBeUndefined();
  const order: string[] = [];
  const waited = queue.turn()?.then(() => order.push('turn'));
  queue.do(() => order.push('work'));
  expect([waited === undefined, order]).toEqual([false, []]);
  while (queue.waiting > 0) await setImmediate();
  expect(order).toEqual(['turn', 'work']);
  await setImmediate();
  expect(queue.turn()).toBeUndefined();
});

test('whatever comes when, all is done once, in order, and never more than its share in a turn', async () => {
  const bursts = fc.array(fc.nat({ max: 12 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 5 }), bursts, async (perTurnMax, arrivals) => {
      const queue = new TurnQueue(perTurnMax);
      const record = recorder(queue);
      for (const count of arrivals) {
        record.put(count);
        await setImmediate();
        record.turn += 1;
      }
      while (queue.waiting > 0) {
        await setImmediate();
        record.turn += 1;
      }
      const total = arrivals.reduce((sum, count) => sum + count, 0);
      expect(record.done.map(([number]) => number)).toEqual(Array.from({ length: total }, (_, number) => number));
      // The work that a turn begins with and the work that comes in it are counted as one: the share holds for any two
      // that follow.
      const perTurn = Map.groupBy(record.done, ([, turn]) => turn);
      for (const done of perTurn.values()) expect(done.length).toBeLessThanOrEqual(2 * perTurnMax);
    }),
  );
});
