import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ENDPOINT_RULES } from '../../../../src/controller/kubernetes/schema/endpoint-rules.ts';
import { endpointFault } from '../../../../src/domain/otel-config/collector-endpoint.ts';
import { LIMITS } from '../../../../src/domain/limits.ts';
import { drawnEndpoint, isBeyondPatterns, KNOWN_ENDPOINTS } from '../../../support/kubernetes/endpoints.ts';
import { runs } from '../../../support/run/effort.ts';

/*
 * The definitions refuse the endpoints that the operator refuses, by patterns; test/cluster/conventions-cel.test.ts
 * asks a real API server the same.
 */

/** The sentences of all rules that refuse the endpoint; they are judged here as CEL judges them. */
function refusals(endpoint: string): readonly string[] {
  const lower = endpoint.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const matches = (pattern: string): boolean => new RegExp(pattern).test(lower);
  return ENDPOINT_RULES.filter(
    ({ needs, never, unless }) =>
      !(needs !== undefined && matches(needs)) &&
      !(never !== undefined && !matches(never)) &&
      !(unless !== undefined && matches(unless)),
  ).map(({ message }) => message);
}

function judge(endpoint: string): void {
  if (endpoint.length > LIMITS.endpointCharactersMax) return;
  const fault = endpointFault(endpoint);
  if (fault === undefined) expect(refusals(endpoint), `of ${endpoint}`).toEqual([]);
  else if (!isBeyondPatterns(endpoint)) expect(refusals(endpoint), `of ${endpoint}`).toContain(fault);
}

test.each(KNOWN_ENDPOINTS)('%j is refused by both, in the same words, or by none', (endpoint) => judge(endpoint));

test('any endpoint is refused by both, in the same words, or by none', () => {
  let accepted = 0;
  fc.assert(
    fc.property(drawnEndpoint, (endpoint) => {
      judge(endpoint);
      if (endpointFault(endpoint) === undefined) accepted += 1;
    }),
    { seed: 39, numRuns: runs(3000) },
  );
  expect(accepted).toBeGreaterThan(100);
});

test('the operator alone judges a label that is internationalised', () => {
  expect(endpointFault('https://xn--a.example.com')).toMatch(/host/);
  expect(refusals('https://xn--a.example.com')).toEqual([]);
});
