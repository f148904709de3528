import { expect, test } from 'vitest';
import { AuditedAttempts } from '../../../src/domain/access-audit/audited-attempts.ts';
import { FailedAttempts, TRIED_NAMES_MAX } from '../../../src/domain/access-audit/failed-attempts.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { auditsOf } from '../../support/service/accounts.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';

const HOUR_MS = 3_600_000;
const metrics = { attemptsDropped: () => undefined };
const leader = (store: Store, clock: FakeClock): AuditedAttempts =>
  new AuditedAttempts({ store, clock, random: systemRandom(), metrics, fence: [] });
const published = (replicaId: string, attempts: FailedAttempts) => ({ replicaId, ...attempts.published() });
const fail = (attempts: FailedAttempts, client: string, of = 'acc') => attempts.failed({ of, keyId: 'key', client });

onEachStore('failed secrets over time', (stores) => {
  const details = async (store: Store, of = 'acc') => (await auditsOf(store, of)).map(({ detail }) => detail);

  test('what a replica was the last to publish is entered, though it has ended since', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const audited = leader(store, clock);
    const [one, other] = [new FailedAttempts(clock), new FailedAttempts(clock)];
    fail(one, 'a');
    await audited.enter([published('one', one)]);
    for (let n = 0; n < 5; n += 1) fail(one, 'a');
    await audited.enter([published('one', one), published('other', other)]);
    await audited.enter([published('other', other)]);
    clock.advance(HOUR_MS);
    await audited.enter([published('other', other)]);
    expect((await details(store)).map(({ count }) => count)).toEqual([1, 5]);
    clock.advance(HOUR_MS);
    await audited.enter([published('other', other)]);
    expect(await details(store)).toHaveLength(2);
  });

  test('what was entered of a replica is not entered again when it is back after a gap', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const audited = leader(store, clock);
    const [cut, other] = [new FailedAttempts(clock), new FailedAttempts(clock)];
    for (let n = 0; n < 100; n += 1) fail(cut, 'a');
    await audited.enter([published('cut', cut)]);
    clock.advance(HOUR_MS);
    fail(other, 'b');
    // Its announcement has expired meanwhile, and another leader enters the others.
    await leader(store, clock).enter([published('other', other)]);
    clock.advance(HOUR_MS - 1);
    fail(cut, 'a');
    clock.advance(1);
    await leader(store, clock).enter([published('cut', cut), published('other', other)]);
    expect((await details(store)).map(({ count }) => count)).toEqual([100, 1, 1]);
  });

  test('an entry names those who tried since the one before, and not those of earlier hours', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const [audited, one] = [leader(store, clock), new FailedAttempts(clock)];
    fail(one, 'early');
    await audited.enter([published('one', one)]);
    clock.advance(HOUR_MS);
    fail(one, 'late');
    await audited.enter([published('one', one)]);
    expect((await details(store)).map(({ clients }) => clients)).toEqual(['early', 'late']);
  });

  test('the names of many who tried once do not hide the one who goes on', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const [audited, one] = [leader(store, clock), new FailedAttempts(clock)];
    for (let n = 0; n < TRIED_NAMES_MAX; n += 1) {
      fail(one, `once-${n}`);
      clock.advance(1);
    }
    fail(one, 'goes-on');
    await audited.enter([published('one', one)]);
    expect((await details(store)).map(({ clients }) => String(clients).split(' '))).toEqual([
      expect.arrayContaining(['goes-on']),
    ]);
  });

  test('a record that cannot be read silences neither its account nor the others', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const write = [{ put: KEYS.attempted('acc'), value: '{"at":' }];
    await store.commit({ expect: [expectAbsent(KEYS.attempted('acc'))], write });
    const one = new FailedAttempts(clock);
    fail(one, 'a');
    fail(one, 'a', 'other');
    await leader(store, clock).enter([published('one', one)]);
    expect([await details(store), await details(store, 'other')].map((all) => all.length)).toEqual([1, 1]);
  });
});
