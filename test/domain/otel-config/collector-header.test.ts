import { readFileSync } from 'node:fs';
import { validateHeaderName, validateHeaderValue } from 'node:http';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { authHeaderFault, collectorHeaders } from '../../../src/domain/otel-config/collector-header.ts';
import { runs } from '../../support/run/effort.ts';

interface HeaderVector {
  readonly id: string;
  readonly value: unknown;
  readonly result: 'set' | 'delete' | 'reject';
  readonly why: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../vectors/auth-header.json', import.meta.url), 'utf8'),
) as HeaderVector[];

const judge = (value: unknown) => (typeof value === 'string' ? authHeaderFault(value) : 'not a string');

describe('the shared vectors', () => {
  test.each(vectors.map((vector) => [vector.id, vector.result, vector.why, vector] as const))(
    '%s → %s (%s)',
    (_id, result, _why, { value }) => {
      expect(judge(value) === undefined).toBe(result !== 'reject');
    },
  );
});

describe('O7: which values reach every collector as they were stored', () => {
  test.each([
    ['', true, 'the empty string deletes: the caller sees to it'],
    ['!', true, 'first printable character after the space'],
    ['~', true, 'last printable character'],
    ['a\u007fb', false, 'DEL, the character after it'],
    ['a\u001fb', false, 'the character before the space'],
    ['a  b', true, 'spaces inside stay'],
    [' a', false, 'a leading space is stripped on the way'],
    ['a ', false, 'and so is a trailing one'],
    [' ', false, 'a space alone is both'],
    ['a\n', false, 'a newline at the very end, where a careless "$" still matches'],
    ['a\rb', false, 'CR alone ends a line for some parsers'],
    ['a\nb', false, 'and so does LF'],
    ['a\u0000b', false, 'NUL'],
    ['a\tb', false, 'a tab is HTTP, and refused as gRPC metadata'],
    ['a\u0085b', false, 'a C1 control character'],
    ['a\u00a0', false, 'a no-break space'],
    ['é', false, 'Latin-1, which HTTP calls obsolete'],
    ['a\u0130b', false, 'would become 0x30 where parsers keep only the low byte'],
    ['😀', false, 'beyond the basic plane'],
    ['\ud800', false, 'half a pair'],
    ['x'.repeat(8192), true, 'exactly 8192 characters'],
    ['x'.repeat(8193), false, 'one beyond'],
    [`X-Key: ${'x'.repeat(8185)}`, true, 'a name counts as part of the value: 8192 together'],
    [`X-Key: ${'x'.repeat(8186)}`, false, 'and one beyond'],
  ])('%.40j → %s (%s)', (value, acceptable) => {
    expect(authHeaderFault(value) === undefined).toBe(acceptable);
  });
});

test.each([['hunter2\nhunter2'], [' hunter2'], ['hunter2 '], ['hunter2'.repeat(2000)], ['hünter2 hunter2']])(
  'the sentence about %.20j does not repeat it',
  (value) => {
    expect(authHeaderFault(value)).toMatch(/^authHeader .+\.$/);
    expect(authHeaderFault(value)).not.toMatch(/h.nter2/);
  },
);

const LONGEST_NAME = `A${'b'.repeat(63)}`;

