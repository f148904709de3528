import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backOffMs } from '../../../../src/controller/kubernetes/client/back-off.ts';
import { KubeError, kubeErrorOf } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { mergePatch } from '../../../../src/controller/kubernetes/client/merge-patch.ts';
import { conditionsAfter, isFalse, isTrue } from '../../../../src/controller/kubernetes/runtime/conditions.ts';
import { durationMs } from '../../../../src/controller/kubernetes/schema/common.ts';

type Json = Readonly<Record<string, unknown>>;

/** RFC 7386, as the API server applies it. */
function applied(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = applied(result[name], value);
  }
  return result;
}

describe('a merge patch', () => {
  const value: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((precondition) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom('a', 'b', 1, true),
      fc.array(fc.constantFrom('a', 'b'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('x', 'y', 'z'), precondition('value'), { maxKeys: 3 }),
    ),
  })).value;
  const object = fc.dictionary(fc.constantFrom('p', 'q', 'r'), value, { maxKeys: 3 });

  test('turns what was read into what is wished; there is none where they are equal', () => {
    fc.assert(
      fc.property(object, object, (before: Json, after: Json) => {
        const patch = mergePatch(before, after);
        expect(applied(before, patch ?? {})).toEqual(after);
        expect(mergePatch(after, after)).toBeUndefined();
      }),
    );
  });

  test('is not made for another order of fields in a list, as the API server gives it; for another order of the list it is', () => {
    const [ready, synced] = [
      { type: 'Ready', status: 'True' },
      { type: 'Synced', status: 'True' },
    ];
    const sorted = [
      { status: 'True', type: 'Ready' },
      { status: 'True', type: 'Synced' },
    ];
    expect(mergePatch({ list: sorted }, { list: [{ ...ready, gone: undefined }, synced] })).toBeUndefined();
    expect(mergePatch({ list: sorted }, { list: [synced, ready] })).toEqual({ list: [synced, ready] });
  });

  test('removes fields that are undefined', () => {
    expect(mergePatch({ a: 1, b: { c: 1 } }, { a: undefined, b: { c: undefined } })).toEqual({
      a: null,
      b: { c: null },
    });
  });
});

describe('conditions', () => {
  const early = conditionsAfter([], [isFalse('Ready', 'Waiting', 'Wait.')], { generation: 1, at: 'T1' });

  test.each([
    [isFalse('Ready', 'Refused', 'No.'), 'T1', 'another reason of the same status'],
    [isTrue('Ready', 'Synced', 'Yes.'), 'T2', 'another status'],
  ])('%o has changed at %s (%s)', (state, at, _what) => {
    const [now] = conditionsAfter(early, [state], { generation: 2, at: 'T2' });
    expect(now).toEqual({ ...state, lastTransitionTime: at, observedGeneration: 2 });
  });

  test('of other types are kept', () => {
    const others = conditionsAfter(early, [isTrue('Synced', 'Stored', 'yes')], { generation: 1, at: 'T2' });
    expect(others.map(({ type }) => type)).toEqual(['Synced', 'Ready']);
  });
});

describe('a pause after failures', () => {
  const bounds = { firstMs: 1000, maxMs: 30_000 };

  test.each([
    [1, 0, 500, 'half of it at least'],
    [1, 1, 1000, 'all of it at most'],
    [3, 1, 4000, 'it doubles'],
    [50, 1, 30_000, 'it has a bound'],
  ])('%d failures, chance %d → %d ms (%s)', (failures, chance, ms, _why) => {
    expect(backOffMs(failures, bounds, () => chance)).toBe(ms);
  });

  test.each([
    ['7', 7000, 'the server’s wish'],
    ['0', 500, 'a wish for less than the own pause'],
    ['86400', 120_000, 'a wish that is out of bounds'],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 500, 'a date, which is nothing that an API server sends'],
    [undefined, 500, 'no wish'],
  ])('Retry-After: %s → %d ms (%s)', (retryAfter, ms, _why) => {
    const error = kubeErrorOf(429, 'TooManyRequests', 'later', retryAfter);
    expect(backOffMs(1, bounds, () => 0, error)).toBe(ms);
  });
});

test.each([
  [409, 'Conflict', 'conflict'],
  [409, 'AlreadyExists', 'exists'],
  [404, 'NotFound', 'gone'],
  [410, 'Expired', 'expired'],
  [429, 'TooManyRequests', 'throttled'],
  [403, 'Forbidden', 'refused'],
  [422, 'Invalid', 'refused'],
  [500, 'InternalError', 'unavailable'],
  [504, '', 'unavailable'],
])('%d %s is %s', (status, reason, is) => {
  const error = kubeErrorOf(status, reason, 'words');
  expect(error).toBeInstanceOf(KubeError);
  expect(error).toMatchObject({ reason: is, status });
});

test.each([
  ['1h', 3_600_000],
  ['1h30m', 5_400_000],
  ['90s', 90_000],
  ['720h', 2_592_000_000],
  ['0s', 0],
  ['', undefined],
  ['1d', undefined],
  ['1.5h', undefined],
  ['30m1h', undefined],
])('the duration %s is %s ms', (text, ms) => {
  expect(durationMs(text)).toBe(ms);
});
