import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  amountOf,
  amountsOfNights,
  samePrice,
  totalOf,
  type BilledNight,
} from '../../../src/domain/metering/amount.ts';
import { runs } from '../../support/run/effort.ts';

const night = (activeDaemons: number, price = '1.00', currency = 'EUR'): BilledNight => ({
  activeDaemons,
  price,
  currency,
});
const nights = (count: number, activeDaemons: number, price?: string, currency?: string): BilledNight[] =>
  Array.from({ length: count }, () => night(activeDaemons, price, currency));

describe('an account and its month', () => {
  test.each<[string, BilledNight[], number, number, string]>([
    ['2026-01', [], 0, 0, 'no night'],
    ['2026-01', nights(31, 0, '5.00'), 0, 0, 'nights of zero'],
    ['2026-01', nights(31, 7, '5.00'), 217, 3500, 'a whole month is the monthly price of each daemon'],
    ['2026-02', nights(28, 1, '5.00'), 28, 500, 'a February of 28 nights'],
    ['2024-02', nights(29, 1, '5.00'), 29, 500, 'a February of 29'],
    ['2000-02', nights(29, 1, '5.00'), 29, 500, 'a century that leaps'],
    ['2026-04', nights(30, 1, '5.00'), 30, 500, 'a month of 30'],
    ['2024-02', nights(28, 1, '5.00'), 28, 483, '28 nights of 29: 482.76'],
    ['2026-04', nights(1, 1, '0.15'), 1, 1, 'exactly half a cent is rounded up'],
    ['2026-04', nights(1, 1, '0.149999'), 1, 0, 'a millionth below it is rounded down'],
    ['2026-04', nights(3, 1, '0.05'), 3, 1, 'three sixths of a cent are half of one: rounded once, not each night'],
    ['2026-04', [night(1, '0.10'), night(1, '0.20')], 2, 1, 'each night has its own price'],
    ['2026-04', nights(30, 1, '0.000001'), 30, 0, 'the smallest price'],
    ['2026-04', nights(30, 500_000, '0.000001'), 15_000_000, 50, 'adds up'],
    ['2026-04', nights(30, 3, '0.1'), 90, 30, 'a tenth, which no double has: 0.1 × 3 is not 0.3'],
  ])('%s, %#: Σ daemon-nights and cents (%5$s)', (month, ledger, daemonNights, amountMinor) => {
    expect(amountOf(month, 'EUR', ledger)).toEqual({ daemonNights, amountMinor });
  });

  test.each([
    ['JPY', '700', 700, 'a currency without minor units'],
    ['EUR', '700', 70_000, 'with cents'],
    ['KWD', '700', 700_000, 'with three digits'],
    ['CLF', '700', 7_000_000, 'with four'],
  ])('a daemon of %s %s a month is %i in minor units (%s)', (currency, price, amountMinor) => {
    expect(amountOf('2026-04', currency, nights(30, 1, price, currency)).amountMinor).toBe(amountMinor);
  });

  test('the largest amount that JSON carries passes, and one unit more is refused in words', () => {
    const max = String(Number.MAX_SAFE_INTEGER);
    expect(amountOf('2026-04', 'JPY', nights(30, 1, max, 'JPY')).amountMinor).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => amountOf('2026-04', 'JPY', nights(30, 1, '9007199254740992', 'JPY'))).toThrow('2^53 − 1');
  });

  test.each(['-1', '1e3', '1.', '.5', '1.0000001', ' 1', '', '0x10', 'NaN'])('%j is no price', (price) => {
    expect(() => amountOf('2026-04', 'EUR', [night(1, price)])).toThrow('no decimal number');
  });

  test('two currencies in one month are not added up', () => {
    expect(() => amountOf('2026-04', 'EUR', [night(1), night(1, '1.00', 'USD')])).toThrow('USD beside EUR');
  });
});

describe('the parts of its nights', () => {
  test.each<[BilledNight[], number[], string]>([
    [[], [], 'no night'],
    [
      nights(3, 1, '0.05'),
      [0, 0, 1],
      'three sixths of a cent: the cent is of the night in which the sum reaches a half',
    ],
    [nights(3, 1, '0.10'), [0, 1, 0], 'three thirds of a cent are one, not three nights of none'],
    [[night(1, '3.00'), night(2, '3.00')], [10, 20], 'whole cents are those of each night'],
    [[night(1, '3.00'), night(1, '6.00')], [10, 20], 'each night has its own price'],
  ])('%# are %j (%s)', (ledger, parts) => {
    expect(amountsOfNights('2026-04', 'EUR', ledger)).toEqual(parts);
  });

  test('add up to the amount of the account, and a later night changes none of them', () => {
    const price = fc.integer({ min: 0, max: 9_999_999 }).map((millionths) => (millionths / 1e6).toFixed(6));
    const ledger = fc.array(fc.record({ activeDaemons: fc.nat(5000), price, currency: fc.constant('EUR') }), {
      maxLength: 30,
    });
    fc.assert(
      fc.property(ledger, (all) => {
        const parts = amountsOfNights('2026-04', 'EUR', all);
        expect(parts.reduce((sum, part) => sum + part, 0)).toBe(amountOf('2026-04', 'EUR', all).amountMinor);
        expect(amountsOfNights('2026-04', 'EUR', all.slice(0, -1))).toEqual(parts.slice(0, -1));
      }),
      { numRuns: runs(200) },
    );
  });
});

