import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  PRICE_ENTRIES_MAX,
  priceOfNight,
  readPrices,
  recordPrice,
  withPrice,
} from '../../../src/domain/metering/prices.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { PricesRecord } from '../../../src/domain/records/metering-records.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { ABSENT, expectAbsent, type Store } from '../../../src/store/port.ts';
import { dayAt, endOfDay } from '../../../src/time/utc-days.ts';
import { runs } from '../../support/run/effort.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const at = Date.parse;
const NOTHING: PricesRecord = { entries: [] };
const HOUR_MS = 3_600_000;

/** Each setting as `2026-01-10T12:00Z 5.00 EUR`. */
const recorded = (...settings: string[]): PricesRecord => ({
  entries: settings.map((setting) => {
    const [since = '', price = '', currency = 'EUR'] = setting.split(' ');
    return { since: at(since), price, currency };
  }),
});

describe('the price of a night', () => {
  test.each<[string[], string, string, string]>([
    [['2026-01-10T12:00Z 5'], '2026-01-10', '5 EUR', 'the night of the day when it was set'],
    [['2026-01-10T12:00Z 5'], '2026-03-01', '5 EUR', 'and every later one'],
    [['2026-01-10T12:00Z 5'], '2025-12-24', '5 EUR', 'a night before the first setting has the first'],
    [['2026-01-01T12:00Z 5', '2026-01-10T23:59:59.999Z 6'], '2026-01-10', '6 EUR', 'set just before midnight'],
    [['2026-01-01T12:00Z 5', '2026-01-11T00:00:00.000Z 6'], '2026-01-10', '5 EUR', 'set at midnight: the next night'],
    [['2026-01-01T12:00Z 5', '2026-01-11T00:00:00.000Z 6'], '2026-01-11', '6 EUR', 'which has it'],
    [['2026-01-01T12:00Z 5', '2026-01-20T00:00Z 6'], '2026-01-12', '5 EUR', 'a later setting changes no past night'],
    [['2026-01-01T12:00Z 5', '2026-01-10T12:00Z 700 JPY'], '2026-01-10', '5 EUR', 'yen wait for the next month'],
    [['2026-01-01T12:00Z 5', '2026-01-10T12:00Z 700 JPY'], '2026-01-31', '5 EUR', 'to its last night'],
    [['2026-01-01T12:00Z 5', '2026-01-10T12:00Z 700 JPY'], '2026-02-01', '700 JPY', 'and hold from its first'],
    [['2026-01-01T12:00Z 5', '2026-01-31T23:59:59.999Z 7 JPY'], '2026-02-01', '7 JPY', 'set just before the month'],
    [['2026-01-01T12:00Z 5', '2026-02-01T00:00:00.000Z 7 JPY'], '2026-02-01', '5 EUR', 'set as it begins: too late'],
    [['2026-01-01T12:00Z 5', '2026-02-01T00:00:00.000Z 7 JPY'], '2026-03-01', '7 JPY', 'for that month'],
    [
      ['2026-01-01T12:00Z 5', '2026-01-10T12:00Z 700 JPY', '2026-01-20T12:00Z 6'],
      '2026-01-25',
      '6 EUR',
      'a change of mind within the month',
    ],
    [
      ['2026-01-01T12:00Z 5', '2026-01-10T12:00Z 700 JPY', '2026-01-20T12:00Z 6'],
      '2026-02-01',
      '6 EUR',
      'after which nothing of the yen is left',
    ],
    [['2026-01-10T12:00Z 700 JPY', '2026-01-11T12:00Z 5'], '2026-01-20', '700 JPY', 'the first counts at once'],
    [['2026-01-10T12:00Z 700 JPY', '2026-01-11T12:00Z 5'], '2026-02-20', '5 EUR', 'another one as always'],
  ])('%j on %s: %s (%s)', (settings, day, expected) => {
    const { price, currency } = priceOfNight(recorded(...settings), day);
    expect(`${price} ${currency}`).toBe(expected);
  });

  test('there is none before a price is on record', () => {
    expect(() => priceOfNight(NOTHING, '2026-01-10')).toThrow('No price is recorded yet');
  });
});

