import { expect, test } from 'vitest';
import { AuditedAttempts } from '../../../src/domain/access-audit/audited-attempts.ts';
import { FailedAttempts, LIMITED_ACCOUNTS_MAX } from '../../../src/domain/access-audit/failed-attempts.ts';
import { withLimitsCounted } from '../../../src/domain/access-audit/limits-met.ts';
import type { Caller } from '../../../src/domain/apps/own-app.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { atLimitOf, limitMet } from '../../../src/domain/records/attempt-records.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { Refusal } from '../../../src/domain/refusal.ts';
import type { Store } from '../../../src/store/port.ts';
import { HOUR_MS } from '../../../src/time/utc-days.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { boundedStore } from '../../support/store/bounded-store.ts';
import { auditsOf } from '../../support/service/accounts.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

/* What accounts meet at their limits, as the audit tells of it. */

const CLIENT = '192.0.2.1';
const LIMITS_MET = ['limit.reached', 'rate.limited'] as const;

test('accounts at one limit push out none that is at the other one', () => {
  const attempts = new FailedAttempts(new FakeClock());
  attempts.failed({ of: atLimitOf('limit.reached', 'a'), client: CLIENT });
  for (let n = 0; n <= LIMITED_ACCOUNTS_MAX; n += 1) {
    attempts.failed({ of: atLimitOf('rate.limited', `a${n}`), client: CLIENT });
  }
  const of = attempts.published().atLimits?.map((one) => one.of) ?? [];
  expect(of).toContain(atLimitOf('limit.reached', 'a'));
  expect(of).toHaveLength(LIMITED_ACCOUNTS_MAX + 1);
});

test('each limit of an account is counted for itself, apart from failed secrets', () => {
  const attempts = new FailedAttempts(new FakeClock());
  for (const limit of LIMITS_MET) {
    for (const accountId of ['a', 'b'])
      attempts.failed({ of: atLimitOf(limit, accountId), keyId: 'k', client: CLIENT });
  }
  attempts.failed({ of: 'a', client: CLIENT });
  const { atLimits = [], ...others } = attempts.published();
  expect(atLimits.map(({ of, count }) => [limitMet(of), count])).toEqual(
    LIMITS_MET.flatMap((limit) => ['a', 'b'].map((accountId) => [{ limit, accountId }, 1])),
  );
  expect(others).toMatchObject({ attempts: [{ of: 'a', count: 1 }] });
  expect(Object.keys(others)).toEqual(['attempts']);
});

test.each(['a', 'operator', 'user:u', 'role:operator:limit.reached:a', 'limit.reached', 'rate.limited'])(
  'what is counted otherwise is no limit: %s',
  (of) => {
    expect(limitMet(of)).toBeUndefined();
  },
);

test('so many accounts at their limits fill no record, and hide no failed secret', () => {
  const attempts = new FailedAttempts(new FakeClock());
  attempts.failed({ of: 'a', client: CLIENT });
  for (let n = 0; n < 3 * LIMITED_ACCOUNTS_MAX; n += 1) {
    attempts.failed({ of: atLimitOf('rate.limited', `account${n}`), keyId: `k${n}`, client: CLIENT });
  }
  const { atLimits = [], attempts: failed = [] } = attempts.published();
  expect(failed).toHaveLength(1);
  expect(atLimits).toHaveLength(LIMITED_ACCOUNTS_MAX);
  // What made room is counted nowhere else.
  expect(atLimits.map(({ count }) => count)).toEqual(atLimits.map(() => 1));
});

