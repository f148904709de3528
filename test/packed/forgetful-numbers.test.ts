import { expect, test } from 'vitest';
import { ForgetfulNumbers } from '../../src/packed/forgetful-numbers.ts';

test('what is set is there, and another value replaces it', () => {
  const numbers = new ForgetfulNumbers(() => 10);
  numbers.set(1, 2);
  numbers.set(1, 3);
  expect([numbers.get(1), numbers.get(2)]).toEqual([3, undefined]);
});

test('it forgets all once it has twice as many as are expected and ten thousand, and goes on', () => {
  const numbers = new ForgetfulNumbers(() => 5_000);
  for (let key = 0; key <= 20_000; key += 1) numbers.set(key, 1);
  expect(numbers.get(0)).toBe(1);
  const before = numbers.bytes;
  numbers.set(20_001, 1);
  expect([numbers.get(0), numbers.get(20_001)]).toEqual([undefined, 1]);
  for (let key = 0; key < 1_000_000; key += 1) numbers.set(key, 1);
  expect(numbers.bytes).toBeLessThanOrEqual(2 * before);
});
