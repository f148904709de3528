import { expect, test } from 'vitest';
import {
  at,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  one,
  render,
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
  test.each<[string, Values, readonly (string | number)[], unknown]>([
    ['labels', { labels: { a: 'b' } }, ['metadata', 'labels', 'a'], 'b'],
    ['annotations', { annotations: { a: 'b' } }, ['metadata', 'annotations', 'a'], 'b'],
    ['podLabels', { podLabels: { a: 'b' } }, ['spec', 'template', 'metadata', 'labels', 'a'], 'b'],
    ['podAnnotations', { podAnnotations: { a: 'b' } }, ['spec', 'template', 'metadata', 'annotations', 'a'], 'b'],
    ['commonLabels', { commonLabels: { a: 'b' } }, ['spec', 'template', 'metadata', 'labels', 'a'], 'b'],
    ['commonAnnotations', { commonAnnotations: { a: 'b' } }, ['metadata', 'annotations', 'a'], 'b'],
  ])('%s', async (_what, values, path, expected) => {
    expect(at(await deployment(values), ...path)).toBe(expected);
  });

  test.each<[string, Values, readonly (string | number)[]]>([
    ['nodeSelector', { nodeSelector: { disk: 'ssd' } }, ['nodeSelector']],
    ['tolerations', { tolerations: [{ key: 'a', operator: 'Exists' }] }, ['tolerations']],
    ['affinity', { affinity: { podAntiAffinity: {} } }, ['affinity']],
    ['priorityClassName', { priorityClassName: 'high' }, ['priorityClassName']],
    ['schedulerName', { schedulerName: 'other' }, ['schedulerName']],
    ['runtimeClassName', { runtimeClassName: 'gvisor' }, ['runtimeClassName']],
    ['dnsPolicy', { dnsPolicy: 'Default' }, ['dnsPolicy']],
    ['dnsConfig', { dnsConfig: { nameservers: ['10.0.0.1'] } }, ['dnsConfig']],
    ['hostAliases', { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a'] }] }, ['hostAliases']],
    ['initContainers', { initContainers: [{ name: 'a', image: 'b' }] }, ['initContainers']],
    ['enableServiceLinks', { enableServiceLinks: true }, ['enableServiceLinks']],
    ['lifecycle', { lifecycle: { preStop: { sleep: { seconds: 1 } } } }, ['containers', 0, 'lifecycle']],
    ['resources', { resources: { limits: { cpu: '3' } } }, ['containers', 0, 'resources', 'limits']],
    ['extraEnvFrom', { extraEnvFrom: [{ secretRef: { name: 'a' } }] }, ['containers', 0, 'envFrom']],
  ])('%s', async (name, values, path) => {
    const given = values[name];
    const expected = name === 'resources' ? at(given, 'limits') : given;
    expect(at(podOf(await deployment(values)), ...path)).toMatchObject(expected as object);
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
