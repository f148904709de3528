import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readStoreConfig } from '../../src/config/config.ts';
import { environment } from '../../src/config/environment.ts';
import { musterCommand } from '../support/service/muster-command.ts';
import {
  at,
  CHART,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  parse,
  podsOf,
  render,
  type KubeObject,
  type Values,
} from './support/render.ts';

/* The objects beside the Deployments: definitions, rights, Jobs, the network. */

const names = (objects: readonly KubeObject[], kind: string): string[] =>
  ofKind(objects, kind).map(({ metadata }) => metadata.name);
const filesOf = (folder: string): string[] =>
  readdirSync(join(CHART, 'files', folder)).filter((name) => !name.startsWith('.'));

describeWithHelm('the Job that makes the Secret', () => {
  const containerOf = async (values: Values): Promise<unknown> => {
    const [job] = ofKind(await render({ values }), 'Job');
    return at(job, 'spec', 'template', 'spec', 'containers', 0);
  };

  test('makes the store on etcd as well, and pods take its id from the Secret', async () => {
    const values: Values = {
      store: { type: 'etcd', etcd: { endpoints: ['https://etcd:2379'], tls: { existingSecret: 'tls' } } },
    };
    const container = await containerOf(values);
    expect(listAt(container, 'args').slice(-2)).toEqual(['--store-id-key', 'store-id']);
    expect(listAt(container, 'env').map((variable) => at(variable, 'name'))).toContain('MUSTER_STORE');
    expect(listAt(container, 'volumeMounts').map((mount) => at(mount, 'name'))).toEqual(['etcd-tls']);
    const env = listAt(
      one(await render({ values }), 'Deployment', 'muster'),
      'spec',
      'template',
      'spec',
      'containers',
      0,
      'env',
    );
    expect(env).toContainEqual({
      name: 'MUSTER_STORE_ID',
      valueFrom: { secretKeyRef: { name: 'muster-secrets', key: 'store-id', optional: true } },
    });
  });

  test('touches no embedded store', async () => {
    const container = await containerOf({});
    expect(listAt(container, 'args')).not.toContain('--store-id-key');
    expect(at(container, 'env')).toBeUndefined();
  });
});

describeWithHelm('the definitions', () => {
  test.each([
    [true, 'keep'],
    [false, undefined],
  ])('are the files, and stay after an uninstall: %s', async (keep, policy) => {
    const crds = ofKind(await render({ values: { crds: { keep } } }), 'CustomResourceDefinition');
    expect(crds).toHaveLength(filesOf('crds').length);
    for (const crd of crds) {
      const [file] = parse(readFileSync(join(CHART, 'files/crds', `${crd.metadata.name}.yaml`), 'utf8'));
      expect(at(crd, 'spec')).toEqual(at(file, 'spec'));
      expect(crd.metadata.annotations?.['helm.sh/resource-policy']).toBe(policy);
    }
  });

  test('are not there where somebody else installs them', async () => {
    expect(names(await render({ values: { crds: { install: false } } }), 'CustomResourceDefinition')).toEqual([]);
  });
});

const KINDS = ['fleetaccounts', 'fleetapikeys', 'fleetapps', 'fleetotelconfigs'];