describe('recording a price', () => {
  const eur = (price: string): { price: string; currency: string } => ({ price, currency: 'EUR' });
  const NOW = at('2026-01-10T12:00Z');

  test('the first is an entry of now, and the same price adds none', () => {
    const first = withPrice(NOTHING, eur('5'), NOW, undefined);
    expect(first).toEqual(recorded('2026-01-10T12:00Z 5'));
    expect(withPrice(first, eur('5'), NOW + HOUR_MS, undefined)).toBe(first);
  });

  test('another price, another writing of it, and another currency each add one; unknown fields stay', () => {
    let record: PricesRecord = { ...recorded('2026-01-01T12:00Z 5'), later: 'version' };
    for (const [index, next] of [eur('6'), eur('6.00'), { price: '6.00', currency: 'USD' }].entries()) {
      record = withPrice(record, next, NOW + index * 24 * HOUR_MS, undefined);
      expect(record.entries.at(-1)).toMatchObject(next);
    }
    expect(record.entries).toHaveLength(4);
    expect(record).toMatchObject({ later: 'version' });
  });

  test('a clock that is a little behind keeps the order', () => {
    const record = withPrice(recorded('2026-01-10T12:00:00.500Z 5'), eur('6'), NOW, undefined);
    expect(record).toEqual(recorded('2026-01-10T12:00:00.500Z 5', '2026-01-10T12:00:00.500Z 6'));
    expect(priceOfNight(record, '2026-01-10')).toEqual(eur('6'));
  });

  test('an entry of a clock that stood far ahead does not hold for ever', () => {
    const record = recorded('2026-01-01T12:00Z 5', '2099-01-01T12:00Z 6');
    expect(withPrice(record, eur('6'), NOW, undefined)).toEqual(recorded('2026-01-01T12:00Z 5', '2026-01-10T12:00Z 6'));
    expect(withPrice(record, eur('5'), NOW, undefined)).toEqual(recorded('2026-01-01T12:00Z 5'));
  });

  test('more changes than the bound are refused while their nights are not metered, and pass when they are', () => {
    let record: PricesRecord = NOTHING;
    const noon = (index: number): number => NOW + index * 24 * HOUR_MS;
    for (let index = 0; index < PRICE_ENTRIES_MAX; index += 1) {
      record = withPrice(record, eur(String(index)), noon(index), undefined);
    }
    const next = noon(PRICE_ENTRIES_MAX);
    expect(record.entries).toHaveLength(PRICE_ENTRIES_MAX);
    expect(() => withPrice(record, eur('new'), next, undefined)).toThrow('The price changed more than 1000 times');
    expect(() => withPrice(record, eur('new'), next, dayAt(noon(10)))).toThrow(
      'The price changed more than 1000 times',
    );
    const shorter = withPrice(record, eur('new'), next, dayAt(noon(500)));
    expect(shorter.entries.length).toBeLessThan(PRICE_ENTRIES_MAX - 400);
    expect(shorter.entries.at(-1)).toEqual({ since: next, ...eur('new') });
  });

  /** Hours between settings; a price and a currency; how many nights are metered by then. */
  const settings = fc.array(
    fc.tuple(fc.integer({ min: 0, max: 400 }), fc.constantFrom('1', '2', '3'), fc.constantFrom('EUR', 'USD')),
    { minLength: 1, maxLength: 40 },
  );

  test('no night needed the entries that are merged or removed', () => {
    fc.assert(
      fc.property(settings, (drawn) => {
        let now = at('2026-01-01T00:00Z');
        let record: PricesRecord = NOTHING;
        const every: { since: number; price: string; currency: string }[] = [];
        for (const [hours, price, currency] of drawn) {
          now += hours * HOUR_MS;
          record = withPrice(record, { price, currency }, now, undefined);
          const last = every.at(-1);
          if (last?.price !== price || last.currency !== currency) every.push({ since: now, price, currency });
        }
        for (let night = at('2026-01-01T00:00Z'); night <= now + 40 * 24 * HOUR_MS; night += 24 * HOUR_MS) {
          const day = dayAt(night);
          expect(priceOfNight(record, day)).toEqual(priceOfNight({ entries: every }, day));
        }
      }),
    );
  });

  test('a record that is cut at its bound has the same price for each night to come', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 990 }), fc.integer({ min: 13, max: 40 }), (metered, hours) => {
        const entries = Array.from({ length: PRICE_ENTRIES_MAX }, (_, index) => ({
          since: NOW + index * hours * HOUR_MS,
          price: String(index),
          currency: index % 7 < 5 ? 'EUR' : 'USD',
        }));
        const last = NOW + PRICE_ENTRIES_MAX * 40 * HOUR_MS;
        const through = dayAt(NOW + metered * hours * HOUR_MS);
        const next = { price: 'new', currency: 'EUR' };
        const whole = { entries: [...entries, { since: last, ...next }] };
        let cut: PricesRecord;
        try {
          cut = withPrice({ entries }, next, last, through);
        } catch {
          return fc.pre(false);
        }
        for (let end = endOfDay(through); end < last; end += 7 * 24 * HOUR_MS) {
          expect(priceOfNight(cut, dayAt(end))).toEqual(priceOfNight(whole, dayAt(end)));
        }
      }),
      { numRuns: runs(20) },
    );
  });
});

