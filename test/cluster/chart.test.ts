import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ofKind, ON_ETCD, parse, ROOT, template, type Values } from '../charts/support/render.ts';
import { musterCommand } from '../support/service/muster-command.ts';
import { ControlPlane } from './support/control-plane/control-plane.ts';
import { eventually } from './support/control-plane/program.ts';
import { describeOn } from './support/control-plane/tools.ts';

/*
 * The chart on a real API server, in namespaces that enforce Pod Security `restricted`. Nobody runs the pods here: what
 * the Jobs would do is done by their commands with the rights of their accounts.
 */

const CHART = join(ROOT, 'charts/muster');
/** The kinds whose definitions a cluster gets from other projects. */
const FOREIGN = new Set(['PodMonitor', 'ServiceMonitor', 'PrometheusRule', 'Certificate', 'TLSRoute', 'HTTPRoute']);

describeOn('helm', 'the chart', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await ControlPlane.start();
    for (const namespace of ['fleet', 'edge-north']) await makeNamespace(namespace);
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  async function makeNamespace(name: string): Promise<void> {
    await plane.kubectl(['create', 'namespace', name]);
    await plane.kubectl(['label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted']);
    await eventually(`${name} has its service account`, async () =>
      (await plane.kubectl(['get', 'serviceaccounts', '--namespace', name, '--output=name'])).includes('default'),
    );
  }

  const muster = async (
    account: string,
    args: readonly string[],
    namespace = 'fleet',
  ): ReturnType<typeof musterCommand> =>
    musterCommand(args, { KUBECONFIG: await plane.serviceAccount(namespace, account) });
  const get = async (...args: readonly string[]): Promise<string> =>
    plane.kubectl(['get', '--namespace=fleet', ...args]);
  const may = async (account: string, ...what: readonly string[]): Promise<boolean> =>
    plane
      .kubectl(['auth', 'can-i', ...what, `--as=system:serviceaccount:fleet:${account}`])
      .then((answer) => answer.trim() === 'yes')
      .catch(() => false);

  describe('every example', () => {
    test.each(['laptop', 'external-etcd', 'gitops'])('%s is taken field by field', async (name) => {
      const rendered = await template({ file: join(ROOT, 'examples', name, 'values.yaml') });
      const own = parse(rendered).filter(({ kind }) => !FOREIGN.has(kind) && kind !== 'Pod');
      const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: own });
      const said = await plane.kubectl(['apply', '--dry-run=server', '--validate=strict', '--filename=-'], list);
      expect(said.trim().split('\n')).toHaveLength(own.length);
    });
  });

  describe.each([3, 4] as const)('with helm %i', (helm) => {
    // Helm 4 takes up what helm 3 has left: the definitions name their release.
    const release = 'muster';
    const install = (values: Values, verb: readonly string[]): Promise<string> =>
      plane.helm(helm, [...verb, release, CHART, '--namespace=fleet', `--set-json=${flags(values)}`]);

    test('it is installed, upgraded and rolled back, its pods are admitted, and its notes name the next steps', async () => {
      const said = await install({}, ['install']);
      const nowhere = 'Custom resources are followed in NO namespace.';
      for (const words of [`helm test ${release}`, 'port-forward service/', '/operator/v1/accounts', nowhere]) {
        expect(said).toContain(words);
      }
      await eventually(
        'a pod is admitted',
        async () =>
          (await get(
            'pods',
            '--output=name',
            '--selector',
            `app.kubernetes.io/instance=${release},muster.dev/api=true`,
          )) !== '',
      );
      const established = await get(
        'crd',
        'fleetapps.muster.dev',
        '--output=jsonpath={.status.conditions[?(@.type=="Established")].status}',
      );
      expect(established).toBe('True');
      const [job] = (await get('jobs', '--output=name', '--selector', `app.kubernetes.io/instance=${release}`))
        .trim()
        .split('\n');
      await install({ image: { tag: 'other' } }, ['upgrade']);
      const jobs = (await get('jobs', '--output=name', '--selector', `app.kubernetes.io/instance=${release}`))
        .trim()
        .split('\n');
      expect(jobs).toHaveLength(1);
      expect(jobs[0]).not.toBe(job);
      await plane.helm(helm, ['rollback', release, '1', '--namespace=fleet']);
      expect((await get('jobs', '--output=name', '--selector', `app.kubernetes.io/instance=${release}`)).trim()).toBe(
        job,
      );
    });

    test('an uninstall leaves the objects that `keep` names, and the next install adopts them', async () => {
      await plane.helm(helm, ['uninstall', release, '--namespace=fleet']);
      const left = await get(
        'deployments,services,serviceaccounts,roles,rolebindings,jobs,persistentvolumeclaims',
        '--output=name',
        '--selector',
        `app.kubernetes.io/instance=${release}`,
      );
      expect(left.trim()).toBe(`persistentvolumeclaim/${release}-data`);
      expect(await get('crd', '--output=name')).toContain('fleetapps.muster.dev');
      await install({}, ['install']);
      await plane.helm(helm, ['uninstall', release, '--namespace=fleet']);
      await plane.kubectl(['delete', 'pvc', `${release}-data`, '--namespace=fleet']);
    });
  });

  describe('the rights', () => {
    beforeAll(async () => {
      const values = { ...ON_ETCD, operator: { namespaces: ['edge-north'], watchReleaseNamespace: true } };
      await plane.helm(3, ['install', 'muster', CHART, '--namespace=fleet', `--set-json=${flags(values)}`]);
    });
    afterAll(async () => {
      await plane.helm(3, ['uninstall', 'muster', '--namespace=fleet', '--no-hooks']);
    });

    test('of the operator end at its namespaces', async () => {
      await makeNamespace('elsewhere');
      for (const namespace of ['fleet', 'edge-north']) {
        expect(await may('muster', 'patch', 'secrets', `--namespace=${namespace}`)).toBe(true);
        expect(await may('muster', 'watch', 'fleetapps.muster.dev', `--namespace=${namespace}`)).toBe(true);
      }
      expect(await may('muster', 'get', 'secrets', '--namespace=elsewhere')).toBe(false);
      expect(await may('muster', 'list', 'secrets', '--all-namespaces')).toBe(false);
      // A namespace that is deleted may have lost its Roles: what finalizers need does not lie there.
      expect(await may('muster', 'patch', 'fleetapps.muster.dev', '--namespace=elsewhere')).toBe(true);
      expect(await may('muster', 'delete', 'fleetapps.muster.dev', '--namespace=elsewhere')).toBe(false);
      expect(await may('muster', 'get', 'namespaces/edge-north')).toBe(true);
      expect(await may('muster', 'patch', 'namespaces/elsewhere')).toBe(false);
      expect(await may('muster', 'create', 'fleetapps.muster.dev', '--namespace=fleet')).toBe(false);
    });

    test('to edit or to admin a namespace do not reach accounts, which a ClusterRole of its own does', async () => {
      for (const role of ['edit', 'admin']) {
        await plane.kubectl(['create', 'serviceaccount', role, '--namespace=fleet']);
        await plane.kubectl([
          'create',
          'rolebinding',
          role,
          `--clusterrole=${role}`,
          `--serviceaccount=fleet:${role}`,
          '--namespace=fleet',
        ]);
      }
      await eventually('the roles are aggregated', () =>
        may('admin', 'create', 'fleetapps.muster.dev', '--namespace=fleet'),
      );
      expect(await may('admin', 'create', 'fleetaccounts.muster.dev', '--namespace=fleet')).toBe(false);
      const toPlatform = ['--clusterrole=fleet:muster-accounts', '--serviceaccount=fleet:edit', '--namespace=fleet'];
      expect(await may('edit', 'create', 'fleetapps.muster.dev', '--namespace=fleet')).toBe(true);
      expect(await may('edit', 'get', 'fleetaccounts.muster.dev', '--namespace=fleet')).toBe(true);
      expect(await may('edit', 'create', 'fleetaccounts.muster.dev', '--namespace=fleet')).toBe(false);
      await plane.kubectl(['create', 'rolebinding', 'accounts', ...toPlatform]);
      await eventually('the binding to hold', () =>
        may('edit', 'create', 'fleetaccounts.muster.dev', '--namespace=fleet'),
      );
    });

    test('beside another release, which brings no definitions, has names of its own', async () => {
      await makeNamespace('fleet-too');
      const values = { ...ON_ETCD, crds: { install: false }, operator: { namespaceSelector: 'team' } };
      const said = await plane.helm(3, [
        'install',
        'muster',
        CHART,
        '--namespace=fleet-too',
        `--set-json=${flags(values)}`,
      ]);
      expect(said).toContain('muster kubernetes rbac NAMESPACE');
      const bindings = await get('clusterrolebindings', '--output=name');
      for (const namespace of ['fleet', 'fleet-too']) {
        expect(bindings).toContain(`clusterrolebinding.rbac.authorization.k8s.io/${namespace}:muster-operator\n`);
      }
      await plane.helm(3, ['uninstall', 'muster', '--namespace=fleet-too', '--no-hooks']);
    });

    test('of the Job that makes the Secret: it makes it once, and can neither read nor change it', async () => {
      const [job] = ofKind(parse(await template({ values: ON_ETCD })), 'Job');
      expect(job).toBeDefined();
      const args = ['kubernetes', 'secrets', '--name=muster-secrets', '--namespace=fleet'];
      const content = (): Promise<string> => get('secret', 'muster-secrets', '--output=jsonpath={.data}');
      expect((await muster('muster-make-secrets', args)).code).toBe(0);
      const first = await content();
      const again = await Promise.all([1, 2, 3].map(() => muster('muster-make-secrets', args)));
      expect(again.map(({ code, stderr }) => [code, stderr.includes('stays as it is')])).toEqual([
        [0, true],
        [0, true],
        [0, true],
      ]);
      expect(await content()).toBe(first);
      const { 'operator-token': token = '', keys = '' } = JSON.parse(first) as Record<string, string>;
      expect(Buffer.from(token, 'base64').toString()).toMatch(/^\w{43}\n$/);
      expect(Buffer.from(keys, 'base64').toString()).toMatch(/^1:[\w+/]{43}=\n$/);
      for (const verb of ['get', 'list', 'update', 'patch', 'delete']) {
        expect(await may('muster-make-secrets', verb, 'secrets', '--namespace=fleet')).toBe(false);
      }
      const elsewhere = await muster('muster-make-secrets', [...args.slice(0, 3), '--namespace=edge-north']);
      expect([elsewhere.code, elsewhere.stderr]).toEqual([
        1,
        expect.stringContaining('cannot create resource "secrets"'),
      ]);
    });
  });

  describe('before an uninstall that takes the definitions', () => {
    const args = ['kubernetes', 'teardown', '--yes', '--timeout=3s', '--namespace=fleet'];
    const account = (name: string, finalizers: readonly string[]): string =>
      JSON.stringify({
        apiVersion: 'muster.dev/v1beta1',
        kind: 'FleetAccount',
        metadata: { name, namespace: 'edge-north', finalizers },
        spec: { displayName: name, entitlement: 'standard' },
      });
    beforeAll(async () => {
      // helm does the same with a hook: it makes account and rights of the Job for as long as it runs.
      const hooks = parse(await template({ values: { crds: { keep: false }, secrets: { keep: false } } })).filter(
        ({ kind, metadata }) => metadata.annotations?.['helm.sh/hook'] === 'pre-delete' && kind !== 'Job',
      );
      await plane.kubectl(['apply', '--filename=-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: hooks }));
    });

    test('it waits for finalizers, and names the resource that it waits for', async () => {
      await plane.kubectl(['create', '--filename=-'], account('held', ['muster.dev/held']));
      await plane.kubectl(['create', '--filename=-'], account('free', []));
      const held = await muster('muster-teardown', args);
      expect(held.code).toBe(1);
      expect(held.stderr).toContain('1 custom resources are still there: fleetaccounts edge-north/held.');
      await plane.kubectl([
        'patch',
        'fleetaccount',
        'held',
        '--namespace=edge-north',
        '--type=merge',
        '--patch={"metadata":{"finalizers":null}}',
      ]);
      const done = await muster('muster-teardown', [...args, '--secret=muster-secrets']);
      expect([done.code, done.stderr]).toEqual([
        0,
        expect.stringContaining('The Secret fleet/muster-secrets is deleted.'),
      ]);
      expect(await get('fleetaccounts', '--all-namespaces', '--output=name')).toBe('');
      expect((await muster('muster-teardown', [...args, '--secret=muster-secrets'])).code).toBe(0);
    });

    test('it may delete that Secret and no other', async () => {
      expect(await may('muster-teardown', 'delete', 'secrets/muster-secrets', '--namespace=fleet')).toBe(true);
      expect(await may('muster-teardown', 'delete', 'secrets/another', '--namespace=fleet')).toBe(false);
      expect(await may('muster-teardown', 'get', 'secrets/muster-secrets', '--namespace=fleet')).toBe(false);
    });
  });
});

/** `--set-json`'s own spelling of values: `a={…},b={…}`. */
const flags = (values: Values): string =>
  Object.entries({ enabled: true, ...values })
    .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    .join(',');
