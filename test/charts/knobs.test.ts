import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { environment } from '../../src/config/environment.ts';
import { toolPath } from '../cluster/support/control-plane/tools.ts';
import {
  at,
  CHART,
  describeWithHelm,
  environmentOf,
  KUBE_VERSION,
  listAt,
  ofKind,
  one,
  render,
  template,
  type KubeObject,
  type Values,
} from './support/render.ts';

const deployment = async (values: Values): Promise<KubeObject> => one(await render({ values }), 'Deployment', 'muster');
const names = (objects: readonly KubeObject[], kind: string): string[] =>
  ofKind(objects, kind).map(({ metadata }) => metadata.name);
const podOf = (object: KubeObject): unknown => at(object, 'spec', 'template', 'spec');
const volume = (object: KubeObject, name: string): unknown =>
  listAt(podOf(object), 'volumes').find((volume) => at(volume, 'name') === name);

describeWithHelm('what people look for', () => {
  // One rendering for all of them: none of these has to do with another.
  test('labels and annotations, each in its place', async () => {
    const rows: readonly (readonly [name: string, path: readonly string[]])[] = [
      ['labels', ['metadata', 'labels']],
      ['annotations', ['metadata', 'annotations']],
      ['podLabels', ['spec', 'template', 'metadata', 'labels']],
      ['podAnnotations', ['spec', 'template', 'metadata', 'annotations']],
      ['commonLabels', ['metadata', 'labels']],
      ['commonLabels', ['spec', 'template', 'metadata', 'labels']],
      ['commonAnnotations', ['metadata', 'annotations']],
    ];
    const values = Object.fromEntries(rows.map(([name]) => [name, { [`of-${name}`]: 'b' }]));
    const muster = await deployment(values);
    for (const [name, path] of rows)
      expect(at(muster, ...path, `of-${name}`), `${name} at ${path.join('.')}`).toBe('b');
  });

  test('what a pod may have, each in its place', async () => {
    const rows: readonly (readonly [name: string, value: unknown, path: readonly (string | number)[]])[] = [
      ['nodeSelector', { disk: 'ssd' }, ['nodeSelector']],
      ['tolerations', [{ key: 'a', operator: 'Exists' }], ['tolerations']],
      ['affinity', { podAntiAffinity: {} }, ['affinity']],
      ['priorityClassName', 'high', ['priorityClassName']],
      ['schedulerName', 'other', ['schedulerName']],
      ['runtimeClassName', 'gvisor', ['runtimeClassName']],
      ['dnsPolicy', 'Default', ['dnsPolicy']],
      ['hostUsers', false, ['hostUsers']],
      ['dnsConfig', { nameservers: ['10.0.0.1'] }, ['dnsConfig']],
      ['hostAliases', [{ ip: '10.0.0.1', hostnames: ['a'] }], ['hostAliases']],
      ['initContainers', [{ name: 'a', image: 'b' }], ['initContainers']],
      ['enableServiceLinks', true, ['enableServiceLinks']],
      ['lifecycle', { preStop: { sleep: { seconds: 1 } } }, ['containers', 0, 'lifecycle']],
      ['resources', { limits: { cpu: '3' } }, ['containers', 0, 'resources']],
      ['extraEnvFrom', [{ secretRef: { name: 'a' } }], ['containers', 0, 'envFrom']],
    ];
    const values: Values = Object.fromEntries(rows.map(([name, value]): [string, unknown] => [name, value]));
    const pod = podOf(await deployment(values));
    for (const [name, value, path] of rows) {
      expect(at(pod, ...path), `${name} at ${path.join('.')}`).toMatchObject(value as object);
    }
  });

  test('extraEnv, extraVolumes, extraVolumeMounts and extraContainers come on top', async () => {
    const muster = await deployment({
      extraEnv: [{ name: 'NODE_EXTRA_CA_CERTS', value: '/ca' }],
      extraVolumes: [{ name: 'ca', configMap: { name: 'ca' } }],
      extraVolumeMounts: [{ name: 'ca', mountPath: '/ca' }],
      extraContainers: [{ name: 'beside', image: 'proxy' }],
    });
    expect(environmentOf(muster)).toMatchObject({ NODE_EXTRA_CA_CERTS: '/ca' });
    expect(volume(muster, 'ca')).toEqual({ name: 'ca', configMap: { name: 'ca' } });
    const containers = listAt(podOf(muster), 'containers');
    expect(containers.map((each) => at(each, 'name'))).toEqual(['muster', 'beside']);
    expect(listAt(containers[0], 'volumeMounts')).toContainEqual({ name: 'ca', mountPath: '/ca' });
  });

  test('extraObjects are templates, as objects and as text', async () => {
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-a' } };
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "muster.fullname" . }}-b\n';
    const objects = await render({ values: { extraObjects: [object, text] } });
    expect(names(objects, 'ConfigMap')).toEqual(['muster-a', 'muster-b']);
  });

  test('extraObjects have the braces of another program where they are quoted, and are refused where not', async () => {
    const rule = (says: string): Values => ({
      extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'rule' }, data: { says } }],
    });
    await expect(render({ values: rule('down {{ $labels.pod }}') })).rejects.toThrow(/undefined variable "\$labels"/);
    const objects = await render({ values: rule('down {{ "{{ $labels.pod }}" }}') });
    expect(at(one(objects, 'ConfigMap', 'rule'), 'data', 'says')).toBe('down {{ $labels.pod }}');
  });

  test('the account has annotations, and may be one that is there', async () => {
    const own = await render({ values: { serviceAccount: { annotations: { role: 'x' } } } });
    expect(one(own, 'ServiceAccount', 'muster').metadata.annotations).toEqual({ role: 'x' });
    const there = await render({ values: { serviceAccount: { create: false, name: 'mine' } } });
    expect(names(there, 'ServiceAccount')).toEqual(['muster-make-secrets']);
    expect(at(podOf(one(there, 'Deployment', 'muster')), 'serviceAccountName')).toBe('mine');
  });

  test('the image by registry, tag and digest', async () => {
    const digest = `sha256:${'a'.repeat(64)}`;
    const image = async (values: Values): Promise<unknown> =>
      at(podOf(await deployment(values)), 'containers', 0, 'image');
    expect(await image({})).toBe('muster:0.1.0');
    expect(await image({ image: { registry: 'r.example', repository: 'a/b', tag: 'x' } })).toBe('r.example/a/b:x');
    expect(await image({ image: { tag: 'x', digest }, global: { imageRegistry: 'g.example/' } })).toBe(
      `g.example/muster@${digest}`,
    );
  });
});