describeWithHelm('who may change the kinds', () => {
  const kindsThat = (role: KubeObject, verb: string): unknown[] =>
    listAt(role, 'rules').flatMap((rule) => (listAt(rule, 'verbs').includes(verb) ? listAt(rule, 'resources') : []));

  test.each([
    [false, [], "accounts are the platform team's, bound by hand"],
    [true, ['admin'], 'whoever administrates a namespace makes them'],
  ])(
    'view reads all, edit writes all but accounts; with aggregateAccounts %s those go to %j (%s)',
    async (aggregateAccounts, to) => {
      const objects = await render({ namespace: 'fleet', values: { operator: { aggregateAccounts } } });
      const [view, edit, accounts] = ['view', 'edit', 'accounts'].map((name) =>
        one(objects, 'ClusterRole', `fleet:muster-${name}`),
      );
      if (!view || !edit || !accounts) return expect.unreachable();
      expect(kindsThat(view, 'get')).toEqual(['fleetaccounts', 'fleetapikeys', 'fleetapps', 'fleetotelconfigs']);
      expect(kindsThat(view, 'patch')).toEqual([]);
      expect(kindsThat(edit, 'patch')).toEqual(['fleetapikeys', 'fleetapps', 'fleetotelconfigs']);
      expect(kindsThat(accounts, 'patch')).toEqual(['fleetaccounts']);
      const aggregatedTo = (role: KubeObject): string[] =>
        Object.keys(role.metadata.labels ?? {}).flatMap((label) => /aggregate-to-(\w+)$/.exec(label)?.[1] ?? []);
      expect([view, edit, accounts].map(aggregatedTo)).toEqual([['admin', 'edit', 'view'], ['admin', 'edit'], to]);
    },
  );

  test('releases whose namespace and name come to the same words share nothing of the cluster', async () => {
    const ofCluster = async (namespace: string, fullnameOverride: string): Promise<string[]> => {
      const objects = await render({ namespace, values: { fullnameOverride, crds: { install: false } } });
      return objects.flatMap(({ kind, metadata }) => (kind.startsWith('Cluster') ? [metadata.name] : []));
    };
    const [one, other] = [await ofCluster('fleet', 'prod-muster'), await ofCluster('fleet-prod', 'muster')];
    expect(one).toHaveLength(5);
    expect(one.filter((name) => other.includes(name))).toEqual([]);
  });

  test('the operator has a Role in each of its namespaces, and none elsewhere', async () => {
    const values = { operator: { namespaces: ['a', 'b'] } };
    const roles = ofKind(await render({ values }), 'Role').filter(
      ({ metadata }) => metadata.name === 'muster-operator',
    );
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(['a', 'b']);
    expect(names(await render({ values: { operator: { enabled: false } } }), 'Role')).toEqual(['muster-make-secrets']);
  });

  test.each<[Values, string[], string | undefined, string]>([
    [{}, [], undefined, "nothing by default: not even the Secret with the operator's token is in reach"],
    [{ watchReleaseNamespace: true }, ['fleet'], 'fleet', "the release's own, where that is said"],
    [{ watchReleaseNamespace: true, namespaces: ['a', 'fleet'] }, ['a', 'fleet'], 'a,fleet', 'each once'],
    [{ namespaceSelector: 'team' }, [], undefined, 'no Role where a label decides: the installer does not know where'],
  ])('with %j there is a Role in %j, and %j is followed by name (%s)', async (operator, inThem, named) => {
    const objects = await render({ values: { operator } });
    const roles = ofKind(objects, 'Role').filter(({ metadata }) => metadata.name === 'muster-operator');
    expect(roles.map(({ metadata }) => metadata.namespace)).toEqual(inThem);
    const variables = environmentOf(one(objects, 'Deployment', 'muster'));
    expect(variables['MUSTER_KUBERNETES_NAMESPACES']).toBe(named);
  });

  test.each<[unknown, string | undefined]>([
    ['team=a,!legacy', 'team=a,!legacy'],
    [{}, undefined],
    [{ matchLabels: { b: 'x', a: '' } }, 'a=,b=x'],
    [
      {
        matchLabels: { 'muster.dev/follow': 'true' },
        matchExpressions: [
          { key: 'env', operator: 'In', values: ['test', 'live'] },
          { key: 'env', operator: 'NotIn', values: ['old'] },
          { key: 'team', operator: 'Exists' },
          { key: 'legacy', operator: 'DoesNotExist' },
        ],
      },
      'muster.dev/follow=true,env in (test,live),env notin (old),team,!legacy',
    ],
  ])('the selector %j is the variable %j, which the product takes', async (namespaceSelector, text) => {
    const muster = one(await render({ values: { operator: { namespaceSelector } } }), 'Deployment', 'muster');
    const variables = environmentOf(muster);
    expect(variables['MUSTER_KUBERNETES_NAMESPACE_SELECTOR']).toBe(text);
    expect(variables).toMatchObject({
      MUSTER_KUBERNETES_SCOPE: 'cluster',
      MUSTER_KUBERNETES_RELEASE: 'fleet/muster',
      MUSTER_KUBERNETES_SERVICE_ACCOUNT: 'fleet/muster',
    });
    if (text !== undefined) expect(environment.shape.MUSTER_KUBERNETES_NAMESPACE_SELECTOR.parse(text)).toBe(text);
  });

  test('the Role that muster kubernetes rbac prints has the rules of the chart, for the same account', async () => {
    const objects = await render({ values: { operator: { namespaces: ['team'] } } });
    const its = ({ kind }: KubeObject): boolean => kind === 'Role' || kind === 'RoleBinding';
    const ofChart = objects.filter((object) => its(object) && object.metadata.namespace === 'team');
    const env = environmentOf(one(objects, 'Deployment', 'muster'));
    const { stdout } = await musterCommand(['kubernetes', 'rbac', 'team'], env);
    const printed = parse(stdout);
    const told = (object: KubeObject): unknown => ({
      kind: object.kind,
      namespace: object.metadata.namespace,
      rules: at(object, 'rules'),
      subjects: at(object, 'subjects'),
    });
    expect(printed.map(told)).toEqual(ofChart.map(told));
    for (const { metadata } of printed) expect(metadata.name).toBe('fleet:muster-operator');
  });

  test.each([
    [true, [], 'the kinds are of the cluster: a Role may go before what it is for'],
    [false, KINDS, 'all is of the namespaces, for who may make nothing in the cluster'],
  ])('with operator.clusterRole %s its Role has of the kinds %j (%s)', async (clusterRole, ofRole) => {
    const values = { operator: { clusterRole, namespaces: ['a', 'b'] } };
    const objects = await render({ values, namespace: 'fleet' });
    const role = ofKind(objects, 'Role').find(({ metadata }) => metadata.name === 'muster-operator');
    if (!role) return expect.unreachable();
    const patched = (of: KubeObject): unknown[] =>
      kindsThat(of, 'patch').filter((kind) => KINDS.includes(String(kind)));
    expect(patched(role)).toEqual(ofRole);
    expect(kindsThat(role, 'watch')).toContain('secrets');
    // A consent to adopt means the namespace by its UID: the ClusterRole reads all of them, a Role its own alone.
    expect([kindsThat(role, 'get').includes('namespaces'), kindsThat(role, 'list').includes('namespaces')]).toEqual([
      !clusterRole,
      false,
    ]);
    const [ofCluster, ...others] = ofKind(objects, 'ClusterRole').filter(
      ({ metadata }) => metadata.name === 'fleet:muster-operator',
    );
    expect([ofCluster === undefined, others]).toEqual([!clusterRole, []]);
    if (!ofCluster) return;
    expect(patched(ofCluster)).toEqual(KINDS);
  });
});