onEachStore('prices in the store', (stores) => {
  let store: Store;
  beforeEach(async () => {
    store = await stores.open();
  });
  afterEach(() => store[Symbol.asyncDispose]());

  const price = { price: '5.00', currency: 'EUR' };
  const NOW = at('2026-01-10T12:00Z');

  test('there are none at first, and what is recorded is read', async () => {
    expect(await readPrices(store)).toEqual(NOTHING);
    expect(await recordPrice(store, price, NOW, [])).toBe('recorded');
    expect(await recordPrice(store, price, NOW + 1, [])).toBe('unchanged');
    expect(await readPrices(store)).toEqual({ entries: [{ since: NOW, ...price }] });
  });

  test('a leader of the past records nothing', async () => {
    await store.commit({ expect: [expectAbsent(KEYS.leader())], write: [rawPut(KEYS.leader(), {})] });
    const revision = (await store.get(KEYS.leader()))?.revision ?? 0;
    expect(await recordPrice(store, price, NOW, [expectRevision(KEYS.leader(), revision + 1)])).toBe('conflict');
    expect(await readPrices(store)).toEqual(NOTHING);
    expect(await recordPrice(store, price, NOW, [expectRevision(KEYS.leader(), revision)])).toBe('recorded');
  });

  test('one of two at once records, and nothing is lost', async () => {
    const other = { price: '6.00', currency: 'EUR' };
    const outcomes = await Promise.all([price, other].map((each) => recordPrice(store, each, NOW, [])));
    expect(outcomes).toContain('recorded');
    const { entries } = await readPrices(store);
    expect(entries).toHaveLength(outcomes.filter((outcome) => outcome === 'recorded').length);
  });

  const other = { price: '6.00', currency: 'EUR' };
  const day = (today: string): Promise<unknown> =>
    store.get(KEYS.day()).then((entry) =>
      store.commit({
        expect: [expectRevision(KEYS.day(), entry?.revision ?? ABSENT)],
        write: [put(KEYS.day(), { day: today, since: '2026-01-01' })],
      }),
    );

  test('a clock that is behind changes the price of no day that has ended', async () => {
    await recordPrice(store, price, NOW, []);
    await day('2026-01-11');
    expect(await recordPrice(store, other, at('2026-01-10T23:59:50Z'), [])).toBe('recorded');
    const record = await readPrices(store);
    expect(record.entries.at(-1)?.since).toBe(at('2026-01-11T00:00Z'));
    expect(['2026-01-10', '2026-01-11'].map((night) => priceOfNight(record, night).price)).toEqual(['5.00', '6.00']);
  });

  test('a price that was on its way when the day ended is recorded anew, for the next night', async () => {
    await day('2026-01-10');
    await recordPrice(store, price, NOW, []);
    const stalled = wrappedStore(store, {
      commit: async (change) => {
        await day('2026-01-11');
        return await store.commit(change);
      },
    });
    expect(await recordPrice(stalled, other, endOfDay('2026-01-10') - 1, [])).toBe('conflict');
    expect((await readPrices(store)).entries).toHaveLength(1);
  });
});
