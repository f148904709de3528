import { expect, onTestFinished, test, vi } from 'vitest';
import { Slots } from '../../src/concurrency/slots.ts';
import { until } from '../support/time/until.ts';

test('no more than the bound is under way, in the order in which it came, also after a failure', async () => {
  const slots = new Slots(2);
  const begun: number[] = [];
  const work = [0, 1, 2, 3].map(() => Promise.withResolvers<number>());
  const outcomes = work.map(({ promise }, index) =>
    slots.run(() => {
      begun.push(index);
      return promise;
    }),
  );
  await until(() => begun.length === 2);
  work[1]?.reject(new Error('no'));
  await expect(outcomes[1]).rejects.toThrow('no');
  await until(() => begun.length === 3);
  expect(begun).toEqual([0, 1, 2]);
  for (const [index, { resolve }] of work.entries()) resolve(index);
  expect(await Promise.all([outcomes[0], outcomes[2], outcomes[3]])).toEqual([0, 2, 3]);
  expect(await slots.run(() => Promise.resolve('free'))).toBe('free');
});

test('work that waits is not moved for each piece that begins', async () => {
  const slots = new Slots(1);
  // It moves all that stand behind the first.
  const shift = vi.spyOn(Array.prototype, 'shift');
  onTestFinished(() => shift.mockRestore());
  const begun: number[] = [];
  const run = (number: number): Promise<number> => slots.run(() => Promise.resolve(begun.push(number)));
  const numbers = Array.from({ length: 1_000 }, (_, number) => number);
  // One half comes while the other one has its turns.
  const late = slots.run(() => Promise.resolve()).then(() => Promise.all(numbers.slice(500).map(run)));
  await Promise.all([...numbers.slice(0, 500).map(run), late]);
  expect(begun).toEqual(numbers);
  expect(shift.mock.calls.length).toBeLessThan(numbers.length / 10);
});
