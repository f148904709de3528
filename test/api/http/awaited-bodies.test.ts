import { expect, test } from 'vitest';
import { AwaitedBodies } from '../../../src/api/http/awaited-bodies.ts';

/** What a body counts as at least, in bytes. */
const LEAST = 16_384;

/** Waits for bodies, and notes those that are given up. */
function waiting(bytesMax: number) {
  const awaited = new AwaitedBodies(bytesMax);
  const givenUp: string[] = [];
  const wait = (principal: string, name: string, bytes = LEAST) =>
    awaited.await(principal, bytes, () => void givenUp.push(name));
  return { givenUp, wait };
}

test('of too many bytes the body is given up that is waited for longest; one that has arrived is not', () => {
  const { givenUp, wait } = waiting(2 * LEAST);
  const [, arrived] = [wait('', '1'), wait('', '2')];
  arrived();
  const third = wait('', '3');
  expect(givenUp).toEqual([]);
  wait('', '4');
  expect(givenUp).toEqual(['1']);
  third();
  third();
  wait('', '5');
  expect(givenUp, 'it is no longer counted, and not twice').toEqual(['1']);
  wait('', '6');
  expect(givenUp).toEqual(['1', '4']);
});

test('the principal gives up who has most bytes, not who has most bodies or came first', () => {
  const { givenUp, wait } = waiting(16 * LEAST);
  for (const name of ['a1', 'a2', 'a3']) wait('a', name);
  wait('b', 'b1', 8 * LEAST);
  wait('c', 'c1', 5 * LEAST);
  expect(givenUp).toEqual([]);
  wait('c', 'c2');
  expect(givenUp).toEqual(['b1']);
});

test('a body of few bytes counts as 16 KiB, and as many are given up as are too many', () => {
  const { givenUp, wait } = waiting(4 * LEAST);
  for (const name of ['1', '2', '3', '4']) wait('', name, 1);
  expect(givenUp).toEqual([]);
  wait('', '5', 2 * LEAST);
  expect(givenUp).toEqual(['1', '2']);
});

test('a body may be given up at once, where its principal has most by it alone', () => {
  const { givenUp, wait } = waiting(4 * LEAST);
  wait('a', 'a1');
  wait('b', 'b1');
  const arrived = wait('c', 'c1', 3 * LEAST);
  expect(givenUp).toEqual(['c1']);
  arrived();
  for (const name of ['a2', 'b2']) wait('d', name);
  expect(givenUp).toEqual(['c1']);
});
