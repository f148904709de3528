import { expect, test } from 'vitest';
import { SerialByKey } from '../../src/concurrency/serial-by-key.ts';

/** Work that ends when it is told to, and notes when it began. */
function work(name: string, begun: string[]) {
  const { promise, resolve } = Promise.withResolvers<string>();
  return {
    run: () => {
      begun.push(name);
      return promise;
    },
    end: () => resolve(name),
  };
}
const settled = async (): Promise<void> => {
  for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
};

test('the work of a key goes one by one; that of another key does not wait for it', async () => {
  const begun: string[] = [];
  const queue = new SerialByKey(10);
  const [first, second, other] = [work('first', begun), work('second', begun), work('other', begun)];
  const outcomes = [queue.tryRun('a', first.run), queue.tryRun('a', second.run), queue.tryRun('b', other.run)];
  await settled();
  expect(begun).toEqual(['first', 'other']);
  first.end();
  await settled();
  expect(begun).toEqual(['first', 'other', 'second']);
  second.end();
  other.end();
  expect(await Promise.all(outcomes.map(async (outcome) => await outcome))).toEqual(['first', 'second', 'other']);
});

test('a rejection ends the work of one alone', async () => {
  const queue = new SerialByKey(10);
  const failing = queue.tryRun('a', () => Promise.reject(new Error('no')));
  const next = queue.tryRun('a', () => Promise.resolve('next'));
  await expect(failing).rejects.toThrow('no');
  expect(await next).toBe('next');
});

test('the bound holds for a key alone, and is free again afterwards', async () => {
  const begun: string[] = [];
  const queue = new SerialByKey(1);
  const first = work('first', begun);
  const running = queue.tryRun('a', first.run);
  expect(queue.tryRun('a', () => Promise.resolve('refused'))).toBeUndefined();
  expect(await queue.tryRun('b', () => Promise.resolve('another key'))).toBe('another key');
  first.end();
  await running;
  expect(await queue.tryRun('a', () => Promise.resolve('later'))).toBe('later');
});