test('each app without a place is counted, one by one and of a batch, and no other refusal', async () => {
  const attempts = new FailedAttempts(new FakeClock());
  const never = (): never => expect.unreachable('not asked for');
  let refusal = new Refusal('limit_reached');
  const apps = withLimitsCounted(
    {
      create: async () => await Promise.reject(refusal),
      changeMany: async () => [{ error: 'limit_reached' }, { error: 'not_found' }, { error: 'limit_reached' }],
      issueCode: never,
      revoke: never,
      remove: never,
    },
    attempts,
  );
  const origin = { actor: 'key:k', requestId: 'r', client: CLIENT, at: 0, deadline: 0 };
  const reader = new FleetMemory({ onUnreadable: () => undefined });
  const caller: Caller = {
    reader,
    accountId: 'acc',
    authority: { keyId: 'k', secret: '', use: 'full', client: CLIENT },
    origin,
  };
  await expect(apps.create(caller, '')).rejects.toThrow(refusal);
  refusal = new Refusal('invalid_name');
  await expect(apps.create(caller, '')).rejects.toThrow(refusal);
  const person = { ...caller, origin: { ...origin, actor: 'user:u' } };
  expect(await apps.changeMany(person, { change: 'create', apps: ['', '', ''] })).toHaveLength(3);
  expect(attempts.published().atLimits).toEqual([
    { of: 'limit.reached:acc', since: expect.any(Number) as number, count: 3, keyIds: ['k'], clients: [CLIENT] },
  ]);
});

onEachStore('the limits that accounts meet', (stores) => {
  function term(store: Store, clock: FakeClock) {
    let dropped = 0;
    const metrics = { attemptsDropped: () => void (dropped += 1) };
    const audited = new AuditedAttempts({ store, clock, random: systemRandom(), metrics, fence: [] });
    const from = (replicaId: string, attempts: FailedAttempts) => ({ replicaId, ...attempts.published() });
    return { audited, from, dropped: () => dropped };
  }
  const meet = (attempts: FailedAttempts, limit: (typeof LIMITS_MET)[number], keyId: string): void =>
    attempts.failed({ of: atLimitOf(limit, 'acc'), keyId, client: CLIENT });
  const told = async (store: Store) =>
    (await auditsOf(store, 'acc')).map(({ actor, action, detail }) => [actor, action, detail]);

  test('are one entry an hour and account for each, of all replicas, whoever leads', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const [one, other] = [new FailedAttempts(clock), new FailedAttempts(clock)];
    meet(one, 'rate.limited', 'k1');
    meet(other, 'rate.limited', 'k2');
    meet(other, 'limit.reached', 'k1');
    const { audited, from } = term(store, clock);
    await audited.enter([from('one', one), from('other', other)]);
    const first = [
      ['muster', 'rate.limited', { count: 2, keyIds: 'k1 k2', clients: CLIENT }],
      ['muster', 'limit.reached', { count: 1, keyIds: 'k1', clients: CLIENT }],
    ];
    expect(await told(store)).toEqual(expect.arrayContaining(first));
    clock.advance(1);
    meet(one, 'rate.limited', 'k1');
    clock.advance(HOUR_MS - 2);
    await term(store, clock).audited.enter([from('one', one), from('other', other)]);
    expect(await told(store)).toHaveLength(2);
    clock.advance(1);
    await term(store, clock).audited.enter([from('one', one), from('other', other)]);
    const later = [['muster', 'rate.limited', { count: 1, keyIds: 'k1', clients: CLIENT }]];
    expect(await told(store)).toEqual(expect.arrayContaining([...first, ...later]));
    expect(await told(store)).toHaveLength(3);
  });

  test('are dropped and counted on a full store', async () => {
    await using opened = faultyStore(await stores.open());
    const clock = new FakeClock();
    const one = new FailedAttempts(clock);
    for (const limit of LIMITS_MET) meet(one, limit, 'k');
    const { audited, from, dropped } = term(boundedStore(opened), clock);
    opened.full = 0.8;
    await audited.enter([from('one', one)]);
    expect([dropped(), await told(opened)]).toEqual([2, []]);
    opened.full = undefined;
    await audited.enter([from('one', one)]);
    expect(await told(opened)).toEqual([]);
    expect((await opened.list({ prefix: KEYS.attempted.under(), limit: 10 })).entries).toEqual([]);
  });
});
