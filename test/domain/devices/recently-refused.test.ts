import { expect, test } from 'vitest';
import { tokenHash } from '../../../src/domain/credentials/tokens.ts';
import { createRefusedLately } from '../../../src/domain/devices/recently-refused.ts';

const hashOf = (number: number): string => tokenHash(`credential ${number}`);

test('what was refused is remembered, and nothing else', () => {
  const refused = createRefusedLately();
  expect(refused.has(hashOf(1))).toBe(false);
  refused.add(hashOf(1));
  expect([refused.has(hashOf(1)), refused.has(hashOf(2))]).toEqual([true, false]);
});

test('however many are refused it stays bounded: the oldest go, the newest stay', () => {
  const refused = createRefusedLately(10);
  for (let number = 0; number < 1000; number += 1) refused.add(hashOf(number));
  const kept = Array.from({ length: 1000 }, (_, number) => number).filter((number) => refused.has(hashOf(number)));
  expect(kept).toEqual(Array.from({ length: 10 }, (_, index) => 990 + index));
});

test('a credential that keeps being retried is not forgotten when others fill a generation', () => {
  const refused = createRefusedLately(10);
  for (let number = 0; number < 100; number += 1) {
    refused.add(hashOf(-1));
    refused.add(hashOf(number));
    expect(refused.has(hashOf(-1))).toBe(true);
  }
});
