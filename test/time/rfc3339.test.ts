import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instantOf } from '../../src/time/rfc3339.ts';
import { runs } from '../support/run/effort.ts';

const AT = Date.UTC(2027, 0, 31, 9, 30, 5, 120);

describe('instantOf', () => {
  test.each([
    ['2027-01-31T09:30:05.120Z', AT],
    ['2027-01-31t09:30:05.12z', AT],
    ['2027-01-31T09:30:05.120999999999+00:00', AT],
    ['2027-01-31T09:30:05.12-00:00', AT],
    ['2027-01-31T10:30:05.12+01:00', AT],
    ['2027-01-31T00:00:05.12-09:30', AT],
    ['2027-01-31T09:30:05Z', AT - 120],
    ['2027-02-01T09:29:05.12+23:59', AT],
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
    ['2017-01-01T00:59:60.5+01:00', Date.UTC(2017, 0, 1) + 500],
    ['9999-12-31T23:59:59.999Z', Date.UTC(9999, 11, 31, 23, 59, 59, 999)],
  ])('reads %s', (text, at) => {
    expect(instantOf(text)).toBe(at);
  });

  test.each([
    '2027-01-31T09:30:05',
    '2027-01-31 09:30:05Z',
    '2027-01-31',
    '2027-01-31T09:30Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T09:60:00Z',
    '2027-01-31T09:30:61Z',
    '2027-01-31T09:30:60Z',
    '2027-01-31T23:59:60+01:00',
    '2027-02-29T00:00:00Z',
    '2027-04-31T00:00:00Z',
    '2027-13-01T00:00:00Z',
    '2027-01-00T00:00:00Z',
    '2027-01-31T09:30:05.Z',
    '2027-01-31T09:30:05+1:00',
    '2027-01-31T09:30:05+0100',
    '2027-01-31T09:30:05+24:00',
    '+02027-01-31T09:30:05Z',
    '9999-12-31T23:59:59-00:01',
    '9999-12-31T23:59:60Z',
    '0000-01-01T00:00:00+00:01',
    '2027-01-31T09:30:05Z ',
    `2027-01-31T09:30:05.${'1'.repeat(31)}Z`,
    '',
  ])('refuses %j', (text) => {
    expect(instantOf(text)).toBeUndefined();
  });

  test('reads every instant with every offset', () => {
    const instants = fc.integer({ min: Date.UTC(1, 0, 2), max: Date.UTC(9999, 11, 30) });
    fc.assert(
      fc.property(instants, fc.integer({ min: -1439, max: 1439 }), (at, ahead) => {
        const two = (value: number): string => String(Math.trunc(Math.abs(value))).padStart(2, '0');
        const there = new Date(at + ahead * 60_000).toISOString().replace('Z', '');
        expect(instantOf(`${there}${ahead < 0 ? '-' : '+'}${two(ahead / 60)}:${two(ahead % 60)}`)).toBe(at);
      }),
      { numRuns: runs(500) },
    );
  });
});
