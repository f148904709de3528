import { expect, test } from 'vitest';
import { isContended, pausing } from '../../../../src/controller/kubernetes/runtime/contention.ts';
import type { Condition } from '../../../../src/controller/kubernetes/schema/common.ts';

/* What a resource says of itself while others change what it describes, and after they have stopped. */

const none: readonly Condition[] = [];
const held = (conditions: readonly Condition[], writer: string) =>
  pausing({ conditions }, { cause: 'outside', secret: 'box' }, 60_000, () => [writer]);

test('it speaks of what was, which stays true when the other writer has stopped, and says what comes then', () => {
  const { message = '' } = held(none, 'rival') ?? {};
  expect(message).toMatch(/^The Secret box was changed by others again and again \(field managers: “rival”\)\. /);
  expect(message).toMatch(/Muster puts it right three times at once, then once a minute, .*10 minutes/);
  expect(message).toMatch(/where the other writer has stopped, the next time is the last/i);
  expect(message).not.toMatch(/\b(?:is|are) changed\b/);
});

test('it is not written anew while it lasts, whoever writes; of another Secret it is', () => {
  const first = held(none, 'rival');
  if (!first) throw new Error('there is no condition');
  const said: Condition[] = [{ ...first, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 }];
  expect(isContended({ conditions: said })).toBe(true);
  expect(held(said, 'another')).toEqual(first);
  const other = pausing({ conditions: said }, { cause: 'outside', secret: 'bag' }, 60_000, () => []);
  expect(other?.message).toMatch(/^The Secret bag was changed/);
});
