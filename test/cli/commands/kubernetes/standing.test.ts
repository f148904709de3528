import { expect, test } from 'vitest';
import { standingOf } from '../../../../src/cli/commands/kubernetes/standing.ts';

const NOTHING = { namespace: 'team', name: 'a', generation: 2, creationTimestamp: '2026-06-01T12:00:00Z' };
const condition = (type: string, status: string, reason: string, message: string, observedGeneration = 2) => ({
  type,
  status,
  reason,
  message,
  observedGeneration,
});
const READY = condition('Ready', 'True', 'Active', 'A daemon is enrolled.');
const UNREADY = condition('Ready', 'False', 'SecretWriteFailed', 'The quota is used up.');
const STALLED = condition('Stalled', 'True', 'FollowedTwice', 'Another operator follows the namespace.');

const judged = (conditions: readonly ReturnType<typeof condition>[], metadata: object = {}) => {
  const listed = { metadata: { ...NOTHING, ...metadata }, status: { conditions: [...conditions] } };
  const { ready, reason, message } = standingOf('FleetApp', listed);
  return [ready, reason, message];
};

test.each([
  ['ready', [READY], [true, 'Active', 'A daemon is enrolled.']],
  ['not ready', [UNREADY], [false, 'SecretWriteFailed', 'The quota is used up.']],
  [
    'ready, and has a condition that Ready does not wait for',
    [READY, condition('Delivered', 'False', 'InProgress', '1 of 2 devices.')],
    [true, 'Active', 'A daemon is enrolled.'],
  ],
  [
    'called ready, and has a condition of trouble, of whatever type',
    [STALLED, READY],
    [false, 'Active', 'A daemon is enrolled; Stalled=True FollowedTwice: Another operator follows the namespace.'],
  ],
  [
    'ready, and a trouble is over',
    [READY, condition('Stalled', 'False', 'Alone', 'No other operator follows.')],
    [true, 'Active', 'A daemon is enrolled.'],
  ],
  [
    'not ready, and more is wrong: Ready comes first',
    [STALLED, UNREADY],
    [false, 'SecretWriteFailed', expect.stringMatching(/^The quota is used up; Stalled=True FollowedTwice: /)],
  ],
  [
    'not ready, and stalled for the same reason, which is said once',
    [UNREADY, condition('Stalled', 'True', UNREADY.reason, UNREADY.message)],
    [false, 'SecretWriteFailed', 'The quota is used up.'],
  ],
  ['followed by nobody', [], [false, 'NotSeen', expect.stringContaining('none follows its namespace')]],
  [
    'refused by an operator that writes no Ready',
    [STALLED],
    [false, 'NoReady', expect.stringContaining('Stalled=True FollowedTwice')],
  ],
  ['unknown', [condition('Ready', 'Unknown', 'Starting', 'It begins.')], [false, 'Starting', 'It begins.']],
])('a resource that is %s', (_what, conditions, standing) => {
  expect(judged(conditions)).toEqual(standing);
});

test('a change that the operator has not seen yet is not ready, whatever the status says of the spec before', () => {
  expect(judged([READY], { generation: 3 })).toEqual([
    false,
    'ChangeNotSeen',
    'The operator has not seen the last change of its spec yet; Active: A daemon is enrolled.',
  ]);
});

test('a resource that is being deleted tells what holds it up', () => {
  const deletionTimestamp = '2026-06-01T13:00:00Z';
  expect(judged([READY], { deletionTimestamp })).toEqual([
    false,
    'Deleting',
    `It is being deleted since ${deletionTimestamp}, and the operator has not cleaned up yet`,
  ]);
  expect(judged([UNREADY], { deletionTimestamp })[2]).toContain('; SecretWriteFailed: The quota is used up.');
});
