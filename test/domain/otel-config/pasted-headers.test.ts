import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { authHeaderFault, collectorHeaders } from '../../../src/domain/otel-config/collector-header.ts';
import { pastedHeaders } from '../../../src/domain/otel-config/pasted-headers.ts';
import { runs } from '../../support/run/effort.ts';

describe('the form of OTEL_EXPORTER_OTLP_HEADERS', () => {
  test.each([
    ['Authorization=Basic%20dXNlcjpwYXNz', 'Basic dXNlcjpwYXNz', 'as a vendor shows it'],
    ['authorization=Bearer%20abc', 'Bearer abc', 'a name in small letters'],
    ['Authorization=Basic%20dXNlcg%3D%3D', 'Basic dXNlcg==', 'the padding of Base64, encoded'],
    ['Authorization=Basic dXNlcg==', 'Basic dXNlcg==', 'and as it is, where nothing was encoded'],
    ['Authorization=abc', 'abc', 'nothing to decode'],
    ['api-key=abc%2Cdef', 'api-key: abc,def', 'a header of its own, whose value has a comma'],
    ['x-token=a=b', 'x-token: a=b', 'an equals sign within the value'],
    [' Authorization = Bearer%20abc ', 'Bearer abc', 'blanks around name and value'],
    ['Authorization=Bearer%20abc,', 'Bearer abc', 'a comma at its end'],
    ['Authorization=X-Key%3A%20abc', 'Authorization: X-Key: abc', 'a value that would be taken for a named header'],
    ['OTEL_EXPORTER_OTLP_HEADERS=Authorization=Basic%20abc', 'Basic abc', 'with the variable'],
    ['export OTEL_EXPORTER_OTLP_HEADERS="Authorization=Basic%20abc"', 'Basic abc', 'as a shell sets it'],
    ["  - OTEL_EXPORTER_OTLP_TRACES_HEADERS='Authorization=Basic%20abc'\n", 'Basic abc', 'in a list of Compose'],
    ['OTEL_EXPORTER_OTLP_HEADERS: "api-key=abc"', 'api-key: abc', 'in YAML'],
    ['$env:OTEL_EXPORTER_OTLP_HEADERS = "api-key=abc"', 'api-key: abc', 'in PowerShell'],
    ['"Authorization=Basic%20abc"', 'Basic abc', 'in quotation marks'],
    ['Authorization="Basic abc"', 'Basic abc', 'a value in quotation marks'],
    ['Authorization=%22abc%22', '"abc"', 'quotation marks of the value itself'],
    ["x-token='abc'", "x-token: 'abc'", 'and those that nobody encodes'],
    [`k=${'%41'.repeat(8189)}`, `k: ${'A'.repeat(8189)}`, 'the longest header'],
  ])('%.40j is %.40j (%s)', (text, decoded) => {
    const pasted = pastedHeaders(text);
    expect(pasted?.decoded).toBe(decoded);
    expect(pasted?.names).toHaveLength(1);
  });

  test.each([
    ['Authorization=Basic%20abc,X-Scope-OrgID=7', ['Authorization', 'X-Scope-OrgID']],
    ['a=1, b=2 ,c=3', ['a', 'b', 'c']],
    ['Authorization=Basic%20abc,X_Scope=1', ['Authorization', 'X_Scope']],
    ['Authorization=Basic%20abc,Host=example.com,x=%2', ['Authorization', 'Host', 'x']],
    ['a=1\nb=2\r\n', ['a', 'b']],
    ["export OTEL_EXPORTER_OTLP_HEADERS='a=1,b=2'", ['a', 'b']],
  ])('%j has several headers, of which none is chosen', (text, names) => {
    expect(pastedHeaders(text)).toEqual({ names, decoded: undefined });
  });

  test.each([
    ['', 'nothing'],
    [',', 'no pair'],
    ['Bearer abc', 'a header as it is sent'],
    ['Basic dXNlcg==', 'the padding of Base64'],
    ['c2VjcmV0==', 'the same without a scheme'],
    ['c2VjcmV0=', 'with one sign of padding'],
    ['eyJhbGciOiJIUzI1NiJ9.e30.c2ln', 'a token'],
    ['Api-Key: a=b', 'a named header'],
    ['Digest username="x", realm="y"', 'parameters of a scheme'],
    ['Authorization=', 'no value'],
    ['Authorization=%20', 'a blank alone'],
    ['Authorization=%20abc', 'a value that begins with a blank'],
    ['Authorization=Basic%2', 'a percent sign that stands for nothing'],
    ['Authorization=%ff', 'bytes that are no UTF-8'],
    ['Authorization=a%0Ab', 'an end of line'],
    ['Authorization=h%C3%A9', 'what no header has'],
    ['x_key=abc', 'a name that no daemon sends'],
    ['Host=example.com', 'nor this one'],
    ['=abc', 'no name'],
    ['x_key=abc,Host=example.com', 'none that a daemon sends'],
    ['Authorization=""', 'no value in quotation marks'],
    ['api-key=abc,c2VjcmV0==', 'a pair and the padding of Base64, whose text is no name'],
    ['"c2VjcmV0"', 'quotation marks alone'],
    ['OTEL_EXPORTER_OTLP_HEADERS=', 'the variable alone'],
    ['Bearer abc\na=1', 'a header as it is sent, and a pair'],
    ['Authorization=Basic%20abc,broken', 'one pair, and something else'],
    [`k=${'%41'.repeat(8190)}`, 'one character too long'],
    [`k=${'a'.repeat(40_000)}`, 'much longer'],
  ])('%.40j is not (%s)', (text) => {
    expect(pastedHeaders(text)).toBeUndefined();
  });

  test('every header that a daemon sends is recognised in it, and decoded to itself', () => {
    const letters = 'aZ9-'.split('');
    const name = fc
      .tuple(fc.constantFrom('a', 'X'), fc.string({ unit: fc.constantFrom(...letters), maxLength: 12 }))
      .map((parts) => parts.join(''))
      .filter((one) => Object.keys(collectorHeaders(`${one}: x`))[0] === one);
    const value = fc
      .string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCodePoint(code)), minLength: 1 })
      .filter((one) => authHeaderFault(one) === undefined);
    fc.assert(
      fc.property(fc.oneof(name, fc.constant('Authorization')), value, (name, value) => {
        const pasted = pastedHeaders(`${name}=${encodeURIComponent(value)}`);
        expect(collectorHeaders(pasted?.decoded ?? '')).toEqual({ [name]: value });
      }),
      { numRuns: runs(500) },
    );
  });
});
