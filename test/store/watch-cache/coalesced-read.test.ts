import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { coalescedRead } from '../../../src/store/watch-cache/coalesced-read.ts';
import { until } from '../../support/time/until.ts';

/** A read whose answers the test gives, one by one. */
function handMade(): { read: () => Promise<string>; answers: PromiseWithResolvers<string>[] } {
  const answers: PromiseWithResolvers<string>[] = [];
  const read = (): Promise<string> => {
    const answer = Promise.withResolvers<string>();
    answers.push(answer);
    return answer.promise;
  };
  return { read, answers };
}

describe('a coalesced read', () => {
  test('callers that ask while one is under way get the next one, all of them the same', async () => {
    const { read, answers } = handMade();
    const shared = coalescedRead(read);
    const first = shared();
    const later = [shared(), shared(), shared()];
    expect(answers).toHaveLength(1);
    answers[0]?.resolve('old');
    expect(await first).toBe('old');
    await until(() => answers.length === 2);
    answers[1]?.resolve('new');
    expect(await Promise.all(later)).toEqual(['new', 'new', 'new']);
    expect(answers).toHaveLength(2);
  });

  test('callers that ask again after their answer share the next one with those that waited', async () => {
    const { read, answers } = handMade();
    const shared = coalescedRead(read);
    const [first, second] = [shared(), shared()];
    answers[0]?.resolve('old');
    await first;
    const third = shared();
    expect(answers).toHaveLength(1);
    await until(() => answers.length === 2);
    answers[1]?.resolve('new');
    expect(await Promise.all([second, third])).toEqual(['new', 'new']);
    expect(answers).toHaveLength(2);
  });

  test('a caller that asks once it has ended begins another', async () => {
    const { read, answers } = handMade();
    const shared = coalescedRead(read);
    for (const [index, word] of ['a', 'b'].entries()) {
      const asked = shared();
      await until(() => answers.length === index + 1);
      answers[index]?.resolve(word);
      expect(await asked).toBe(word);
    }
    expect(answers).toHaveLength(2);
  });

  test('callers that wait for the next one fail with the one before it, and the next caller reads again', async () => {
    const { read, answers } = handMade();
    const shared = coalescedRead(read);
    const both = [shared(), shared()];
    answers[0]?.reject(new Error('down'));
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(answers).toHaveLength(1);
    const recovered = shared();
    answers[1]?.resolve('up');
    expect(await recovered).toBe('up');
  });

  test('however callers and answers fall, at most one is under way, and no answer is older than its question', async () => {
    let [underWay, most, reads] = [0, 0, 0];
    const shared = coalescedRead(async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      const mine = (reads += 1);
      for (let turns = mine % 5; turns > 0; turns -= 1) await nextTurn();
      underWay -= 1;
      return mine;
    });
    const callers = Array.from({ length: 2000 }, async (_, index) => {
      for (let turns = (index * 7919) % 97; turns > 0; turns -= 1) await nextTurn();
      const begunBefore = reads;
      expect(await shared()).toBeGreaterThan(begunBefore);
    });
    await Promise.all(callers);
    expect(most).toBe(1);
    expect(reads).toBeLessThan(200);
    expect(reads).toBeGreaterThan(10);
  });
});
