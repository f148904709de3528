import { expect, test } from 'vitest';
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