test('a total is the sum of the rounded accounts, not the rounded sum', () => {
  const half = amountOf('2026-04', 'EUR', nights(1, 1, '0.15'));
  expect(totalOf([half, half, half])).toEqual({ daemonNights: 3, amountMinor: 3 });
  expect(totalOf([])).toEqual({ daemonNights: 0, amountMinor: 0 });
});

test('a total above what JSON carries is refused, though no account is', () => {
  const most = { daemonNights: 1, amountMinor: Number.MAX_SAFE_INTEGER };
  expect(totalOf([most])).toEqual(most);
  expect(() => totalOf([most, { daemonNights: 0, amountMinor: 1 }])).toThrow('2^53 − 1');
});

test.each([
  ['5', '5.00', true],
  ['5', '5.000001', false],
  ['05.1', '5.100000', true],
  ['0', '0.00', true],
])('%s and %s are the same price: %s', (one, other, same) => {
  expect(samePrice(one, other)).toBe(same);
});

/* Against another way of reckoning: long division on digits, night by night as fractions of one denominator. */

const CURRENCIES = { JPY: 0, EUR: 2, KWD: 3 } as const;
type Currency = keyof typeof CURRENCIES;

/** The decimal as a reduced fraction, made from its text with a power of ten. */
function fractionOf(decimal: string): readonly [bigint, bigint] {
  const [whole = '', fraction = ''] = decimal.split('.');
  return [BigInt(whole + fraction), 10n ** BigInt(fraction.length)];
}

/** Adds fractions one by one, on the product of their denominators; rounds by looking at twice the remainder. */
function reference(daysInMonth: number, currency: Currency, ledger: readonly BilledNight[]): bigint {
  let sum: readonly [bigint, bigint] = [0n, 1n];
  for (const { activeDaemons, price } of ledger) {
    const [over, under] = fractionOf(price);
    const [a, b] = sum;
    const [c, d] = [over * BigInt(activeDaemons), under * BigInt(daysInMonth)];
    const divisor = greatestCommonDivisor(a * d + c * b, b * d);
    sum = [(a * d + c * b) / divisor, (b * d) / divisor];
  }
  let [rest, unit] = sum;
  for (let digit = 0; digit < CURRENCIES[currency]; digit += 1) rest *= 10n;
  const whole = rest / unit;
  rest %= unit;
  return rest + rest >= unit ? whole + 1n : whole;
}

const greatestCommonDivisor = (a: bigint, b: bigint): bigint => (b === 0n ? a || 1n : greatestCommonDivisor(b, a % b));

const months = fc.constantFrom(['2026-01', 31], ['2026-02', 28], ['2024-02', 29], ['2026-04', 30]) as fc.Arbitrary<
  readonly [string, number]
>;
const prices = fc.oneof(
  fc.constantFrom('0', '0.15', '0.05', '0.000001', '0.499999', '2.50', '1.005'),
  fc
    .tuple(fc.bigInt(0n, 999_999_999n), fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 999_999 }))
    .map(([whole, digits, fraction]) =>
      digits === 0 ? String(whole) : `${whole}.${String(fraction).padStart(6, '0').slice(0, digits)}`,
    ),
);
const ledgers = fc.array(fc.tuple(fc.oneof(fc.nat(3), fc.nat(1000)), prices), { maxLength: 31 });
const currencies = fc.constantFrom(...(Object.keys(CURRENCIES) as Currency[]));

test('every amount is the rational one, rounded once, half up', () => {
  fc.assert(
    fc.property(months, currencies, ledgers, ([month, days], currency, drawn) => {
      const ledger = drawn.map(([daemons, price]) => night(daemons, price, currency));
      expect(BigInt(amountOf(month, currency, ledger).amountMinor)).toBe(reference(days, currency, ledger));
    }),
    { numRuns: runs(200) },
  );
});

test('an amount does not depend on the order of the nights', () => {
  fc.assert(
    fc.property(months, ledgers, ([month], drawn) => {
      const ledger = drawn.map(([daemons, price]) => night(daemons, price));
      expect(amountOf(month, 'EUR', ledger.toReversed())).toEqual(amountOf(month, 'EUR', ledger));
    }),
  );
});