describeWithHelm('the Secret', () => {
  const job = async (values: Values): Promise<KubeObject | undefined> => ofKind(await render({ values }), 'Job')[0];

  test('is made by a Job that is no hook, with the right to create Secrets and no other', async () => {
    const objects = await render();
    const [made] = ofKind(objects, 'Job');
    expect(made?.metadata.annotations).toBeUndefined();
    expect(at(made, 'spec', 'template', 'spec', 'containers', 0, 'args')).toEqual([
      'kubernetes',
      'secrets',
      '--name',
      'muster-secrets',
      '--namespace',
      'fleet',
      '--token-key',
      'operator-token',
      '--keys-key',
      'keys',
    ]);
    expect(listAt(one(objects, 'Role', 'muster-make-secrets'), 'rules')).toEqual([
      { apiGroups: [''], resources: ['secrets'], verbs: ['create'] },
    ]);
    expect(names(objects, 'Secret')).toEqual([]);
  });

  test('has a Job of another name where anything in it is another: a Job cannot be changed', async () => {
    const first = await job({});
    expect((await job({ replicas: 1 }))?.metadata.name).toBe(first?.metadata.name);
    expect((await job({ image: { tag: 'other' } }))?.metadata.name).not.toBe(first?.metadata.name);
  });

  test('that is there is made by nobody', async () => {
    expect(await job({ secrets: { existingSecret: 'mine' } })).toBeUndefined();
  });
});

