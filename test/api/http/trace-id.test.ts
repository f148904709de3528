import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { traceIdOf } from '../../../src/api/http/response.ts';
import { runs } from '../../support/run/effort.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traced = (traceparent: string): string | undefined => traceIdOf({ headers: { traceparent } });

describe('the field traceparent of W3C Trace Context', () => {
  test.each([
    [`00-${TRACE}-${PARENT}-01`, 'sampled'],
    [`00-${TRACE}-${PARENT}-00`, 'not sampled'],
    [`00-${TRACE}-${PARENT}-ff`, 'flags that are not known'],
    [`01-${TRACE}-${PARENT}-01`, 'a later version'],
    [`cc-${TRACE}-${PARENT}-01-what-comes-later`, 'a later version with more'],
  ])('%s names its trace: %s', (traceparent) => {
    expect(traced(traceparent)).toBe(TRACE);
  });

  test.each([
    ['', 'nothing'],
    [`ff-${TRACE}-${PARENT}-01`, 'the version that cannot be'],
    [`00-${TRACE}-${PARENT}-01-more`, 'more than its version has'],
    [`cc-${TRACE}-${PARENT}-01.more`, 'more without a hyphen'],
    [`00-${TRACE.toUpperCase()}-${PARENT}-01`, 'capital letters'],
    [`00-${'0'.repeat(32)}-${PARENT}-01`, 'no trace'],
    [`00-${TRACE}-${'0'.repeat(16)}-01`, 'no parent'],
    [`00-${TRACE.slice(1)}-${PARENT}-01`, 'a short trace'],
    [`00-${TRACE}-${PARENT}`, 'no flags'],
    [` 00-${TRACE}-${PARENT}-01`, 'a space'],
    [`00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`, 'two fields'],
    [`cc-${TRACE}-${PARENT}-01-a, cc-${TRACE}-${PARENT}-01`, 'two fields of a later version'],
    [`cc-${TRACE}-${PARENT}-01-${'a'.repeat(1000)}`, 'a field without end'],
  ])('%s is passed over: %s', (traceparent) => {
    expect(traced(traceparent)).toBeUndefined();
  });

  test('a request without it has no trace', () => {
    expect(traceIdOf({ headers: {} })).toBeUndefined();
  });

  test('whatever is sent, a trace is 32 hexadecimal digits of it', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$/));
    fc.assert(
      fc.property(text, (sent) => {
        const found = traced(sent);
        if (found !== undefined) {
          expect(found).toMatch(/^(?!0+$)[0-9a-f]{32}$/);
          expect(sent.slice(3, 35)).toBe(found);
        }
      }),
      { numRuns: runs(500) },
    );
  });
});
