import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { KubeError, kubeErrorOf } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { SecretError, type SecretVerb } from '../../../../src/controller/kubernetes/client/secret-error.ts';
import { FailingResources, TOLD_AFTER_MS } from '../../../../src/controller/kubernetes/failures/failing-resources.ts';
import {
  FAILURE_REASONS,
  failureOf,
  InvalidSpec,
  RETRY_MS_MAX,
} from '../../../../src/controller/kubernetes/failures/failure.ts';
import { plainWords } from '../../../../src/controller/kubernetes/failures/plain-words.ts';
import { StaleRead } from '../../../../src/domain/mutation/stale-read.ts';
import { Busy, ConfigurationFault } from '../../../../src/domain/refusal.ts';
import { StoreUnavailable } from '../../../../src/store/port.ts';
import { FakeClock } from '../../../support/time/fake-clock.ts';

const INTERNAL = 'etcd-0.internal:2379 says p4ssw0rd';
const refused = kubeErrorOf(403, 'Forbidden', 'no right');
const ofSecret = (verb: SecretVerb, error: KubeError): SecretError => new SecretError(verb, 'box', error);
const invalid = (spec: object): InvalidSpec => {
  const { error } = z.object({ rotation: z.object({ interval: z.string().min(2) }) }).safeParse(spec);
  if (!error) throw new Error('the spec is valid');
  return new InvalidSpec(error);
};

describe('the failure of a reconciliation', () => {
  test.each<[unknown, string, boolean, string]>([
    [
      ofSecret('write', refused),
      'SecretWriteFailed',
      true,
      'The Secret box cannot be written: the API server answered 403',
    ],
    [
      ofSecret('delete', refused),
      'SecretDeleteFailed',
      true,
      'The Secret box cannot be deleted: the API server answered',
    ],
    [ofSecret('read', refused), 'SecretReadFailed', true, 'The Secret box cannot be read: the API server answered 403'],
    [ofSecret('write', kubeErrorOf(500, '', '')), 'SecretWriteFailed', false, 'The Secret box cannot be written: '],
    [ofSecret('write', kubeErrorOf(409, 'Conflict', '')), 'WriteConflict', false, 'Somebody else changes'],
    [
      refused,
      'ApiServerRefused',
      true,
      'The API server refuses a request of Muster: the API server answered 403: no right.',
    ],
    [kubeErrorOf(422, 'Invalid', ''), 'ApiServerRefused', true, 'The API server refuses a request of Muster'],
    [kubeErrorOf(503, '', 'later'), 'ApiServerUnavailable', false, 'The API server does not carry out requests'],
    [kubeErrorOf(429, '', 'later'), 'ApiServerUnavailable', false, 'The API server does not carry out requests'],
    [new KubeError('unavailable', 0, 'no answer'), 'ApiServerUnavailable', false, 'The API server does not carry out'],
    [kubeErrorOf(409, 'Conflict', ''), 'WriteConflict', false, 'Somebody else changes the same objects'],
    [kubeErrorOf(404, 'NotFound', ''), 'WriteConflict', false, 'Somebody else changes the same objects'],
    [new StoreUnavailable('timeout', INTERNAL), 'StoreUnavailable', false, 'The store of Muster does not answer.'],
    [new Busy('late', INTERNAL), 'Busy', false, 'Muster has too much to do at once.'],
    [new Busy('quota', INTERNAL), 'QuotaReached', true, 'The account has used up its quota of records and audit.'],
    [new StaleRead(INTERNAL), 'Busy', false, 'Muster has too much to do at once.'],
    [
      new ConfigurationFault(INTERNAL),
      'OperatorMisconfigured',
      true,
      'Muster is configured wrongly; its log says how.',
    ],
    [new TypeError(INTERNAL), 'InternalError', true, 'Muster met an error of its own; its log has the details.'],
    [INTERNAL, 'InternalError', true, 'Muster met an error of its own; its log has the details.'],
    [invalid({}), 'InvalidSpec', true, 'This version of Muster cannot read the spec: spec.rotation: Invalid input'],
  ])('%o is %s; it stays: %s (%s)', (error, reason, stays, begins) => {
    const failure = failureOf(error);
    expect(failure).toMatchObject({ reason, stays });
    expect(failure.message.startsWith(begins)).toBe(true);
    expect(failure.message).toMatch(
      /[^.]\. Muster tries again within 5 minutes, and at once when the resource changes\.$/,
    );
    expect(failure.message).not.toContain(INTERNAL);
  });

  test('the value that a spec has is in no message', () => {
    expect(failureOf(invalid({ rotation: { interval: '§' } })).message).not.toContain('§');
  });

  test('each reason stands in the table of the manual', () => {
    const manual = readFileSync(resolve(import.meta.dirname, '../../../../docs/KUBERNETES.md'), 'utf8');
    const rows = new Set(Array.from(manual.matchAll(/^\| `(\w+)` +\| False \| all  /gm), ([, reason]) => reason));
    expect([...FAILURE_REASONS, 'Progressing'].filter((reason) => !rows.has(reason))).toEqual([]);
  });

  test('the pause that the message promises is the longest one of the queue', () => {
    expect(RETRY_MS_MAX).toBe(5 * 60_000);
  });
});

describe('the words of an API server', () => {
  test.each([
    ['a\nb\t c\u0007', 'a b c', 'one line'],
    ['it is so..', 'it is so', 'without a full stop'],
    ['read tcp 10.0.0.1:45678->10.96.0.1:443: reset', 'read tcp 10.96.0.1:443: reset', 'without the own port'],
    ['request 0190b6d3-4a5e-7c1e-8f7a-0123456789ab failed', 'request … failed', 'without an id'],
    ['at 2026-11-24T18:00:00.123Z', 'at …', 'without an instant'],
    ['resourceVersion 1234567 is old', 'resourceVersion … is old', 'without a large number'],
    ['port 6443', 'port 6443', 'with a port'],
    ['é'.repeat(300), 'é'.repeat(300), 'just as long as it may be'],
    ['é'.repeat(301), `${'é'.repeat(299)}…`, 'cut'],
    ['a\u202Eb', 'a b', 'written in one direction'],
  ])('%j → %j (%s)', (text, words, _how) => {
    expect(plainWords(text)).toBe(words);
  });
});

describe('when a failure is told of', () => {
  const clock = new FakeClock();
  const failing = new FailingResources(clock);
  const passes = { stays: false };

  test('one that stays: at once', () => {
    expect(failing.failed('stays', { stays: true })).toBe(true);
  });

  test('one that may pass: when it has lasted', () => {
    expect(failing.failed('passes', passes)).toBe(false);
    clock.advance(TOLD_AFTER_MS - 1);
    expect(failing.failed('passes', passes)).toBe(false);
    clock.advance(1);
    expect(failing.failed('passes', passes)).toBe(true);
  });

  test('a success between two of them begins anew; the failures of others do not count', () => {
    failing.forget('passes');
    expect(failing.failed('passes', passes)).toBe(false);
    clock.advance(TOLD_AFTER_MS);
    expect(failing.failed('other', passes)).toBe(false);
  });

  test('a correction of the wall clock does not count', () => {
    expect(failing.failed('jump', passes)).toBe(false);
    clock.jump(TOLD_AFTER_MS);
    expect(failing.failed('jump', passes)).toBe(false);
  });
});
