import { expect, test } from 'vitest';
import { at, describeWithHelm, listAt, ofKind, ON_ETCD, one, podsOf, render, template } from './support/render.ts';
import type { KubeObject, Values } from './support/render.ts';

/*
 * Lists whose entries Kubernetes tells apart by a key: server-side apply, of helm 4 and of GitOps tools, refuses one in
 * which a key stands twice.
 */

const pod = async (values: Values, name = 'muster'): Promise<unknown> => {
  const made = one(await render({ values: { ...ON_ETCD, ...values } }), 'Deployment', name);
  return at(made, 'spec', 'template', 'spec');
};
const env = (name: string, value: string): Values => ({ name, value });

describeWithHelm("an entry of the user replaces the chart's, and comes last", () => {
  const tmp = { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } };
  const rows: readonly [
    what: string,
    values: Values,
    path: readonly (string | number)[],
    key: string,
    entry: Values,
  ][] = [
    [
      'a variable',
      { extraEnv: [env('MUSTER_LOG_LEVEL', 'debug')] },
      ['containers', 0, 'env'],
      'name',
      env('MUSTER_LOG_LEVEL', 'debug'),
    ],
    ['a volume', { extraVolumes: [tmp] }, ['volumes'], 'name', tmp],
    [
      'a mount, also of the same folder by another spelling',
      { extraVolumeMounts: [{ name: 'own', mountPath: '/tmp/' }], extraVolumes: [{ name: 'own', emptyDir: {} }] },
      ['containers', 0, 'volumeMounts'],
      'mountPath',
      { name: 'own', mountPath: '/tmp/' },
    ],
  ];
  test.each(rows)('%s', async (_what, values, path, key, entry) => {
    const spelled = (each: unknown): string => String(at(each, key)).replace(/(?<=.)\/$/, '');
    const before = listAt(await pod({}), ...path);
    const others = before.filter((each) => spelled(each) !== spelled(entry));
    expect(others).toHaveLength(before.length - 1);
    const after = listAt(await pod(values), ...path);
    expect(after).toEqual([...others, entry]);
  });

  test('a variable comes behind those of the user that its value names', async () => {
    const extraEnv = [env('LEVEL', 'debug'), env('MUSTER_LOG_LEVEL', '$(LEVEL)'), env('COPY', '$(MUSTER_LOG_LEVEL)')];
    const pods = podsOf(await render({ values: { ...ON_ETCD, extraEnv } })).filter(({ of }) => !of.startsWith('Job'));
    expect(pods.map(({ of }) => of)).toEqual(['Deployment muster', 'Pod muster-test']);
    for (const { spec } of pods) expect(listAt(spec, 'containers', 0, 'env').slice(-3)).toEqual(extraEnv);
    const split = { enabled: true, device: { extraEnv } };
    expect(listAt(await pod({ split }, 'muster-device'), 'containers', 0, 'env').slice(-3)).toEqual(extraEnv);
  });

  test('in a split, also where the value is of one Deployment alone', async () => {
    const split = { enabled: true, api: { extraEnv: [env('MUSTER_CURRENCY', 'CHF')] } };
    const values = { split, extraEnv: [env('MUSTER_CURRENCY', 'USD')] };
    const currencies = async (name: string): Promise<unknown[]> =>
      listAt(await pod(values, name), 'containers', 0, 'env')
        .filter((each) => at(each, 'name') === 'MUSTER_CURRENCY')
        .map((each) => at(each, 'value'));
    expect(await currencies('muster-api')).toEqual(['CHF']);
    expect(await currencies('muster-device')).toEqual(['USD']);
  });

  test('names that the chart does not have come behind its own, in their order', async () => {
    const values = {
      extraEnv: [env('B', '1'), env('A', '2')],
      extraContainers: [{ name: 'proxy', image: 'p' }],
      initContainers: [{ name: 'first', image: 'f' }],
    };
    const spec = await pod(values);
    expect(listAt(spec, 'containers', 0, 'env').slice(-2)).toEqual(values.extraEnv);
    expect(listAt(spec, 'containers').map((each) => at(each, 'name'))).toEqual(['muster', 'proxy']);
    expect(listAt(spec, 'initContainers')).toEqual(values.initContainers);
  });

  test('one credential of a registry is named once, wherever it is written', async () => {
    const values = { global: { imagePullSecrets: ['a', { name: 'b' }] }, imagePullSecrets: [{ name: 'a' }, 'c'] };
    expect(listAt(await pod(values), 'imagePullSecrets')).toEqual([{ name: 'a' }, { name: 'b' }, { name: 'c' }]);
  });

  test('in no pod of the release does a key stand twice', async () => {
    const values = {
      ...ON_ETCD,
      split: { enabled: true },
      crds: { keep: false },
      imagePullSecrets: ['a', 'a'],
      extraEnv: [env('MUSTER_CURRENCY', 'USD'), env('MUSTER_CLIENT_OPS_URL', 'http://127.0.0.1:8082')],
      extraVolumes: [tmp, { name: 'secrets', secret: { secretName: 'mine' } }],
      extraVolumeMounts: [{ name: 'secrets', mountPath: '/etc/muster/secrets/' }],
    };
    const objects = await render({ values });
    expect(podsOf(objects).flatMap(({ of, spec }) => repeated(spec).map((key) => `${of}: ${key}`))).toEqual([]);
    const [doctor] = ofKind(objects, 'Pod') as [KubeObject];
    expect(listAt(at(doctor, 'spec'), 'containers', 0, 'env')).toContainEqual(env('MUSTER_CURRENCY', 'USD'));
  });
});

