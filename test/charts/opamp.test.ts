import { expect, test } from 'vitest';
import { collectorTemplate, DEFAULT_TEMPLATE } from '../../src/domain/opamp/collector-template.ts';
import {
  at,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  render,
  type Values,
} from './support/render.ts';

/* OpAMP: which pods get its settings and files, and whether the outside reaches its path. */

const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';
/** With all that YAML could change on the way: quotes, a comment, a `$`, a blank at the end of a line. */
const TEMPLATE = `# all of the fleet\n${DEFAULT_TEMPLATE}extensions: \n  other: "it's $$5 # no comment"\n`;
const SPLIT: Values = { ...ON_ETCD, split: { enabled: true } };
const URL_OF_AGENTS = 'https://devices.example.com/agents/opamp';

const opampVariables = (deployment: Parameters<typeof environmentOf>[0]): Record<string, string> =>
  Object.fromEntries(Object.entries(environmentOf(deployment)).filter(([name]) => name.startsWith('MUSTER_OPAMP_')));

describeWithHelm('OpAMP', () => {
  test('has its path, and neither bootstrap nor files, where nothing is set', async () => {
    const objects = await render();
    expect(opampVariables(one(objects, 'Deployment', 'muster'))).toEqual({
      MUSTER_OPAMP_PATH: '/v1/opamp',
      MUSTER_OPAMP_BOOTSTRAP: 'off',
      MUSTER_OPAMP_EXPORTER: 'otlp_http',
    });
    expect(ofKind(objects, 'ConfigMap')).toEqual([]);
  });

  test('has its settings where devices are served, and its path where Secrets are written as well', async () => {
    const opamp = { path: '/agents/opamp', template: TEMPLATE, bootstrap: 'on', url: URL_OF_AGENTS, ca: CA };
    const objects = await render({ values: { ...SPLIT, opamp } });
    expect(opampVariables(one(objects, 'Deployment', 'muster-device'))).toEqual({
      MUSTER_OPAMP_PATH: '/agents/opamp',
      MUSTER_OPAMP_BOOTSTRAP: 'on',
      MUSTER_OPAMP_URL: URL_OF_AGENTS,
      MUSTER_OPAMP_TEMPLATE_FILE: '/etc/muster/opamp/template.yaml',
      MUSTER_OPAMP_CA_FILE: '/etc/muster/opamp/ca.crt',
    });
    for (const name of ['muster-controller', 'muster-api']) {
      const deployment = one(objects, 'Deployment', name);
      expect(opampVariables(deployment), `in ${name}`).toEqual({ MUSTER_OPAMP_PATH: '/agents/opamp' });
      const volumes = listAt(deployment, 'spec', 'template', 'spec', 'volumes').map((volume) => at(volume, 'name'));
      expect(volumes, `in ${name}`).not.toContain('opamp');
    }
    const pod = at(one(objects, 'Deployment', 'muster-device'), 'spec', 'template', 'spec');
    expect(listAt(pod, 'volumes')).toContainEqual({ name: 'opamp', configMap: { name: 'muster-opamp' } });
    const mount = { name: 'opamp', mountPath: '/etc/muster/opamp', readOnly: true };
    expect(listAt(pod, 'containers', 0, 'volumeMounts')).toContainEqual(mount);
  });

  test.each<[what: string, opamp: Values, data: Record<string, string>]>([
    ['a template', { template: TEMPLATE }, { 'template.yaml': TEMPLATE }],
    ['an authority', { ca: CA }, { 'ca.crt': CA }],
    ['both', { template: TEMPLATE, ca: CA }, { 'template.yaml': TEMPLATE, 'ca.crt': CA }],
  ])('brings %s to the pods as it is', async (_what, opamp, data) => {
    const objects = await render({ values: { opamp } });
    expect(at(one(objects, 'ConfigMap', 'muster-opamp'), 'data')).toEqual(data);
    const files = Object.entries(environmentOf(one(objects, 'Deployment', 'muster')))
      .filter(([name]) => /^MUSTER_OPAMP_.*_FILE$/.test(name))
      .map(([, path]) => path.replace('/etc/muster/opamp/', ''));
    expect(files).toEqual(Object.keys(data));
  });

  test('the template of this test is one that the service takes', () => {
    expect(() => collectorTemplate(TEMPLATE)).not.toThrow();
  });

  test('is reached at any path through Ingress, route and policy of the devices', async () => {
    const objects = await render({
      values: {
        opamp: { path: '/agents/opamp' },
        ingress: { device: { enabled: true, hosts: ['devices.example.com'] } },
        gateway: { device: { enabled: true, parentRefs: [{ name: 'public' }] } },
        networkPolicy: { enabled: true },
      },
    });
    const ingress = one(objects, 'Ingress', 'muster-device');
    const paths = listAt(ingress, 'spec', 'rules', 0, 'http', 'paths');
    expect(paths).toEqual([expect.objectContaining({ path: '/', pathType: 'Prefix' })]);
    const rules = listAt(one(objects, 'HTTPRoute', 'muster-device'), 'spec', 'rules');
    expect(rules).toHaveLength(1);
    expect(at(rules[0], 'matches')).toBeUndefined();
    const open = listAt(one(objects, 'NetworkPolicy', 'muster'), 'spec', 'ingress');
    expect(open).toContainEqual({ ports: [{ port: 'device' }] });
  });
});
