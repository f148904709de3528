import { expect, test } from 'vitest';
import {
  FailedAttempts,
  TRIED_ACCOUNTS_MAX,
  TRIED_NAMES_MAX,
} from '../../../src/domain/access-audit/failed-attempts.ts';
import { publishedAttemptsSchema } from '../../../src/domain/records/attempt-records.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const CLIENT = '192.0.2.1';

test('failed secrets are counted by account, with some of their keys and clients', () => {
  const clock = new FakeClock();
  const attempts = new FailedAttempts(clock);
  expect(attempts.published()).toEqual({});
  const since = clock.now();
  attempts.failed({ of: 'a', keyId: 'k', client: CLIENT });
  clock.advance(1000);
  attempts.failed({ of: 'a', keyId: 'k', client: '192.0.2.2' });
  attempts.failed({ of: 'operator', client: CLIENT });
  expect(attempts.published().attempts).toEqual([
    { of: 'a', since, count: 2, keyIds: ['k'], clients: ['192.0.2.2', CLIENT] },
    { of: 'operator', since: since + 1000, count: 1, keyIds: [], clients: [CLIENT] },
  ]);
});

test('an account that nobody has tried for two hours is forgotten', () => {
  const clock = new FakeClock();
  const attempts = new FailedAttempts(clock);
  attempts.failed({ of: 'a', client: CLIENT });
  clock.advance(2 * 3_600_000 - 1);
  expect(attempts.published().attempts).toHaveLength(1);
  clock.advance(1);
  expect(attempts.published()).toEqual({});
});

test('whoever tries many keys of many accounts from many addresses fills no record', () => {
  const attempts = new FailedAttempts(new FakeClock());
  attempts.failed({ of: 'operator', client: CLIENT });
  for (let account = 0; account < 1000; account += 1) {
    for (let n = 0; n < 20; n += 1) {
      attempts.failed({ of: `account${account}`, keyId: `k${n}`, client: `${n}${'x'.repeat(200)}` });
    }
  }
  const { attempts: published = [] } = attempts.published();
  expect(published).toHaveLength(TRIED_ACCOUNTS_MAX);
  expect(published.at(-1)).toMatchObject({ of: 'account999', count: 20 });
  const [operator, ...accounts] = published;
  expect(operator, 'hidden by no number of accounts').toMatchObject({ of: 'operator', count: 1 });
  for (const { keyIds, clients } of accounts) {
    expect([keyIds.length, clients.length]).toEqual([TRIED_NAMES_MAX, TRIED_NAMES_MAX]);
  }
  expect(JSON.stringify(published).length).toBeLessThan(40 * 1024);
  expect(publishedAttemptsSchema.parse(published)).toEqual(published);
});
