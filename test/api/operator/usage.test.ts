import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { BilledMuster, usageBodyOf, type UsageBody } from '../../support/metering/billed-muster.ts';
import { seed } from '../../support/metering/seeded-ledger.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const NOBODY = 'a'.repeat(16);

onEachBackend('usage', (backend) => {
  let billed: BilledMuster;
  const clock = new FakeClock(Date.UTC(2026, 5, 15, 12));
  beforeAll(async () => {
    billed = await BilledMuster.start(backend, clock);
  });
  afterAll(() => billed[Symbol.asyncDispose]());

  const meteredThrough = (through: string): Promise<void> => seed(billed.store, [put(KEYS.metered(), { through })]);

  describe('a month', () => {
    let first: string;
    let second: string;
    let third: string;
    beforeAll(async () => {
      [first = '', second = '', third = ''] = [
        await billed.account('one'),
        await billed.account('two'),
        await billed.account('three'),
      ].sort();
      await billed.ledger(
        first,
        { day: '2026-03-31', activeDaemons: 900 },
        { day: '2026-04-01', activeDaemons: 2, price: '5.00' },
        { day: '2026-04-30', activeDaemons: 3, price: '5.00', late: true },
        { day: '2026-05-01', activeDaemons: 900 },
      );
      await billed.ledger(third, { day: '2026-04-30', activeDaemons: 1, price: '5.00' });
      await meteredThrough('2026-06-14');
    });

    test('has every account by id with its nights, the sums, and the money', async () => {
      const { status, headers, body } = await billed.usage('?month=2026-04');
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      const { accounts, ...whole } = body as unknown as UsageBody;
      const ours = accounts.filter(({ accountId }) => [first, second, third].includes(accountId));
      expect(ours).toEqual([
        {
          accountId: first,
          name: expect.any(String) as string,
          nights: [
            { day: '2026-04-01', activeDaemons: 2, late: false },
            { day: '2026-04-30', activeDaemons: 3, late: true },
          ],
          daemonNights: 5,
          // 25 ÷ 30 euros are 83.33 cents.
          amountMinor: 83,
        },
        { accountId: second, name: expect.any(String) as string, nights: [], daemonNights: 0, amountMinor: 0 },
        {
          accountId: third,
          name: expect.any(String) as string,
          nights: [{ day: '2026-04-30', activeDaemons: 1, late: false }],
          daemonNights: 1,
          amountMinor: 17,
        },
      ]);
      // 83 + 17, though 30 ÷ 30 euros would be 100 too: the rounded accounts are what is summed.
      expect(whole).toEqual({
        month: '2026-04',
        currency: 'EUR',
        pricePerDaemonMonth: '5.00',
        complete: true,
        final: true,
        total: { daemonNights: 6, amountMinor: 100 },
      });
      expect(Object.keys(body).join(' ')).toBe('month currency pricePerDaemonMonth complete final accounts total');
    });

    test('the usage of one account has that account alone', async () => {
      const { accounts, total } = await billed.bodyOf(`?month=2026-04&accountId=${third}`);
      expect(accounts.map(({ accountId }) => accountId)).toEqual([third]);
      expect(total).toEqual({ daemonNights: 1, amountMinor: 17 });
    });

    test("an account's past nights stay when it is disabled", async () => {
      const before = await billed.bodyOf(`?month=2026-04&accountId=${first}`);
      const path = `${billed.muster.ops}/operator/v1/accounts/${first}`;
      await call(path, { method: 'PATCH', token: OPERATOR_TOKEN, body: { disabled: true } });
      expect(await billed.bodyOf(`?month=2026-04&accountId=${first}`)).toEqual(before);
    });

    test('without a night has the configured price, and zero to pay', async () => {
      expect(await billed.bodyOf(`?month=2025-02&accountId=${second}`)).toMatchObject({
        currency: 'EUR',
        pricePerDaemonMonth: '7.50',
        accounts: [{ nights: [], daemonNights: 0, amountMinor: 0 }],
        total: { daemonNights: 0, amountMinor: 0 },
      });
    });

    test('has no one price where nights differ, and one where they only write it otherwise', async () => {
      const accountId = await billed.account('changed');
      await billed.ledger(
        accountId,
        { day: '2025-09-01', activeDaemons: 1, price: '5' },
        { day: '2025-09-02', activeDaemons: 1, price: '5.00' },
        { day: '2025-10-01', activeDaemons: 1, price: '5.00' },
        { day: '2025-10-02', activeDaemons: 1, price: '5.01' },
      );
      expect(await billed.bodyOf(`?month=2025-09&accountId=${accountId}`)).toMatchObject({
        pricePerDaemonMonth: '5.00',
      });
      expect(await billed.bodyOf(`?month=2025-10&accountId=${accountId}`)).toMatchObject({ pricePerDaemonMonth: null });
    });

    test('keeps the currency of its nights, and its minor units', async () => {
      const accountId = await billed.account('yen');
      await billed.ledger(accountId, { day: '2024-02-29', activeDaemons: 29, price: '700', currency: 'JPY' });
      expect(await billed.bodyOf(`?month=2024-02&accountId=${accountId}`)).toMatchObject({
        currency: 'JPY',
        total: { daemonNights: 29, amountMinor: 700 },
      });
    });

    test('nights of an account that cannot be read are billed all the same, without a name', async () => {
      await billed.ledger(NOBODY, { day: '2025-07-04', activeDaemons: 4 });
      const { accounts } = await billed.bodyOf('?month=2025-07');
      expect(accounts.filter(({ accountId }) => accountId === NOBODY)).toMatchObject([{ name: '', daemonNights: 4 }]);
      expect(accounts.map(({ accountId }) => accountId)).toEqual(accounts.map(({ accountId }) => accountId).sort());
    });
  });

  describe('complete', () => {
    const changesSince = (since: string): Promise<void> =>
      seed(billed.store, [put(KEYS.day(), { day: '2026-06-15', since })]);
    beforeAll(() => changesSince('2026-01-01'));

    test.each([
      ['2026-06-14', '2026-06', true, 'the night that ended last is recorded'],
      ['2026-06-13', '2026-06', false, 'its midnight has passed and it is not'],
      ['2026-06-13', '2026-05', true, 'a past month with its last night'],
      ['2026-05-31', '2026-05', true, 'just so'],
      ['2026-05-30', '2026-05', false, 'without it'],
      ['2026-06-14', '2026-07', false, 'a month that has not begun'],
      ['2026-06-14', '2099-12', false, 'nor has this one'],
      ['2026-06-14', '1970-01', true, 'a month before there was anything to meter'],
    ])('metered through %s, %s: %s (%s)', async (through, month, complete) => {
      await meteredThrough(through);
      const answer = await billed.usage(`?month=${month}`);
      expect(answer.body['complete']).toBe(complete);
      expect(answer.headers.get('muster-usage-complete')).toBe(String(complete));
    });

    test.each([
      ['2026-06-15', '2026-06', true, 'all its nights so far had ended by then'],
      ['2026-06-14', '2026-06', false, 'the last of them had not'],
      ['2026-06-14', '2026-05', true, 'the month had'],
    ])('metered through 2026-04-01, with something to meter since %s, %s: %s (%s)', async (since, month, complete) => {
      await meteredThrough('2026-04-01');
      await changesSince(since);
      expect((await billed.bodyOf(`?month=${month}`)).complete).toBe(complete);
      await changesSince('2026-01-01');
    });

    test('on the first of a month no night of it is owed yet; from the next midnight on one is', async () => {
      await meteredThrough('2026-06-29');
      clock.jump(Date.UTC(2026, 6, 1) - clock.now());
      expect(await billed.bodyOf('?month=2026-07')).toMatchObject({ complete: true, final: false });
      expect(await billed.bodyOf('?month=2026-06')).toMatchObject({ complete: false, final: false });
      await meteredThrough('2026-06-30');
      expect(await billed.bodyOf('?month=2026-06')).toMatchObject({ complete: true, final: true });
      clock.jump(Date.UTC(2026, 6, 2) - clock.now());
      expect((await billed.bodyOf('?month=2026-07')).complete).toBe(false);
      await meteredThrough('2026-07-01');
      expect((await billed.bodyOf('?month=2026-07')).complete).toBe(true);
      clock.jump(Date.UTC(2026, 5, 15, 12) - clock.now());
    });
  });
});

