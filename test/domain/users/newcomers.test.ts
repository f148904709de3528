import { expect, test } from 'vitest';
import type { Origin } from '../../../src/domain/mutation/step.ts';
import { Busy } from '../../../src/domain/refusal.ts';
import { createNewcomers } from '../../../src/domain/users/users.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const originUntil = (deadline: number): Origin => ({ actor: 'operator', requestId: 'request', at: 0, deadline });

test('users are created one after the other, and a creation that was answered while it waited is left out', async () => {
  const clock = new FakeClock();
  const now = clock.monotonic();
  const newcomers = createNewcomers({ clock });
  const first = Promise.withResolvers<void>();
  const made: string[] = [];
  const creating =
    (name: string, until: Promise<void> = Promise.resolve()) =>
    async (): Promise<string> => {
      made.push(name);
      await until;
      return name;
    };
  const one = newcomers(originUntil(now + 1000), creating('one', first.promise));
  const late = newcomers(originUntil(now + 1000), creating('late'));
  const other = newcomers(originUntil(now + 9000), creating('other'));
  await until(() => made.length === 1);
  clock.advance(2000);
  first.resolve();
  await expect(late).rejects.toThrow(Busy);
  expect([await one, await other, made]).toEqual(['one', 'other', ['one', 'other']]);
});
