import { expect, test } from 'vitest';
import { AuditedAttempts } from '../../../src/domain/access-audit/audited-attempts.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const HOUR_MS = 3_600_000;

const tried = (replicaId: string, count: number, since = 1, of = 'acc') => ({
  replicaId,
  attempts: [{ of, since, count, keyIds: [`key-of-${replicaId}`], clients: [`client-of-${replicaId}`] }],
});

function term(store: Store, clock: FakeClock) {
  let dropped = 0;
  const metrics = { attemptsDropped: () => void (dropped += 1) };
  const fence = [expectAbsent(KEYS.leader())];
  const audited = new AuditedAttempts({ store, clock, random: systemRandom(), metrics, fence });
  return { enter: audited.enter.bind(audited), dropped: () => dropped };
}

async function entriesOf(store: Store, of = 'acc'): Promise<unknown[]> {
  const { entries } = await store.list({ prefix: KEYS.audit.under(of), limit: 100 });
  return entries.map(({ value }) => {
    const { actor, action, detail } = JSON.parse(value) as Record<string, unknown>;
    return { actor, action, detail };
  });
}
const entry = (count: number, keyIds: string, clients: string) => ({
  actor: 'muster',
  action: 'key.refused',
  detail: { count, keyIds, clients },
});

onEachStore('failed secrets in the audit', (stores) => {
  test('are one entry an hour and account, of all replicas together, with the number since the entry before', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const { enter } = term(store, clock);
    await enter([tried('a', 2), tried('b', 3), { replicaId: 'c' }]);
    const both = ['key-of-a key-of-b', 'client-of-a client-of-b'] as const;
    expect(await entriesOf(store)).toEqual([entry(5, ...both)]);
    clock.advance(HOUR_MS - 1);
    await enter([tried('a', 10), tried('b', 3)]);
    expect(await entriesOf(store)).toHaveLength(1);
    clock.advance(1);
    await enter([tried('a', 11), tried('b', 3)]);
    expect(await entriesOf(store)).toEqual([entry(5, ...both), entry(9, ...both)]);
    // Nobody has tried since.
    clock.advance(2 * HOUR_MS);
    await enter([tried('a', 11), tried('b', 3)]);
    expect(await entriesOf(store)).toHaveLength(2);
    // A replica that began to count anew.
    await enter([tried('a', 4, 7)]);
    expect(await entriesOf(store)).toContainEqual(entry(4, 'key-of-a', 'client-of-a'));
  });

  test('are neither repeated nor forgotten by the next leader', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    await term(store, clock).enter([tried('a', 2)]);
    const next = term(store, clock);
    await next.enter([tried('a', 6)]);
    expect(await entriesOf(store)).toHaveLength(1);
    clock.advance(HOUR_MS);
    await next.enter([tried('a', 7)]);
    expect((await entriesOf(store)).map((one) => (one as ReturnType<typeof entry>).detail.count)).toEqual([2, 5]);
  });

  test('are entered once though the answer of the commit is lost, and by one of two leaders', async () => {
    await using faulty = faultyStore(await stores.open());
    const clock = new FakeClock();
    const [one, other] = [term(faulty, clock), term(faulty, clock)];
    faulty.fates.push('answer lost after commit');
    await expect(one.enter([tried('a', 2)])).rejects.toThrow();
    await one.enter([tried('a', 2)]);
    await other.enter([tried('a', 2)]);
    expect(await entriesOf(faulty)).toHaveLength(1);
  });

  test('a former leader enters nothing', async () => {
    await using store = await stores.open();
    const { enter } = term(store, new FakeClock());
    await store.commit({ expect: [expectAbsent(KEYS.leader())], write: [{ put: KEYS.leader(), value: '{}' }] });
    await enter([tried('a', 2)]);
    expect(await entriesOf(store)).toEqual([]);
  });

  test('are dropped and counted where the store is too full, and not tried again for an hour', async () => {
    await using faulty = faultyStore(await stores.open());
    const clock = new FakeClock();
    const { enter, dropped } = term(faulty, clock);
    faulty.down.add('commit');
    faulty.trouble = 'full';
    for (let round = 0; round < 5; round += 1) await enter([tried('a', 2 + round)]);
    expect(dropped()).toBe(1);
    faulty.down.delete('commit');
    clock.advance(HOUR_MS);
    await enter([tried('a', 9)]);
    expect(await entriesOf(faulty)).toEqual([entry(7, 'key-of-a', 'client-of-a')]);
  });

  test('of the operator’s tokens are in the audit of the service', async () => {
    await using store = await stores.open();
    await term(store, new FakeClock()).enter([tried('a', 2, 1, 'operator')]);
    expect(await entriesOf(store, 'operator')).toEqual([
      { actor: 'muster', action: 'token.refused', detail: { count: 2, clients: 'client-of-a' } },
    ]);
  });
});
