import { expect, test } from 'vitest';
import { andThen, catching } from '../../src/concurrency/maybe-promise.ts';

const told = (error: unknown): string => `caught: ${String(error)}`;

test('what succeeds is handed on as it came: at once, or later', async () => {
  expect(catching(() => 'now', told)).toBe('now');
  const later = catching(() => Promise.resolve('later'), told);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe('later');
});

test('what fails becomes the result: at once, or later', async () => {
  const now = catching((): string => {
    throw new Error('now');
  }, told);
  expect(now).toBe('caught: Error: now');
  expect(await catching(() => Promise.reject<string>(new Error('later')), told)).toBe('caught: Error: later');
});

test('a result that fails is the error of the whole, and not caught twice', async () => {
  const failing = (error: unknown): never => {
    throw new Error('again', { cause: error });
  };
  expect(() =>
    catching((): string => {
      throw new Error('first');
    }, failing),
  ).toThrow('again');
  await expect(catching(() => Promise.reject<string>(new Error('first')), failing)).rejects.toThrow('again');
});

test('a value goes on at once, and a promise when it is there', async () => {
  expect(andThen(1, (one) => one + 1)).toBe(2);
  expect(await andThen(Promise.resolve(1), (one) => one + 1)).toBe(2);
});
