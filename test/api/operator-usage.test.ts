import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { USAGE_ACCOUNTS_MAX } from '../../src/domain/usage.ts';
import { KEYS, put } from '../../src/domain/records.ts';
import type { Store } from '../../src/store/port.ts';
import { onEachBackend } from '../support/backends.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { call, OPERATOR_TOKEN, tenant, type Answer, type Muster } from '../support/muster.ts';
import { ledgerNight, seed, type SeededNight } from '../support/seeded-ledger.ts';
import { until } from '../support/until.ts';
import { unluckyStore, type UnluckyStore } from '../support/unlucky-store.ts';

const INVALID_REQUEST = { status: 400, body: { error: { code: 'invalid_request' } } };
const NOBODY = 'a'.repeat(16);
/** The store is seeded: nobody else is to meter. */
const ROLES = { MUSTER_ROLES: 'api,device' };

interface UsageBody {
  readonly month: string;
  readonly currency: string;
  readonly pricePerDaemonMonth: string | null;
  readonly complete: boolean;
  readonly accounts: readonly { accountId: string; name: string; nights: object[]; amountMinor: number }[];
  readonly total: { daemonNights: number; amountMinor: number };
  readonly next?: string;
}

onEachBackend('usage', (backend) => {
  let muster: Muster;
  let store: UnluckyStore;
  const clock = new FakeClock(Date.UTC(2026, 5, 15, 12));
  beforeAll(async () => {
    const wrapStore = (real: Store): Store => (store = unluckyStore(real));
    muster = await backend.fresh({ wrapStore, clock, env: { ...ROLES, MUSTER_PRICE_PER_DAEMON_MONTH: '7.50' } });
  });
  afterAll(() => muster[Symbol.asyncDispose]());

  const usage = (query: string, accept?: string): Promise<Answer> =>
    call(`${muster.ops}/operator/v1/usage${query}`, {
      token: OPERATOR_TOKEN,
      ...(accept !== undefined && { headers: { accept } }),
    });
  const bodyOf = async (query: string): Promise<UsageBody> => (await usage(query)).body as unknown as UsageBody;

  async function account(name: string): Promise<string> {
    const created = await call(`${muster.ops}/operator/v1/accounts`, {
      method: 'POST',
      token: OPERATOR_TOKEN,
      body: { name, entitlement: 'standard' },
    });
    return String(created.body['accountId']);
  }

  const meteredThrough = (through: string): Promise<void> => seed(store, [put(KEYS.metered, { through })]);
  const ledger = (accountId: string, ...nights: SeededNight[]): Promise<void> =>
    seed(
      store,
      nights.map((night) => ledgerNight(accountId, night)),
    );

  describe('a month', () => {
    let first: string;
    let second: string;
    let third: string;
    beforeAll(async () => {
      [first = '', second = '', third = ''] = [
        await account('one'),
        await account('two'),
        await account('three'),
      ].sort();
      await ledger(
        first,
        { day: '2026-03-31', activeDaemons: 900 },
        { day: '2026-04-01', activeDaemons: 2, price: '5.00' },
        { day: '2026-04-30', activeDaemons: 3, price: '5.00', late: true },
        { day: '2026-05-01', activeDaemons: 900 },
      );
      await ledger(third, { day: '2026-04-30', activeDaemons: 1, price: '5.00' });
      await meteredThrough('2026-06-14');
    });

    test('has every account by id with its nights, the sums, and the money', async () => {
      const { status, headers, body } = await usage('?month=2026-04');
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
        total: { daemonNights: 6, amountMinor: 100 },
      });
      expect(Object.keys(body)).toEqual(['month', 'currency', 'pricePerDaemonMonth', 'complete', 'accounts', 'total']);
    });

    test('of one account has that account alone', async () => {
      const { accounts, total } = await bodyOf(`?month=2026-04&accountId=${third}`);
      expect(accounts.map(({ accountId }) => accountId)).toEqual([third]);
      expect(total).toEqual({ daemonNights: 1, amountMinor: 17 });
    });

    test("an account's past nights stay when it is disabled", async () => {
      const before = await bodyOf(`?month=2026-04&accountId=${first}`);
      const path = `${muster.ops}/operator/v1/accounts/${first}`;
      await call(path, { method: 'PATCH', token: OPERATOR_TOKEN, body: { disabled: true } });
      expect(await bodyOf(`?month=2026-04&accountId=${first}`)).toEqual(before);
    });

    test('without a night has the configured price, and zero to pay', async () => {
      expect(await bodyOf(`?month=2025-02&accountId=${second}`)).toMatchObject({
        currency: 'EUR',
        pricePerDaemonMonth: '7.50',
        accounts: [{ nights: [], daemonNights: 0, amountMinor: 0 }],
        total: { daemonNights: 0, amountMinor: 0 },
      });
    });

    test('has no one price where nights differ, and one where they only write it otherwise', async () => {
      const accountId = await account('changed');
      await ledger(
        accountId,
        { day: '2025-09-01', activeDaemons: 1, price: '5' },
        { day: '2025-09-02', activeDaemons: 1, price: '5.00' },
        { day: '2025-10-01', activeDaemons: 1, price: '5.00' },
        { day: '2025-10-02', activeDaemons: 1, price: '5.01' },
      );
      expect(await bodyOf(`?month=2025-09&accountId=${accountId}`)).toMatchObject({ pricePerDaemonMonth: '5.00' });
      expect(await bodyOf(`?month=2025-10&accountId=${accountId}`)).toMatchObject({ pricePerDaemonMonth: null });
    });

    test('keeps the currency of its nights, and its minor units', async () => {
      const accountId = await account('yen');
      await ledger(accountId, { day: '2024-02-29', activeDaemons: 29, price: '700', currency: 'JPY' });
      expect(await bodyOf(`?month=2024-02&accountId=${accountId}`)).toMatchObject({
        currency: 'JPY',
        total: { daemonNights: 29, amountMinor: 700 },
      });
    });

    test('nights of an account that cannot be read are billed all the same, without a name', async () => {
      await ledger(NOBODY, { day: '2025-07-04', activeDaemons: 4 });
      const { accounts } = await bodyOf('?month=2025-07');
      expect(accounts.filter(({ accountId }) => accountId === NOBODY)).toMatchObject([{ name: '', daemonNights: 4 }]);
      expect(accounts.map(({ accountId }) => accountId)).toEqual(accounts.map(({ accountId }) => accountId).sort());
    });
  });

  describe('complete', () => {
    const changesSince = (since: string): Promise<void> => seed(store, [put(KEYS.day, { day: '2026-06-15', since })]);
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
      const answer = await usage(`?month=${month}`);
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
      expect((await bodyOf(`?month=${month}`)).complete).toBe(complete);
      await changesSince('2026-01-01');
    });

    test('on the first of a month no night of it is owed yet; from the next midnight on one is', async () => {
      await meteredThrough('2026-06-29');
      clock.jump(Date.UTC(2026, 6, 1) - clock.now());
      expect((await bodyOf('?month=2026-07')).complete).toBe(true);
      expect((await bodyOf('?month=2026-06')).complete).toBe(false);
      clock.jump(Date.UTC(2026, 6, 2) - clock.now());
      expect((await bodyOf('?month=2026-07')).complete).toBe(false);
      await meteredThrough('2026-07-01');
      expect((await bodyOf('?month=2026-07')).complete).toBe(true);
      clock.jump(Date.UTC(2026, 5, 15, 12) - clock.now());
    });
  });

  describe('formats', () => {
    let plain: string;
    beforeAll(async () => {
      plain = await account('Zoë');
      await ledger(
        plain,
        { day: '2025-01-30', activeDaemons: 1, price: '0.50' },
        { day: '2025-01-31', activeDaemons: 2, price: '0.50', late: true },
      );
    });
    const HEADER = 'month,accountId,name,day,activeDaemons,late\r\n';

    test('CSV: a header line and a row a night', async () => {
      const answer = await usage(`?month=2025-01&accountId=${plain}`, 'text/csv');
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
      expect(answer.text).toBe(
        `${HEADER}2025-01,${plain},Zoë,2025-01-30,1,false\r\n2025-01,${plain},Zoë,2025-01-31,2,true\r\n`,
      );
      expect((await usage(`?month=2024-12&accountId=${plain}`, 'text/csv')).text).toBe(HEADER);
    });

    test.each([
      ['a, b', '"a, b"', 'a comma'],
      ['say "hi"', '"say ""hi"""', 'quotes'],
      ['two\r\nlines', '"two\r\nlines"', 'a line break'],
      ['=1+1', "'=1+1", 'a formula'],
      ['+1', "'+1", 'a formula'],
      ['-1', "'-1", 'a formula'],
      ['@SUM(A1)', "'@SUM(A1)", 'a formula'],
      [' =1', "' =1", 'a formula after a blank'],
      ['\t=1', "'\t=1", 'or after a tab'],
      ['＝1', "'＝1", 'in full width'],
      ['=cmd|"/c calc"!A1', `"'=cmd|""/c calc""!A1"`, 'a formula with quotes'],
      ['a=1', 'a=1', 'an equals sign within is none'],
    ])('CSV: the name %j is %j (%s)', async (name, field) => {
      const accountId = await account(name);
      await ledger(accountId, { day: '2025-01-31', activeDaemons: 3 });
      const { text } = await usage(`?month=2025-01&accountId=${accountId}`, 'text/csv');
      expect(text).toBe(`${HEADER}2025-01,${accountId},${field},2025-01-31,3,false\r\n`);
      expect((await bodyOf(`?month=2025-01&accountId=${accountId}`)).accounts[0]?.name).toBe(name);
    });

    test('CloudEvents: one a night, the same each time', async () => {
      const query = `?month=2025-01&accountId=${plain}`;
      const answer = await usage(query, 'application/cloudevents-batch+json');
      expect(answer.headers.get('content-type')).toBe('application/cloudevents-batch+json');
      const events = JSON.parse(answer.text) as object[];
      expect(events).toHaveLength(2);
      expect(events[1]).toEqual({
        specversion: '1.0',
        id: `${plain}/2025-01-31`,
        source: '/muster/ledger',
        type: 'dev.muster.metering.night.v1',
        subject: plain,
        time: '2025-02-01T00:00:00.000Z',
        datacontenttype: 'application/json',
        data: { day: '2025-01-31', activeDaemons: 2, late: true, digest: 'd2', price: '0.50', currency: 'EUR' },
      });
      expect((await usage(query, 'application/cloudevents-batch+json')).text).toBe(answer.text);
      expect((await usage('?month=2024-12', 'application/cloudevents-batch+json')).text).toBe('[]');
    });

    const [JSON_TYPE, CSV, EVENTS] = ['application/json', 'text/csv', 'application/cloudevents-batch+json'];
    test.each([
      ['*/*', JSON_TYPE, 'anything'],
      ['', JSON_TYPE, 'nothing'],
      ['text/html', JSON_TYPE, 'an unknown type alone'],
      ['application/xml, text/html;q=0.5', JSON_TYPE, 'unknown types'],
      ['text/csv', CSV, 'one'],
      ['TEXT/CSV', CSV, 'in another case'],
      ['text/*', CSV, 'a range'],
      ['text/csv;header=present', CSV, 'with a parameter that it has'],
      ['application/*', JSON_TYPE, 'a range of two'],
      ['text/csv, application/json', CSV, 'equal ones: the first'],
      ['text/csv;q=0.5, application/json;q=0.4', CSV, 'the greater weight'],
      ['text/csv;q=0.4, application/json;q=0.5', JSON_TYPE, 'the other way round'],
      ['text/csv;q=0.1, */*;q=0.2', JSON_TYPE, 'anything rather than CSV'],
      ['application/json;q=0, application/*', EVENTS, 'not JSON'],
      ['text/csv;q=0', JSON_TYPE, 'not CSV'],
      ['text/html, application/cloudevents-batch+json;q=0.1', EVENTS, 'the one that is known'],
      ['application/cloudevents+json', JSON_TYPE, 'single events are another type'],
    ])('Accept %j: %s (%s)', async (accept, type) => {
      const { status, headers } = await usage(`?month=2025-01&accountId=${plain}`, accept);
      expect(status).toBe(200);
      expect(headers.get('content-type')?.split(';')[0]).toBe(type);
      expect(headers.get('vary')).toBe('Accept');
      expect(headers.get('cache-control')).toBe('no-store');
    });
  });

  describe('refused', () => {
    test.each(['', '?month=', '?month=2026', '?month=2026-13', '?month=2026-00', '?month=2026-1', '?month=2026-01-01'])(
      '%s',
      async (query) => {
        const answer = await usage(query);
        expect(answer).toMatchObject(INVALID_REQUEST);
        expect(answer.text).toContain('YYYY-MM');
      },
    );

    test.each(['?month=1969-12', '?month=02026-01', '?month=2026-01%20', '?month=%ff'])('%s', async (query) => {
      expect(await usage(query)).toMatchObject(INVALID_REQUEST);
    });

    test.each(['short', 'A'.repeat(16), `${'a'.repeat(16)}/`, ''])('the account id %j', async (accountId) => {
      expect(await usage(`?month=2026-01&accountId=${accountId}`)).toMatchObject(INVALID_REQUEST);
    });

    test('an account that there is not', async () => {
      const answer = await usage(`?month=2026-01&accountId=${'b'.repeat(16)}`);
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    });

    test.each(['limit=0', 'limit=1001', 'limit=x', 'after=%2F'])('%s', async (query) => {
      expect(await usage(`?month=2026-01&${query}`)).toMatchObject(INVALID_REQUEST);
    });

    test('another method, and another token', async () => {
      const url = `${muster.ops}/operator/v1/usage?month=2026-01`;
      const posted = await call(url, { method: 'POST', token: OPERATOR_TOKEN });
      expect(posted).toMatchObject({ status: 404 });
      expect(posted.headers.get('allow')).toBe('GET, HEAD');
      expect(await call(url, { token: 'wrong' })).toMatchObject({ status: 401 });
      expect(await call(url, { method: 'HEAD', token: OPERATOR_TOKEN })).toMatchObject({ status: 200, text: '' });
    });

    test('an amount that JSON cannot carry exactly', async () => {
      const accountId = await account('rich');
      await ledger(accountId, { day: '2025-03-01', activeDaemons: 9e15, price: '999999999', currency: 'EUR' });
      const answer = await usage(`?month=2025-03&accountId=${accountId}`);
      expect(answer).toMatchObject(INVALID_REQUEST);
      expect(answer.text).toContain('2^53');
    });

    test('a store that is down, or damaged, is 502, and a month without an answer is none', async () => {
      store.down.add('list');
      expect(await usage('?month=2025-01')).toMatchObject({ status: 502 });
      store.down.delete('list');
      await seed(store, [put(KEYS.ledger('2025-12', NOBODY, '24'), { day: '2025-12-24', activeDaemons: -1 })]);
      expect(await usage('?month=2025-12')).toMatchObject({ status: 502 });
      const elsewhere = ledgerNight(NOBODY, { day: '2025-11-24', activeDaemons: 1 });
      await seed(store, [{ ...elsewhere, put: KEYS.ledger('2025-11', NOBODY, '25') }]);
      expect(await usage('?month=2025-11')).toMatchObject({ status: 502 });
      expect(await usage('?month=2025-01')).toMatchObject({ status: 200 });
    });
  });
});

