import { expect, test } from 'vitest';
import { environment } from '../../../../src/config/environment.ts';
import { secretTemplate } from '../../../../src/controller/kubernetes/schema/secret-template.ts';

/* The operator judges the template by itself: the definition of the cluster may be of another version. */

test.each([
  [{ labels: { plain: 'x', 'example.com/team': 'a_b.c-d' } }, true, 'with and without a prefix'],
  [{ labels: { 'notkubernetes.io/x': '' } }, true, 'a domain that ends alike'],
  [{ labels: { 'k8s.io.example.com/x': '' } }, true, 'a domain below another one'],
  [
    { annotations: { 'reflector.v1.k8s.emberstack.com/allowed': 'any text, of one line' } },
    true,
    'a value of any text',
  ],
  [{ labels: { 'app.kubernetes.io/managed-by': 'x' } }, false, 'a key of Kubernetes'],
  [{ labels: { 'k8s.io/x': 'x' } }, false, 'the same'],
  [{ annotations: { 'meta.helm.sh/release-name': 'x' } }, false, 'a key of Helm'],
  [{ annotations: { 'muster.dev/about-copies': 'x' } }, false, 'a key of Muster'],
  [{ labels: { 'Example.com/x': 'x' } }, false, 'a prefix in capitals'],
  [{ labels: { 'a/b/c': 'x' } }, false, 'two slashes'],
  [{ labels: { [`a${'b'.repeat(63)}`]: 'x' } }, false, 'a name of 64 characters'],
  [{ labels: { plain: 'a b' } }, false, 'a value that no label has'],
  [{ labels: Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`l${n}`, ''])) }, true, '16 entries'],
  [{ labels: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${n}`, ''])) }, false, '17 entries'],
])('%j: %s (%s)', (template, isValid, _what) => {
  expect(secretTemplate.safeParse(template).success).toBe(isValid);
  expect(variable.safeParse(JSON.stringify(template)).success).toBe(isValid);
});

const variable = environment.shape.MUSTER_KUBERNETES_SECRET_TEMPLATE;

test.each([
  ['{"labels":{"a":"x"},"annotations":{"b":"y"}}', true, 'both'],
  ['{}', true, 'none'],
  ['{"label":{"a":"x"}}', false, 'a field that there is not'],
  ['{"labels":{"a":1}}', false, 'a number'],
  ['["a"]', false, 'a list'],
  ['labels: {a: x}', false, 'YAML'],
  [`{}${' '.repeat(65_534)}`, true, '65,536 characters'],
  [`{}${' '.repeat(65_535)}`, false, '65,537 characters'],
])('the variable %.40s: %s (%s)', (text, isValid, _what) => {
  const { success, error } = variable.safeParse(text);
  expect(success).toBe(isValid);
  // The value may have come from the wrong place.
  if (!isValid) expect(error?.message).not.toMatch(/"a"|label"|"x"/);
});