describeWithHelm('refused, with the name of the value', () => {
  test.each<[string, Values, RegExp, Values]>([
    [
      'a variable that a Service and a Role go by',
      { extraEnv: [env('MUSTER_ROLES', 'api')] },
      /extraEnv: MUSTER_ROLES is the chart's own; set split\.enabled or operator\.enabled/,
      { extraEnv: [env('MUSTER_ROLE', 'api')] },
    ],
    [
      'the same of one Deployment',
      { split: { enabled: true, device: { extraEnv: [env('MUSTER_DEVICE_LISTEN', '0.0.0.0:9')] } } },
      /split\.device\.extraEnv: MUSTER_DEVICE_LISTEN is the chart's own; set config\.listenHost/,
      { split: { enabled: true, device: { extraEnv: [env('MUSTER_CURRENCY', 'USD')] } } },
    ],
    [
      "a container by the name of the chart's",
      { extraContainers: [{ name: 'muster', image: 'a' }] },
      /extraContainers: muster is the chart's own; give yours another name/,
      { extraContainers: [{ name: 'muster-proxy', image: 'a' }] },
    ],
    [
      'an init container by the name of a container',
      { extraContainers: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'a', image: 'a' }] },
      /initContainers: a is the chart's own; give yours another name/,
      { extraContainers: [{ name: 'a', image: 'a' }], initContainers: [{ name: 'b', image: 'a' }] },
    ],
    [
      'a variable twice',
      { extraEnv: [env('A', '1'), env('A', '2')] },
      /extraEnv: A stands in it twice/,
      { extraEnv: [env('A', '1'), env('B', '2')] },
    ],
    [
      'an address twice among the names of hosts',
      {
        hostAliases: [
          { ip: '10.0.0.1', hostnames: ['a'] },
          { ip: '10.0.0.1', hostnames: ['b'] },
        ],
      },
      /hostAliases: 10\.0\.0\.1 stands in it twice/,
      { hostAliases: [{ ip: '10.0.0.1', hostnames: ['a', 'b'] }] },
    ],
    [
      'a field of a Service that has a value of its own',
      { service: { api: { spec: { ports: [] } } } },
      /service\/api\/spec/,
      { service: { api: { spec: { loadBalancerClass: 'a' } } } },
    ],
  ])('%s', async (_what, refused, words, taken) => {
    for (const helm of [3, 4] as const) {
      await expect(template({ helm, values: { ...ON_ETCD, ...refused } })).rejects.toThrow(words);
    }
    expect(await template({ values: { ...ON_ETCD, ...taken } })).toContain('kind: Deployment');
  });
});

/** The lists of a pod that have a key, with that key (`x-kubernetes-list-map-keys` of its schema). */
function repeated(spec: unknown): string[] {
  const containers = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')];
  const lists: readonly [string, readonly unknown[], string][] = [
    ['containers', containers, 'name'],
    ['volumes', listAt(spec, 'volumes'), 'name'],
    ['imagePullSecrets', listAt(spec, 'imagePullSecrets'), 'name'],
    ['hostAliases', listAt(spec, 'hostAliases'), 'ip'],
    ...containers.flatMap((each): [string, unknown[], string][] => [
      ['env', listAt(each, 'env'), 'name'],
      ['ports', listAt(each, 'ports'), 'containerPort'],
      ['volumeMounts', listAt(each, 'volumeMounts'), 'mountPath'],
    ]),
  ];
  return lists.flatMap(([name, entries, key]) => {
    const keys = entries.map((entry) => String(at(entry, key)));
    return keys.filter((each, index) => keys.indexOf(each) !== index).map((each) => `${name} ${each}`);
  });
}