describeWithHelm('labels and annotations of all Secrets of the operator', () => {
  const variable = environment.shape.MUSTER_KUBERNETES_SECRET_TEMPLATE;

  test.each([
    {},
    { labels: { 'example.com/team': 'a' }, annotations: {} },
    { annotations: { note: 'for $(HOST), 1 < 2' }, labels: { plain: '' } },
    { annotations: { note: 'for $$(HOST), and $$ at its end $$$' } },
  ])('%j are a variable, which the product takes', async (secretTemplate) => {
    const text = environmentOf(await deployment({ operator: { secretTemplate } }))['MUSTER_KUBERNETES_SECRET_TEMPLATE'];
    // Kubernetes reads $$ as $, from left to right, and $(NAME) as the value of that variable.
    const read = text?.replaceAll(/\$(?:\$|\([^)]*\))/g, (found) => (found === '$$' ? '$' : 'of a variable'));
    const isSet = Object.keys(secretTemplate).length > 0;
    expect(variable.parse(read)).toEqual(isSet ? { labels: {}, annotations: {}, ...secretTemplate } : undefined);
  });

  test.each([
    { labels: { 'app.kubernetes.io/name': 'x' } },
    { annotations: { 'helm.sh/resource-policy': 'keep' } },
    { labels: { 'muster.dev/auth-header': 'true' } },
    { labels: { 'no spaces': 'x' } },
    { labels: { plain: 'no spaces' } },
    { labels: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`l${n}`, ''])) },
    { label: {} },
  ])('%j are refused by both', async (secretTemplate) => {
    expect(variable.safeParse(JSON.stringify(secretTemplate)).success).toBe(false);
    for (const helm of [3, 4] as const) {
      await expect(template({ helm, values: { operator: { secretTemplate } } })).rejects.toThrow(/secretTemplate/);
    }
  });
});

describeWithHelm('the namespaces of the operator', () => {
  test.each([3, 4] as const)('are selected by labels or by a text, of which helm %i has nothing to say', (helm) => {
    for (const namespaceSelector of ['team', { matchLabels: { team: 'a' } }]) {
      const values = JSON.stringify({ operator: { namespaceSelector } });
      const args = ['template', 'muster', CHART, '--kube-version', KUBE_VERSION, '--values', '-'];
      const { stdout, stderr } = spawnSync(toolPath(`helm${helm}`), args, { input: values, encoding: 'utf8' });
      expect([stdout.includes('MUSTER_KUBERNETES_NAMESPACE_SELECTOR'), stderr]).toEqual([true, '']);
    }
  });

  test('have a Role each for Secrets, or all of them one ClusterRole where that is said', async () => {
    const secretsOf = async (operator: Values): Promise<string[]> => {
      const objects = await render({ values: { operator: { namespaces: ['a', 'b'], ...operator } } });
      const roles = [...ofKind(objects, 'Role'), ...ofKind(objects, 'ClusterRole')];
      return roles.flatMap((role) =>
        listAt(role, 'rules').some(
          (rule) => listAt(rule, 'resources').includes('secrets') && listAt(rule, 'verbs').includes('patch'),
        )
          ? `${role.kind} ${role.metadata.namespace ?? ''}`
          : [],
      );
    };
    expect(await secretsOf({})).toEqual(['Role a', 'Role b']);
    expect(await secretsOf({ clusterSecrets: true })).toEqual(['ClusterRole ']);
  });
});
