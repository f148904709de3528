import { expect, test } from 'vitest';
import {
  at,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  podsOf,
  render,
  template,
  type KubeObject,
  type Values,
} from './support/render.ts';

/* Names and labels are such that every version of Kubernetes which the chart is for takes them, and finds by them. */

const DIGEST = `sha256:${'a'.repeat(64)}`;
const LABEL = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
/** What a Service may be called before Kubernetes 1.36. */
const SERVICE = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

const labelsOf = (objects: readonly KubeObject[]): readonly (readonly [string, string])[] =>
  [...objects, ...podsOf(objects)].flatMap(({ metadata }) =>
    Object.entries((at(metadata, 'labels') ?? {}) as Record<string, string>),
  );

describeWithHelm('the label of the version', () => {
  test.each([
    ['1.2.3', '1.2.3', 'a tag'],
    [`1.2.3@${DIGEST}`, '1.2.3', 'a tag with its digest, as tools that pin images write it'],
    [`${'a'.repeat(62)}._b`, 'a'.repeat(62), 'a cut that falls on what a label may not end with'],
    ['_nightly_', 'nightly', 'a tag that begins and ends with what a label may not'],
  ])('of %s is %s: %s', async (tag, version) => {
    const objects = await render({ values: { image: { tag } } });
    for (const [key, value] of labelsOf(objects)) {
      expect(value, `the label ${key}`).toMatch(LABEL);
      expect(value.length, `the label ${key}`).toBeLessThanOrEqual(63);
    }
    const deployment = one(objects, 'Deployment', 'muster');
    expect(deployment.metadata.labels?.['app.kubernetes.io/version']).toBe(version);
    expect(at(deployment, 'spec', 'template', 'spec', 'containers', 0, 'image')).toBe(`muster:${tag}`);
  });
});

describeWithHelm('labels for all objects', () => {
  const monitors: Values = { metrics: { serviceMonitor: { enabled: true } } };

  test('may say what the object belongs to, and never take what others find it by', async () => {
    const commonLabels = {
      'app.kubernetes.io/part-of': 'platform',
      'app.kubernetes.io/name': 'other',
      'app.kubernetes.io/instance': 'other',
      team: 'edge',
    };
    const objects = await render({ values: { ...ON_ETCD, ...monitors, commonLabels } });
    const service = one(objects, 'Service', 'muster-ops');
    expect(service.metadata.labels).toMatchObject({ 'app.kubernetes.io/part-of': 'platform', team: 'edge' });
    const monitor = one(objects, 'ServiceMonitor', 'muster');
    expect(service.metadata.labels).toMatchObject(at(monitor, 'spec', 'selector', 'matchLabels') as object);
    for (const { kind, metadata } of objects) {
      expect(metadata.labels?.['app.kubernetes.io/instance'], `${kind} ${metadata.name}`).toBe('muster');
    }
  });
});

describeWithHelm('the names of a release', () => {
  test.each([
    ['fleet.prod', 'fleet-prod-muster', 'a dot, which helm takes and a Service does not'],
    [`${'a'.repeat(38)}--b`, 'a'.repeat(38), 'a cut that leaves more than one hyphen at the end'],
    [`${'a'.repeat(39)}.muster`, 'a'.repeat(39), 'a cut behind a dot'],
  ])('%s are %s: %s', async (release, name) => {
    const objects = await render({ release });
    for (const { metadata } of ofKind(objects, 'Service')) expect(metadata.name).toMatch(SERVICE);
    const deployment = one(objects, 'Deployment', name);
    expect(environmentOf(deployment)['MUSTER_KUBERNETES_RELEASE']).toBe(`fleet/${name}`);
    const selector = at(deployment, 'spec', 'selector', 'matchLabels');
    expect(selector).toMatchObject({ 'app.kubernetes.io/instance': release });
    expect(listAt(deployment, 'spec', 'template', 'spec', 'containers')).toHaveLength(1);
  });

  test('may not begin with a digit where Services may not, and another name helps', async () => {
    const release = '2024-fleet';
    const words = /fullnameOverride: 2024-fleet-muster begins with a digit/;
    await expect(template({ release, kubeVersion: '1.33.0' })).rejects.toThrow(words);
    const values = { fullnameOverride: 'fleet-2024' };
    expect(await template({ release, kubeVersion: '1.33.0', values })).toContain('name: "fleet-2024-ops"');
    expect(await template({ release })).toContain('name: "2024-fleet-muster-ops"');
  });

  test.each<[string, Values, Values]>([
    ['fullnameOverride', { fullnameOverride: 'My_Muster' }, { fullnameOverride: 'my-muster' }],
    ['nameOverride', { nameOverride: 'my.muster' }, { nameOverride: 'my-muster' }],
    ['image/tag', { image: { tag: '1.2.3@sha256:abc' } }, { image: { tag: `1.2.3@${DIGEST}` } }],
  ])('are refused by %s where no object can have them', async (value, refused, taken) => {
    await expect(template({ values: refused })).rejects.toThrow(value);
    expect(await template({ values: taken })).toContain('kind: Deployment');
  });
});
