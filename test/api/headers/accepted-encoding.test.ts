import fc from 'fast-check';
import { expect, test } from 'vitest';
import { takesGzip } from '../../../src/api/headers/accepted-encoding.ts';

const asked = (field: string | undefined): boolean =>
  takesGzip({ headers: field === undefined ? {} : { 'accept-encoding': field } });

test.each<[string | undefined, boolean, string]>([
  [undefined, false, 'a client that says nothing'],
  ['', false, 'none'],
  ['gzip', true, 'it alone'],
  ['br, GZIP', true, 'it among others, in any case'],
  ['*', true, 'any'],
  ['gzip;q=0.2, identity', false, 'less than the answer as it is'],
  ['gzip;q=0.5, identity;q=0.1', true, 'more than the answer as it is'],
  ['gzip;q=0', false, 'not it'],
  ['gzip; q=0.000', false, 'not it, with digits'],
  ['*;q=0', false, 'none at all'],
  ['br, *;q=0', false, 'none but another'],
  ['gzip;q=0, *', false, 'any but it'],
  ['identity', false, 'as it is'],
  ['xgzip', false, 'another with its name in it'],
])('Accept-Encoding %s: %s (%s)', (field, takes) => {
  expect(asked(field)).toBe(takes);
});

test('no field is too odd for an answer', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('gzip', '*', ';', 'q=', '0', '.', '1', ',', ' ', '"', '\\', 'br') }),
      (field) => {
        expect(typeof asked(field)).toBe('boolean');
      },
    ),
  );
});