onEachBackend('the price that a controller records', (backend) => {
  test('is what a month without nights says, and the configured one only before that', async () => {
    const env = { MUSTER_PRICE_PER_DAEMON_MONTH: '3.20', MUSTER_CURRENCY: 'CHF' };
    let store: Store | undefined;
    const clock = new FakeClock(Date.UTC(2026, 5, 15, 12));
    const wrapStore = (real: Store): Store => (store = real);
    await using muster = await backend.fresh({ env, clock, wrapStore });
    await expect
      .poll(() => store?.get(KEYS.prices()))
      .toMatchObject({
        value: JSON.stringify({ entries: [{ since: clock.now(), price: '3.20', currency: 'CHF' }] }),
      });
    await tenant(muster);
    expect(await usageBodyOf(muster, '?month=2026-06')).toMatchObject({
      currency: 'CHF',
      pricePerDaemonMonth: '3.20',
      complete: true,
    });
  });

  test('is what the next night costs, from its metering to the bill', async () => {
    const env = { MUSTER_PRICE_PER_DAEMON_MONTH: '3.00' };
    const clock = new FakeClock(Date.UTC(2026, 5, 15, 23));
    await using muster = await backend.fresh({ env, clock });
    const { accountId, apiKey } = await tenant(muster);
    await enroll(muster, await createApp(muster, apiKey));
    const read = (): Promise<UsageBody> => usageBodyOf(muster, '?month=2026-06');
    expect(await read()).toMatchObject({ complete: true, accounts: [{ nights: [] }] });
    clock.advance(61 * 60_000);
    expect(await read()).toMatchObject({ complete: false, accounts: [{ nights: [] }] });
    await until(async () => {
      clock.advance(10_000);
      return (await read()).complete;
    });
    expect(await read()).toMatchObject({
      pricePerDaemonMonth: '3.00',
      accounts: [{ accountId, nights: [{ day: '2026-06-15', activeDaemons: 1 }] }],
      total: { daemonNights: 1, amountMinor: 10 },
    });
  });
});
