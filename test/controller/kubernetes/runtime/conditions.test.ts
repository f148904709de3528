import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  conditionsAfter,
  isFalse,
  isTrue,
  sentence,
  STALLED,
} from '../../../../src/controller/kubernetes/runtime/conditions.ts';
import { KIND_SCHEMAS } from '../../../../src/controller/kubernetes/schema/crd.ts';
import { AGREED, healthChecks, type HealthChecks } from '../../../support/kubernetes/gitops-health.ts';
import type { Verdict } from '../../../support/kubernetes/kstatus.ts';

describe('a sentence', () => {
  test.each([
    ['One.', 'One.', 'as it is'],
    ['One', 'One.', 'without a full stop'],
    ['One..', 'One.', 'with two'],
    ['One. Two.. ', 'One. Two.', 'only the end is changed'],
    ['', '', 'nothing'],
  ])('%j becomes %j (%s)', (text, told, _what) => {
    expect(sentence(text)).toBe(told);
  });

  test('ends in exactly one full stop, whatever the text', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z .…]{1,20}$/), (text) => {
        const told = sentence(text);
        expect(told === '' || /[^.\s]\.$/.test(told)).toBe(true);
        expect(sentence(told)).toBe(told);
      }),
    );
  });

  test('is what a condition has as its message', () => {
    const at = { generation: 1, at: 'T1' };
    const messages = conditionsAfter([], [isTrue('A', 'B', 'Twice..'), isFalse('Ready', 'CodeExpired', 'None')], at);
    expect(messages.map(({ message }) => message)).toEqual(['Twice.', 'None.', 'None.']);
  });
});

describe('Stalled', () => {
  const at = { generation: 1, at: 'T1' };

  test.each([...STALLED])('is true beside Ready=False, %s', (reason) => {
    const conditions = conditionsAfter([], [isFalse('Ready', reason, 'Why.')], at);
    expect(conditions.map(({ type, status }) => `${type}=${status}`)).toEqual(['Ready=False', 'Stalled=True']);
    expect(conditions[1]).toMatchObject({ reason, message: 'Why.', observedGeneration: 1 });
  });

  test('is not there for what time or another resource mends, nor beside Ready=True', () => {
    for (const ready of [isFalse('Ready', 'AccountNotFound', 'No.'), isTrue('Ready', 'Revoked', 'As asked.')]) {
      expect(conditionsAfter([], [ready], at).map(({ type }) => type)).toEqual(['Ready']);
    }
  });

  test('goes when the resource is mended', () => {
    const stalled = conditionsAfter([], [isFalse('Ready', 'ChangedOutside', 'No.')], at);
    const mended = conditionsAfter(stalled, [isTrue('Ready', 'Issued', 'Yes.')], { generation: 2, at: 'T2' });
    expect(mended.map(({ type }) => type)).toEqual(['Ready']);
  });
});

/* kstatus, Argo CD's script and Flux's expressions of examples/gitops, over the statuses that there can be. */
describe('the tools of GitOps agree', () => {
  let checks: HealthChecks;
  beforeAll(async () => {
    checks = await healthChecks();
  });

  const statusWith = (generation: number, ...states: Parameters<typeof conditionsAfter>[1]): object => ({
    observedGeneration: generation,
    conditions: conditionsAfter([], states, { generation, at: 'T1' }),
  });
  const ROWS: readonly (readonly [what: string, verdict: Verdict, object: { metadata: object; status?: object }])[] = [
    ['created', 'InProgress', { metadata: { generation: 1 }, status: { observedGeneration: -1 } }],
    ['ready', 'Current', { metadata: { generation: 1 }, status: statusWith(1, isTrue('Ready', 'Synced', 'Yes.')) }],
    [
      'changed',
      'InProgress',
      { metadata: { generation: 2 }, status: statusWith(1, isTrue('Ready', 'Synced', 'Yes.')) },
    ],
    [
      'waiting',
      'InProgress',
      { metadata: { generation: 1 }, status: statusWith(1, isFalse('Ready', 'AccountNotFound', 'No.')) },
    ],
    [
      'stalled',
      'Failed',
      { metadata: { generation: 1 }, status: statusWith(1, isFalse('Ready', 'ChangedOutside', 'No.')) },
    ],
    [
      'stalled and changed',
      'InProgress',
      { metadata: { generation: 2 }, status: statusWith(1, isFalse('Ready', 'ChangedOutside', 'No.')) },
    ],
    [
      'ready, with another condition that is not',
      'Current',
      {
        metadata: { generation: 1 },
        status: statusWith(1, isTrue('Ready', 'Synced', 'Yes.'), isFalse('Delivered', 'InProgress', 'No.')),
      },
    ],
    [
      'deleted',
      'Terminating',
      {
        metadata: { generation: 2, deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: statusWith(1, isTrue('Ready', 'Synced', 'Yes.')),
      },
    ],
    [
      'deleted in its generation',
      'Terminating',
      {
        metadata: { generation: 1, deletionTimestamp: '2026-01-01T00:00:00Z' },
        status: statusWith(1, isTrue('Ready', 'Synced', 'Yes.')),
      },
    ],
  ];

  test.each(ROWS)('on a resource that is %s: %s', (_what, verdict, object) => {
    for (const { kind } of KIND_SCHEMAS) {
      expect(checks.judge(kind, object)).toEqual({ kstatus: verdict, ...AGREED[verdict] });
    }
  });

  test('about every kind', () => {
    const kinds = KIND_SCHEMAS.map(({ kind }) => kind);
    expect(checks.kinds).toEqual({ argo: kinds, flux: kinds });
  });
});
