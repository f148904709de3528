import { nightsIn } from '../../time/utc-days.ts';
import type { LedgerRecord } from '../records/metering-records.ts';
import { Refusal } from '../refusal.ts';

/* M5, ADR 0009: a sum is exact until the end, and rounded once per account, half up. */

/** A sum of daemon-nights, and money in minor units of the currency (cents). Both are safe integers. */
export interface Amount {
  readonly daemonNights: number;
  readonly amountMinor: number;
}

/** The fields of a ledger record that an amount is made of. */
export type BilledNight = Pick<LedgerRecord, 'activeDaemons' | 'price' | 'currency'>;

/** Prices have at most 6 digits after the point: as millionths they are whole numbers. */
const MILLIONTHS = 1_000_000n;

/**
 * Returns one account's amount of a month: Σ (daemons of the night × that night's monthly price) ÷ the month's nights
 * (28 to 31).
 * @param nights the account's nights of that month, all in that currency
 * @throws Error for a price or currency that no ledger may hold; Refusal `invalid_request` above 2^53 − 1
 */
export function amountOf(month: string, currency: string, nights: readonly BilledNight[]): Amount {
  const daemonNights = nights.reduce((sum, { activeDaemons }) => sum + BigInt(activeDaemons), 0n);
  const millionths = runningSums(month, currency, nights).at(-1) ?? 0n;
  return { daemonNights: exactly(daemonNights), amountMinor: minorOf(millionths, month, currency) };
}

/**
 * Returns each night's part of its account's amount, in minor units: the rounded sum up to that night less the one
 * before it. The parts add up to `amountOf`, and a night that comes later changes none of them.
 * @param nights as for `amountOf`, in the order of their days. @throws as `amountOf`
 */
export function amountsOfNights(month: string, currency: string, nights: readonly BilledNight[]): readonly number[] {
  const sums = runningSums(month, currency, nights).map((millionths) => minorOf(millionths, month, currency));
  return sums.map((sum, at) => sum - (sums[at - 1] ?? 0));
}

/** Σ daemons × price of the first night, the first two, and so on, in millionths. */
function runningSums(month: string, currency: string, nights: readonly BilledNight[]): bigint[] {
  let millionths = 0n;
  return nights.map(({ activeDaemons, price, currency: own }) => {
    if (own !== currency) throw new Error(`The ledger of ${month} has ${own} beside ${currency}.`);
    millionths += BigInt(activeDaemons) * millionthsOf(price);
    return millionths;
  });
}

const minorOf = (millionths: bigint, month: string, currency: string): number =>
  exactly(dividedHalfUp(millionths * 10n ** BigInt(minorDigits(currency)), BigInt(nightsIn(month)) * MILLIONTHS));

/** M5: a total is the sum of its accounts' rounded amounts. @throws Refusal `invalid_request` above 2^53 − 1 */
export function totalOf(amounts: readonly Amount[]): Amount {
  const sum = (field: keyof Amount): number =>
    exactly(amounts.reduce((total, amount) => total + BigInt(amount[field]), 0n));
  return { daemonNights: sum('daemonNights'), amountMinor: sum('amountMinor') };
}

/** Whether two prices are the same amount of money: `5` is `5.00`. */
export const samePrice = (one: string, other: string): boolean => millionthsOf(one) === millionthsOf(other);

/**
 * A cache: asking Intl takes longer than an account's whole statement. It is bounded by the number of currency codes.
 */
const digitsOf = new Map<string, number>();

/** The digits after the point of a currency: 2 for EUR, 0 for JPY, 3 for KWD. @throws RangeError for what is no code */
function minorDigits(currency: string): number {
  let digits = digitsOf.get(currency);
  if (digits === undefined) {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency });
    digits = format.resolvedOptions().maximumFractionDigits ?? 2;
    digitsOf.set(currency, digits);
  }
  return digits;
}

/** A safe integer of minor units as a decimal number: 1550 of EUR is `15.50`. */
export function money(minor: number, currency: string): string {
  const digits = minorDigits(currency);
  if (digits === 0) return String(minor);
  const text = String(minor).padStart(digits + 1, '0');
  return `${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

function millionthsOf(price: string): bigint {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,6}))?$/.exec(price) ?? [];
  if (whole === undefined) throw new Error('A price of the ledger is no decimal number of at most 6 digits.');
  return BigInt(whole) * MILLIONTHS + BigInt(fraction.padEnd(6, '0'));
}

/** Divides two numbers that are not negative. */
const dividedHalfUp = (dividend: bigint, divisor: bigint): bigint => (2n * dividend + divisor) / (2n * divisor);

/** Most readers of JSON parse a number as a double: above 2^53 − 1 the last digits of a bill would be wrong. */
function exactly(sum: bigint): number {
  if (sum > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw new Refusal('invalid_request', 'The sum is above 2^53 − 1, which JSON cannot carry: ask for fewer accounts.');
  }
  return Number(sum);
}