interface Many extends AsyncDisposable {
  readonly muster: Muster;
  readonly store: UnluckyStore;
}

onEachBackend('usage of many accounts', (backend) => {
  const ID_DIGITS = 16;
  const idOf = (index: number): string => `t${String(index).padStart(ID_DIGITS - 1, '0')}`;

  async function musterWith(accounts: number, month: string, nights: number): Promise<Many> {
    let store: UnluckyStore | undefined;
    const clock = new FakeClock(Date.UTC(2026, 5, 15, 12));
    const wrapStore = (real: Store): Store => (store = unluckyStore(real));
    const muster = await backend.fresh({ wrapStore, clock, env: ROLES });
    if (!store) throw new Error('no store');
    const account = { name: 'many', entitlement: 'standard', disabled: false, createdAt: 0 };
    const writes = Array.from({ length: accounts }, (_, index) => [
      put(KEYS.account(idOf(index)), account),
      ...Array.from({ length: nights }, (_none, night) => {
        const day = `${month}-${String(night + 1).padStart(2, '0')}`;
        return ledgerNight(idOf(index), { day, activeDaemons: index % 3, price: '0.10' });
      }),
    ]);
    await seed(store, writes.flat());
    return { muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
  }
  const read = (muster: Muster, query: string, accept = 'application/json'): Promise<Answer> =>
    call(`${muster.ops}/operator/v1/usage?${query}`, { token: OPERATOR_TOKEN, headers: { accept } });

  test('pages have all accounts once, and their totals add up to the whole', async () => {
    await using many = await musterWith(7, '2026-05', 31);
    const { muster } = many;
    const whole = (await read(muster, 'month=2026-05')).body as unknown as UsageBody;
    expect(whole.accounts).toHaveLength(7);
    expect(whole.next).toBeUndefined();
    const pages: UsageBody[] = [];
    let target = '/operator/v1/usage?month=2026-05&limit=3';
    while (target !== '') {
      const answer = await call(`${muster.ops}${target}`, { token: OPERATOR_TOKEN });
      pages.push(answer.body as unknown as UsageBody);
      target = /^<(.*)>; rel="next"$/.exec(answer.headers.get('link') ?? '')?.[1] ?? '';
      expect(target.includes(pages.at(-1)?.next ?? '∅')).toBe(target !== '');
    }
    expect(pages.map(({ accounts }) => accounts.length)).toEqual([3, 3, 1]);
    expect(pages.flatMap(({ accounts }) => accounts)).toEqual(whole.accounts);
    expect(pages.reduce((sum, { total }) => sum + total.amountMinor, 0)).toBe(whole.total.amountMinor);
    expect(whole.total.amountMinor).toBeGreaterThan(0);
    const csv = await read(muster, 'month=2026-05&limit=1&after=' + idOf(5), 'text/csv');
    expect(csv.text.split('\r\n')).toHaveLength(1 + 31 + 1);
    expect(csv.headers.get('link')).toBeNull();
  });

  test('as many accounts as one answer takes, and one more', { timeout: 60_000 }, async () => {
    await using many = await musterWith(USAGE_ACCOUNTS_MAX, '2026-05', 1);
    const { muster, store } = many;
    const most = (await read(muster, 'month=2026-05')).body as unknown as UsageBody;
    expect(most.accounts).toHaveLength(USAGE_ACCOUNTS_MAX);
    await seed(store, [
      put(KEYS.account(idOf(USAGE_ACCOUNTS_MAX)), { name: '', entitlement: 'standard', disabled: false, createdAt: 0 }),
    ]);
    const refused = await read(muster, 'month=2026-05');
    expect(refused).toMatchObject(INVALID_REQUEST);
    expect(refused.text).toContain('limit and after');
    const page = (await read(muster, 'month=2026-05&limit=1000')).body as unknown as UsageBody;
    expect(page).toMatchObject({ next: idOf(999) });
    expect(page.accounts).toHaveLength(1000);
  });

  describe('a slow store', () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
    afterEach(() => void vi.useRealTimers());

    test('has the time of a request for each page, and not more', async () => {
      await using many = await musterWith(40, '2026-05', 31);
      const { muster, store } = many;
      const before = store.calls.list;
      let release = store.stall('list');
      const slow = read(muster, 'month=2026-05');
      await until(() => store.calls.list === before + 1);
      vi.advanceTimersByTime(1500);
      release();
      release = store.stall('list');
      await until(() => store.calls.list === before + 2);
      vi.advanceTimersByTime(1500);
      release();
      expect((await slow).status).toBe(200);

      release = store.stall('list');
      const silent = read(muster, 'month=2026-05');
      await until(() => store.calls.list === before + 3);
      vi.advanceTimersByTime(1900);
      expect(await silent).toMatchObject({ status: 502 });
      release();
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
      .poll(() => store?.get(KEYS.prices))
      .toMatchObject({
        value: JSON.stringify({ entries: [{ since: clock.now(), price: '3.20', currency: 'CHF' }] }),
      });
    await tenant(muster);
    const { body } = await call(`${muster.ops}/operator/v1/usage?month=2026-06`, { token: OPERATOR_TOKEN });
    expect(body).toMatchObject({ currency: 'CHF', pricePerDaemonMonth: '3.20', complete: true });
  });
});
