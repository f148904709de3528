import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { DEADLINES } from '../../../src/domain/limits.ts';
import { USAGE_ACCOUNTS_MAX } from '../../../src/domain/metering/usage.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { BilledMuster, type UsageBody } from '../../support/metering/billed-muster.ts';
import { ledgerNight, seed } from '../../support/metering/seeded-ledger.ts';
import type { MusterOptions } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };

onEachBackend('usage of many accounts', (backend) => {
  const ID_DIGITS = 16;
  const idOf = (index: number): string => `t${String(index).padStart(ID_DIGITS - 1, '0')}`;

  async function musterWith(
    accounts: number,
    month: string,
    nights: number,
    options?: Pick<MusterOptions, 'deadlines'>,
  ): Promise<BilledMuster> {
    const billed = await BilledMuster.start(backend, new FakeClock(Date.UTC(2026, 5, 15, 12)), options);
    const account = { name: 'many', entitlement: 'standard', disabled: false, createdAt: 0 };
    const writes = Array.from({ length: accounts }, (_, index) => [
      rawPut(KEYS.account(idOf(index)), account),
      ...Array.from({ length: nights }, (_none, night) => {
        const day = `${month}-${String(night + 1).padStart(2, '0')}`;
        return ledgerNight(idOf(index), { day, activeDaemons: index % 3, price: '0.10' });
      }),
    ]);
    await seed(billed.store, writes.flat());
    return billed;
  }

  test('pages have all accounts once, and their totals add up to the whole', async () => {
    await using billed = await musterWith(7, '2026-05', 31);
    const whole = await billed.bodyOf('?month=2026-05');
    expect(whole.accounts).toHaveLength(7);
    expect(whole.next).toBeUndefined();
    const pages: UsageBody[] = [];
    let target = '/operator/v1/usage?month=2026-05&limit=3';
    while (target !== '') {
      const answer = await billed.usage(target);
      pages.push(answer.body as unknown as UsageBody);
      target = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
      expect(target.includes(pages.at(-1)?.next ?? '∅')).toBe(target !== '');
    }
    expect(pages.map(({ accounts }) => accounts.length)).toEqual([3, 3, 1]);
    expect(pages.flatMap(({ accounts }) => accounts)).toEqual(whole.accounts);
    expect(pages.reduce((sum, { total }) => sum + total.amountMinor, 0)).toBe(whole.total.amountMinor);
    expect(whole.total.amountMinor).toBeGreaterThan(0);
    const csv = await billed.usage('?month=2026-05&limit=1&after=' + idOf(5), 'text/csv');
    expect(csv.text.split('\r\n')).toHaveLength(1 + 31 + 1);
    expect(csv.headers.get('link')).toBeNull();
  });

  test('one response takes its most accounts, and not one more', { timeout: 240_000 }, async () => {
    await using billed = await musterWith(USAGE_ACCOUNTS_MAX, '2026-05', 1);
    const { store } = billed;
    const most = await billed.bodyOf('?month=2026-05');
    expect(most.accounts).toHaveLength(USAGE_ACCOUNTS_MAX);
    await seed(store, [
      put(KEYS.account(idOf(USAGE_ACCOUNTS_MAX)), { name: '', entitlement: 'standard', disabled: false, createdAt: 0 }),
    ]);
    const refused = await billed.usage('?month=2026-05');
    expect(refused).toMatchObject(INVALID_REQUEST);
    expect(refused.text).toContain('limit and after');
    const page = await billed.bodyOf('?month=2026-05&limit=1000');
    expect(page).toMatchObject({ next: idOf(999) });
    expect(page.accounts).toHaveLength(1000);
  });

  describe('a slow store', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    test('has the time of a request for each page, and not more', async () => {
      await using billed = await musterWith(40, '2026-05', 31, { deadlines: DEADLINES });
      const { store } = billed;
      const before = store.calls.list;
      let release = store.stall('list');
      const slow = billed.usage('?month=2026-05');
      await until(() => store.calls.list >= before + 1);
      vi.advanceTimersByTime(1500);
      release();
      release = store.stall('list');
      await until(() => store.calls.list >= before + 2);
      vi.advanceTimersByTime(1500);
      release();
      expect((await slow).status).toBe(200);

      release = store.stall('list');
      const silent = billed.usage('?month=2026-05');
      await until(() => store.calls.list >= before + 3);
      vi.advanceTimersByTime(1900);
      expect(await silent).toMatchObject({ status: 502 });
      release();
    });
  });
});
