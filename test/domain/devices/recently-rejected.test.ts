import { expect, test } from 'vitest';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { createRecentlyRejected } from '../../../src/domain/devices/recently-rejected.ts';

const hashOf = (number: number): string => tokenHash(`credential ${number}`);

test('a rejected credential is remembered, and no other', () => {
  const rejected = createRecentlyRejected();
  expect(rejected.has(hashOf(1))).toBe(false);
  rejected.add(hashOf(1));
  expect([rejected.has(hashOf(1)), rejected.has(hashOf(2))]).toEqual([true, false]);
});

test('however many are rejected it stays bounded: the oldest go, the newest stay', () => {
  const rejected = createRecentlyRejected(10);
  for (let number = 0; number < 1000; number += 1) rejected.add(hashOf(number));
  const kept = Array.from({ length: 1000 }, (_, number) => number).filter((number) => rejected.has(hashOf(number)));
  expect(kept).toEqual(Array.from({ length: 10 }, (_, index) => 990 + index));
});

test('a credential that keeps being retried is not forgotten when others fill a generation', () => {
  const rejected = createRecentlyRejected(10);
  for (let number = 0; number < 100; number += 1) {
    rejected.add(hashOf(-1));
    rejected.add(hashOf(number));
    expect(rejected.has(hashOf(-1))).toBe(true);
  }
});
