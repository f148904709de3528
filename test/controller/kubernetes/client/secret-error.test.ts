import { expect, test } from 'vitest';
import { KubeError, kubeErrorOf } from '../../../../src/controller/kubernetes/client/kube-api.ts';
import { SecretError } from '../../../../src/controller/kubernetes/client/secret-error.ts';

/* Of the words of a refusal those alone are repeated that are the API server's own. */

const VALUE = 'bXN0cl9LRVlfVkFMVUU=';
const USER =
  'User "system:serviceaccount:team:muster" cannot create resource "secrets" in API group "" in the namespace "team"';
const LEFT_OUT = 'the API server answered 403, in words that are left out since they may quote the Secret';

test.each([
  [`secrets is forbidden: ${USER}`, USER, 'a right that is missing'],
  [`secrets is forbidden: ${USER}: ${VALUE}`, USER, 'the words of a further authorizer are left out'],
  [
    'secrets "box" is forbidden: exceeded quota: few, requested: count/secrets=1,secrets=1, used: secrets=3, limited: secrets=3',
    'exceeded quota: few, requested: count/secrets=1,secrets=1, limited: secrets=3',
    'a quota, without what is used of it',
  ],
  [
    'secrets "box" is forbidden: status unknown for quota: few, resources: secrets',
    'status unknown for quota: few',
    'a quota that is not counted yet',
  ],
  [
    `secrets "box" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'nowhere' denied request: ${VALUE}`,
    "ValidatingAdmissionPolicy 'no' with binding 'nowhere' denied request",
    'a policy, without its words',
  ],
  [
    `admission webhook "a.example.com" denied the request: ${VALUE}`,
    'admission webhook "a.example.com" denied the request',
    'a webhook, without its words',
  ],
  [
    `Internal error occurred: failed calling webhook "a.example.com": ${VALUE}`,
    'failed calling webhook "a.example.com"',
    'a webhook that does not answer, without what it did answer',
  ],
  [
    'secrets "box" is forbidden: unable to create new content in namespace team because it is being terminated',
    'unable to create new content in namespace team because it is being terminated',
    'a namespace that goes',
  ],
  [`admission says ${VALUE}`, LEFT_OUT, 'words that nobody knows'],
  [`${VALUE} secrets is forbidden: ${USER}`, LEFT_OUT, 'known words that do not begin the message'],
  [`secrets "box" is forbidden: User "${VALUE}\\" cannot create resource "secrets"`, LEFT_OUT, 'words that look alike'],
  [`secrets "box" is forbidden: exceeded quota: few, requested: ${VALUE}`, LEFT_OUT, 'half of known words'],
  ['', LEFT_OUT, 'no words at all'],
])('%s → %s (%s)', (message, words, _what) => {
  expect(new SecretError('write', 'box', kubeErrorOf(403, 'Forbidden', message)).message).toBe(words);
});

test('a request without an answer is told of as such: what broke it may be a part of an answer', () => {
  const broken = new KubeError('unavailable', 0, `no answer of the API server: Unexpected token ${VALUE}`);
  expect(new SecretError('read', 'box', broken).message).toBe('no answer of the API server that can be read');
});

test('the queue and the log see what kind of failure it is, and not its origin', () => {
  const error = new SecretError('delete', 'box', kubeErrorOf(429, 'TooManyRequests', VALUE, '7'));
  expect(error).toBeInstanceOf(KubeError);
  expect(error).toMatchObject({
    reason: 'throttled',
    status: 429,
    retryAfterMs: 7000,
    verb: 'delete',
    secretName: 'box',
  });
  expect(error.cause).toBeUndefined();
  expect(`${error.stack}`).not.toContain(VALUE);
});