describe('O7: under which name a value is delivered', () => {
  test.each<[string, Record<string, string>, string]>([
    ['Bearer abc', { Authorization: 'Bearer abc' }, 'no name'],
    ['x', { Authorization: 'x' }, 'one character'],
    ['X-Api-Key: abc', { 'X-Api-Key': 'abc' }, 'a name of its own'],
    ['Authorization: Bearer abc', { Authorization: 'Bearer abc' }, 'pasted with the name it would have anyway'],
    ['authorization: Bearer abc', { authorization: 'Bearer abc' }, 'the name stays as it was sent'],
    ['X-Key: a: b', { 'X-Key': 'a: b' }, 'split once, at the first colon'],
    ['X-Key: :', { 'X-Key': ':' }, 'the value may be a colon'],
    ['X-Key:  a b', { 'X-Key': 'a b' }, 'more spaces after the colon are no part of the value'],
    ['X-Key:abc', { Authorization: 'X-Key:abc' }, 'no space, no split'],
    ['X-Key : abc', { Authorization: 'X-Key : abc' }, 'a space before the colon'],
    ['X-Key:', { Authorization: 'X-Key:' }, 'a name without a value'],
    [': abc', { Authorization: ': abc' }, 'an empty name'],
    ['Bearer a: b', { Authorization: 'Bearer a: b' }, 'a colon later on'],
    ['X_Key: abc', { Authorization: 'X_Key: abc' }, 'proxies drop names with an underscore'],
    ['1Key: abc', { Authorization: '1Key: abc' }, 'a name begins with a letter'],
    ['-Key: abc', { Authorization: '-Key: abc' }, 'not with a hyphen'],
    ['K9-: abc', { 'K9-': 'abc' }, 'inside and at the end both may stand'],
    ['k: abc', { k: 'abc' }, 'a name of one letter'],
    [`${LONGEST_NAME}: abc`, { [LONGEST_NAME]: 'abc' }, 'a name of 64 characters'],
    [`${LONGEST_NAME}b: abc`, { Authorization: `${LONGEST_NAME}b: abc` }, 'a name of 65 characters'],
    ['__proto__: abc', { Authorization: '__proto__: abc' }, 'no header name'],
    ['constructor: abc', { constructor: 'abc' }, 'a header name like any other'],
    ['toString: abc', { toString: 'abc' }, 'and so is this'],
  ])('%.40j → %.60j (%s)', (value, headers) => {
    expect(Object.entries(collectorHeaders(value))).toEqual(Object.entries(headers));
  });

  test.each([
    ['Host'],
    ['HOST'],
    ['Content-Length'],
    ['content-type'],
    ['Content-Encoding'],
    ['Content-'],
    ['Transfer-Encoding'],
    ['Connection'],
    ['TE'],
    ['Trailer'],
    ['Upgrade'],
    ['Expect'],
    ['Keep-Alive'],
    ['Proxy-Authorization'],
    ['proxy-connection'],
    ['Proxy-'],
  ])('%s frames or routes the request and is never split off', (name) => {
    expect(collectorHeaders(`${name}: 1`)).toEqual({ Authorization: `${name}: 1` });
  });

  test.each([
    ['X-Host'],
    ['Hosts'],
    ['Content'],
    ['X-Content-Type'],
    ['Contents-Key'],
    ['Tea'],
    ['Late'],
    ['Trailers'],
    ['Upgrade-Key'],
    ['Expected'],
    ['Keep-Alive-Key'],
    ['Connections'],
    ['Proxy'],
    ['Proxykey'],
    ['X-Transfer-Encoding'],
  ])('%s only resembles one of them', (name) => {
    expect(collectorHeaders(`${name}: 1`)).toEqual({ [name]: '1' });
  });
});

const printable = (lengths: fc.StringConstraints) => fc.string({ unit: 'grapheme-ascii', ...lengths });
const named = fc
  .tuple(fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,66}$/), fc.constantFrom(':', ': ', ':  ', ' : '), printable({}))
  .map((parts) => parts.join(''));
const accepted = fc
  .oneof(printable({ minLength: 1 }), named)
  .filter((value) => value !== '' && authHeaderFault(value) === undefined);

test('whatever is accepted is delivered as one header that HTTP can carry, with nothing of it lost', () => {
  fc.assert(
    fc.property(accepted, (value) => {
      const entries = Object.entries(collectorHeaders(value));
      expect(entries).toHaveLength(1);
      for (const [name, delivered] of entries) {
        validateHeaderName(name);
        validateHeaderValue(name, delivered);
        // A value from an HTTP parser has no outer spaces: it has to be the value that we sent.
        expect(delivered).toBe(delivered.trim());
        expect(delivered).not.toBe('');
        expect(value.endsWith(delivered)).toBe(true);
        expect(new Headers({ [name]: delivered }).get(name)).toBe(delivered);
      }
    }),
    { seed: 1, numRuns: runs(300) },
  );
});

test('one character outside printable ASCII spoils any value, wherever it stands', () => {
  const foreign = fc.oneof(fc.integer({ min: 0, max: 0x1f }), fc.integer({ min: 0x7f, max: 0xffff }));
  fc.assert(
    fc.property(printable({}), foreign, printable({}), (before, code, after) => {
      expect(authHeaderFault(before + String.fromCharCode(code) + after)).toBeTypeOf('string');
    }),
    { seed: 1, numRuns: runs(100) },
  );
});