describeWithHelm('before an uninstall', () => {
  test.each<[string, Values, string[] | undefined]>([
    ['nothing happens where all is kept', {}, undefined],
    ['the resources go before the definitions', { crds: { keep: false } }, ['--release', 'fleet/muster']],
    ['the Secret goes', { secrets: { keep: false } }, ['--no-resources', '--secret', 'muster-secrets']],
    [
      'both go',
      { crds: { keep: false }, secrets: { keep: false } },
      ['--release', 'fleet/muster', '--secret', 'muster-secrets'],
    ],
    ['a Secret of somebody else stays', { secrets: { keep: false, existingSecret: 'mine' } }, undefined],
    ['definitions of somebody else stay', { crds: { keep: false, install: false } }, undefined],
    ['without an operator nothing waits', { crds: { keep: false }, operator: { enabled: false } }, undefined],
  ])('%s', async (_what, values, args) => {
    const hooks = (await render({ values })).filter(
      ({ metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-delete',
    );
    const [job] = ofKind(hooks, 'Job');
    const given = listAt(job, 'spec', 'template', 'spec', 'containers', 0, 'args');
    expect(job && given.slice(0, 3)).toEqual(job && ['kubernetes', 'teardown', '--yes']);
    expect(job && given.slice(7)).toEqual(args);
    // Its rights are there before it.
    const weight = (object: KubeObject): number => Number(object.metadata.annotations?.['helm.sh/hook-weight']);
    for (const hook of hooks.filter(({ kind }) => kind !== 'Job')) expect(weight(hook)).toBeLessThan(0);
  });
});

describeWithHelm('the network policy', () => {
  const policy = async (networkPolicy: Values): Promise<unknown> =>
    at(one(await render({ values: { ...ON_ETCD, networkPolicy } }), 'NetworkPolicy', 'muster'), 'spec');
  const rule = (spec: unknown, way: 'ingress' | 'egress', port: unknown): unknown =>
    listAt(spec, way).find((each) => listAt(each, 'ports').some((one) => at(one, 'port') === port));

  test('is there unless it is turned off', async () => {
    expect(names(await render(), 'NetworkPolicy')).toEqual(['muster']);
    expect(names(await render({ values: { networkPolicy: { enabled: false } } }), 'NetworkPolicy')).toEqual([]);
  });

  test('is about every pod of the release: those of the Jobs and of helm test, too', async () => {
    const values = { crds: { keep: false } };
    const objects = await render({ values });
    const selector = Object.entries(
      at(one(objects, 'NetworkPolicy', 'muster'), 'spec', 'podSelector', 'matchLabels') as Record<string, string>,
    );
    const pods = podsOf(objects);
    expect(new Set(pods.map(({ of }) => of.split(' ')[0]))).toEqual(new Set(['Deployment', 'Job', 'Pod']));
    for (const { of, metadata } of pods) {
      for (const [key, value] of selector) expect(at(metadata, 'labels', key), `${key} of ${of}`).toBe(value);
    }
  });

  test('lets anybody to the API and the devices, and to the ops listener its own namespace alone', async () => {
    const spec = await policy({});
    expect([rule(spec, 'ingress', 'api'), rule(spec, 'ingress', 'device')].map((each) => at(each, 'from'))).toEqual([
      undefined,
      undefined,
    ]);
    const own = { podSelector: {} };
    expect(at(rule(spec, 'ingress', 'ops'), 'from')).toEqual([own]);
    const from = { namespaceSelector: { matchLabels: { a: 'b' } } };
    const narrower = await policy({ apiFrom: [from], opsFrom: [from] });
    expect(at(rule(narrower, 'ingress', 'api'), 'from')).toEqual([from]);
    expect(at(rule(narrower, 'ingress', 'ops'), 'from')).toEqual([own, from]);
  });

  test('lets the namespace that is named for monitoring to the ops listener, and to nothing else', async () => {
    const named = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } };
    const spec = await policy({ monitoringNamespace: 'monitoring', apiFrom: [{ podSelector: {} }] });
    expect(at(rule(spec, 'ingress', 'ops'), 'from')).toEqual([{ podSelector: {} }, named]);
    expect(at(rule(spec, 'ingress', 'api'), 'from')).toEqual([{ podSelector: {} }]);
  });

  test('lets it to DNS, to etcd at its ports, to the API server, and nowhere else', async () => {
    const spec = await policy({});
    expect(listAt(spec, 'egress').map((each) => listAt(each, 'ports').map((port) => at(port, 'port')))).toEqual([
      [53, 53, 5353, 5353],
      ['ops'],
      [2379],
      [443, 6443, 8443, 16_443],
    ]);
    expect(
      at(rule(await policy({ etcdPorts: [1], etcdTo: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }), 'egress', 1), 'to'),
    ).toEqual([{ ipBlock: { cidr: '10.0.0.0/8' } }]);
    expect(at(await policy({ egress: false }), 'policyTypes')).toEqual(['Ingress']);
  });

  test('lets it to etcd also where its addresses have a slash, blanks or capitals', async () => {
    const store = { type: 'etcd', etcd: { endpoints: ['HTTP://Etcd-0:2379/', ' http://etcd-1:2380 '] } };
    const objects = await render({ values: { ...ON_ETCD, store } });
    const spec = at(one(objects, 'NetworkPolicy', 'muster'), 'spec');
    expect(listAt(spec, 'egress', 2, 'ports')).toEqual([{ port: 2379 }, { port: 2380 }]);
    const [{ spec: pod } = { spec: undefined }] = podsOf(objects);
    const variable = listAt(pod, 'containers', 0, 'env').find((each) => at(each, 'name') === 'MUSTER_STORE');
    const env = { MUSTER_STORE: String(at(variable, 'value')) };
    expect(readStoreConfig(env)).toMatchObject({ store: { endpoints: ['http://etcd-0:2379', 'http://etcd-1:2380'] } });
  });

  test.each([
    ['', 8443],
    ['http://proxy.example:3128', 3128],
    ['https://proxy.example', 443],
    ['http://proxy.example/', 80],
  ])('lets it to the provider of sign-ins, through the proxy %j', async (egressProxy, port) => {
    const oidc = { issuer: 'https://id.example.com:8443', clientId: 'muster', existingSecret: 'oidc' };
    const panel = { enabled: true, url: 'https://muster.example.com', oidc };
    const tls = { panel: { existingSecret: 'panel' } };
    const spec = at(
      one(await render({ values: { ...ON_ETCD, config: { egressProxy }, panel, tls } }), 'NetworkPolicy', 'muster'),
      'spec',
    );
    expect(listAt(spec, 'egress', 3, 'ports')).toEqual([{ port }]);
  });

  test('lets the panel to a proxy also where nobody signs in at a provider: collectors are tested through it', async () => {
    const panel = { enabled: true, url: 'https://muster.example.com' };
    const values = { ...ON_ETCD, panel, tls: { panel: { existingSecret: 'panel' } } };
    const config = { egressProxy: 'http://proxy.example:3128' };
    const egressOf = async (more: object) =>
      listAt(at(one(await render({ values: { ...values, ...more } }), 'NetworkPolicy', 'muster'), 'spec'), 'egress');
    expect(await egressOf({ config })).toContainEqual({ ports: [{ port: 3128 }] });
    expect(await egressOf({})).not.toContainEqual({ ports: [{ port: 3128 }] });
  });
});
