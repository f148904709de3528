import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { at, CHART, listAt, ON_ETCD, one, render, ROOT, type Values } from '../../charts/support/render.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { eventually } from '../support/control-plane/program.ts';
import { describeOn } from '../support/control-plane/tools.ts';

/*
 * Releases of the chart from one set of values to the next, by helm 3, which applies from the client, and by helm 4,
 * which lets the API server apply. No node runs the pods.
 */

const NO_DEFINITIONS: Values = { ...ON_ETCD, crds: { install: false }, secrets: { existingSecret: 'mine' } };

const env = (name: string, value: string) => ({ name, value });

const ANY = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

describeOn('helm', 'a release', () => {
  let plane: ControlPlane;
  beforeAll(async () => {
    plane = await ControlPlane.start();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  describe.each([3, 4] as const)('of helm %i', (helm) => {
    const namespace = `helm-${helm}`;
    beforeAll(() => plane.kubectl(['create', 'namespace', namespace]));

    const helmRuns = (verb: string, ...more: readonly string[]): Promise<string> =>
      plane.helm(helm, [verb, 'muster', ...more, `--namespace=${namespace}`]);
    const install = (values: Values): Promise<string> => helmRuns('install', CHART, ...flags(values));
    const upgrade = (values: Values): Promise<string> => helmRuns('upgrade', CHART, ...flags(values));
    const field = (path: string): Promise<string> =>
      plane.kubectl(['get', 'deployment/muster', `--namespace=${namespace}`, `--output=jsonpath={${path}}`]);
    const container = (path: string): Promise<string> => field(`.spec.template.spec.containers[0]${path}`);

    test('has the entries of the user in place of those of the chart, and is upgraded', async () => {
      const lists: Values = {
        extraEnv: [env('MUSTER_LOG_LEVEL', 'debug')],
        extraVolumes: [{ name: 'tmp', emptyDir: { sizeLimit: '1Gi' } }],
        extraVolumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        extraContainers: [{ name: 'proxy', image: 'proxy' }],
        initContainers: [{ name: 'first', image: 'first' }],
        imagePullSecrets: ['pull', 'pull'],
      };
      await install({ ...NO_DEFINITIONS, ...lists });
      await upgrade({ ...NO_DEFINITIONS, ...lists, extraEnv: [env('MUSTER_LOG_LEVEL', 'warn')] });
      expect(await container('.env[?(@.name=="MUSTER_LOG_LEVEL")].value')).toBe('warn');
      expect(await field('.spec.template.spec.volumes[?(@.name=="tmp")].emptyDir.sizeLimit')).toBe('1Gi');
      await upgrade(NO_DEFINITIONS);
      expect(await container('.env[?(@.name=="MUSTER_LOG_LEVEL")].value')).toBe('info');
      // The value of a variable can name earlier ones alone; the release had the second one before.
      const extraEnv = [env('LEVEL', 'debug'), env('MUSTER_LOG_LEVEL', '$(LEVEL)')];
      await upgrade({ ...NO_DEFINITIONS, extraEnv });
      expect((await container('.env[*].name')).split(' ').slice(-2)).toEqual(extraEnv.map(({ name }) => name));
      await helmRuns('uninstall');
    });

    test('keeps its number of pods when an autoscaler takes it over, and when that has changed it', async () => {
      const replicas = (): Promise<string> => field('.spec.replicas');
      const autoscaling = { enabled: true, minReplicas: 2, maxReplicas: 9 };
      await install({ ...NO_DEFINITIONS, replicas: 4 });
      expect(await replicas()).toBe('4');
      await upgrade({ ...NO_DEFINITIONS, replicas: 4, autoscaling });
      expect(await replicas()).toBe('4');
      // The autoscaler writes the number as this does, by the subresource.
      await scaled(namespace, 7);
      await upgrade({ ...NO_DEFINITIONS, replicas: 4, autoscaling, config: { logLevel: 'debug' } });
      expect(await replicas()).toBe('7');
      await upgrade({ ...NO_DEFINITIONS, replicas: 4, autoscaling });
      await scaled(namespace, 8);
      await helmRuns('rollback', '3');
      expect(await replicas()).toBe({ 3: '7', 4: '8' }[helm]);
      await helmRuns('uninstall');
      await install({ ...NO_DEFINITIONS, autoscaling });
      expect(await replicas()).toBe('2');
      await helmRuns('uninstall');
    });

    test('keeps the class of its volume and its selector, and takes the former values again', async () => {
      const trial: Values = { crds: { install: false }, secrets: { existingSecret: 'mine' } };
      const onClass = (storageClassName: string): Values => ({
        ...trial,
        store: { sqlite: { persistence: { storageClassName, keep: false } } },
      });
      await install(onClass('standard'));
      await expect(upgrade(onClass('fast'))).rejects.toThrow(/spec: Forbidden: spec is immutable after creation/);
      await expect(upgrade(onClass(''))).rejects.toThrow(/spec: Forbidden: spec is immutable after creation/);
      const renamed: Values = { fullnameOverride: 'muster', nameOverride: 'other' };
      await expect(upgrade({ ...onClass('standard'), ...renamed })).rejects.toThrow(/spec\.selector.*immutable/);
      await upgrade({ ...onClass('standard'), podLabels: { changed: 'yes' } });
      expect(await field('.spec.template.metadata.labels.changed')).toBe('yes');
      await helmRuns('uninstall');
    });

    test('does not leave etcd for the embedded store since an upgrade gave no values, and does where that is wanted', async () => {
      const begun = { crds: { install: false } };
      await install({ ...ON_ETCD, ...begun });
      await expect(upgrade(begun)).rejects.toThrow(
        /store\.type: is sqlite, and the Deployment muster is on etcd: .*--reset-then-reuse-values/,
      );
      expect(await container('.env[?(@.name=="MUSTER_STORE")].value')).toMatch(/^etcd:/);
      await plane.kubectl(['delete', 'deployment/muster', `--namespace=${namespace}`]);
      await upgrade(begun);
      expect(await container('.env[?(@.name=="MUSTER_STORE")].value')).toMatch(/^sqlite:/);
      await upgrade({ ...begun, config: { logLevel: 'debug' } });
      await helmRuns('uninstall', '--no-hooks');
    });

    test('stays whole where the Job before its uninstall cannot run, and goes without hooks', async () => {
      await install({ ...ON_ETCD, crds: { install: false }, secrets: { keep: false } });
      await expect(helmRuns('uninstall', '--timeout=3s')).rejects.toThrow(/timed out|deadline exceeded/);
      expect(await field('.metadata.name')).toBe('muster');
      await helmRuns('uninstall', '--no-hooks');
      await expect(field('.metadata.name')).rejects.toThrow(/not found/);
      await plane.kubectl(['delete', 'job/muster-teardown', `--namespace=${namespace}`]);
    });

    test('may have a dot in its name, an image with tag and digest, and labels that its chart has, too', async () => {
      const values: Values = {
        ...NO_DEFINITIONS,
        image: { tag: `0.1.0@sha256:${'a'.repeat(64)}` },
        commonLabels: { 'app.kubernetes.io/part-of': 'platform', 'app.kubernetes.io/instance': 'other' },
      };
      await plane.helm(helm, ['install', 'fleet.prod', CHART, `--namespace=${namespace}`, ...flags(values)]);
      const named = 'app.kubernetes.io/instance=fleet.prod,app.kubernetes.io/part-of=platform';
      const services = ['get', 'services', `--namespace=${namespace}`, `--selector=${named}`, '--output=name'];
      expect((await plane.kubectl(services)).split('\n')).toContain('service/fleet-prod-muster-ops');
      await plane.helm(helm, ['uninstall', 'fleet.prod', `--namespace=${namespace}`]);
    });
  });

  test.each([3, 4] as const)(
    'of helm %i goes by the routes that are served, in a namespace of its own',
    async (helm) => {
      await servedRoutes();
      const namespace = `own-${helm}`;
      await plane.kubectl(['create', 'namespace', namespace]);
      const route = { enabled: true, kind: 'TLSRoute', parentRefs: [{ name: 'public' }], hostnames: ['d.example'] };
      const values: Values = {
        ...NO_DEFINITIONS,
        namespaceOverride: namespace,
        gateway: { device: route },
        tls: { device: { existingSecret: 'device' } },
        hostUsers: false,
        podDisruptionBudget: { minAvailable: '50%' },
        operator: { clusterSecrets: true, namespaceSelector: { matchLabels: { team: 'a' } } },
      };
      await plane.helm(helm, ['install', 'muster', CHART, '--namespace=default', ...flags(values)]);
      const get = (...what: readonly string[]): Promise<string> =>
        plane.kubectl(['get', `--namespace=${namespace}`, ...what]);
      expect(await get('tlsroutes.gateway.networking.k8s.io', '--output=name')).toContain('/muster-device');
      expect(await get('deployment/muster', '--output=jsonpath={.spec.template.spec.hostUsers}')).toBe('false');
      expect(await get('pdb/muster', '--output=jsonpath={.spec.minAvailable}')).toBe('50%');
      expect(await get('roles', '--output=name')).toBe('');
      const account = `--as=system:serviceaccount:${namespace}:muster`;
      for (const verb of ['list', 'patch']) {
        expect((await plane.kubectl(['auth', 'can-i', verb, 'secrets', '--all-namespaces', account])).trim()).toBe(
          'yes',
        );
      }
      await plane.helm(helm, ['uninstall', 'muster', '--namespace=default']);
    },
  );

  /** Routes of one old version, as a cluster has them that was set up long ago. */
  async function servedRoutes(): Promise<void> {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'tlsroutes.gateway.networking.k8s.io',
        annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' },
      },
      spec: {
        group: 'gateway.networking.k8s.io',
        scope: 'Namespaced',
        names: { kind: 'TLSRoute', plural: 'tlsroutes', singular: 'tlsroute', listKind: 'TLSRouteList' },
        versions: [{ name: 'v1alpha2', served: true, storage: true, schema: { openAPIV3Schema: ANY } }],
      },
    };
    await plane.kubectl(['apply', '--filename=-'], JSON.stringify(definition));
    await plane.kubectl(['wait', '--for=condition=Established', `crd/${definition.metadata.name}`, '--timeout=60s']);
  }

  test('keeps its number of pods also by Argo CD with what the example ignores', async () => {
    await plane.kubectl(['create', 'namespace', 'argo']);
    const deployment = ['deployment/muster', '--namespace=argo'];
    const pointers = ignoredPointers();
    // As its documents say: where a difference is ignored, and that is respected, a sync writes what is there.
    const sync = async (values: Values): Promise<void> => {
      const rendered = await render({ namespace: 'argo', values: { ...NO_DEFINITIONS, ...values } });
      const wanted = structuredClone(one(rendered, 'Deployment', 'muster'));
      const live = await plane.kubectl(['get', ...deployment, '--ignore-not-found', '--output=json']);
      if (live !== '') for (const path of pointers) set(wanted, path, at(JSON.parse(live), ...path));
      await plane.kubectl(
        ['apply', '--server-side', '--force-conflicts', '--field-manager=argocd-controller', '--filename=-'],
        JSON.stringify(wanted),
      );
    };
    const replicas = (): Promise<string> => plane.kubectl(['get', ...deployment, '--output=jsonpath={.spec.replicas}']);
    await sync({ replicas: 4 });
    await sync({ autoscaling: { enabled: true } });
    expect(await replicas()).toBe('4');
    await scaled('argo', 7);
    await sync({ autoscaling: { enabled: true }, config: { logLevel: 'debug' } });
    expect(await replicas()).toBe('7');
  });

  async function scaled(namespace: string, replicas: number): Promise<void> {
    const path = `/apis/apps/v1/namespaces/${namespace}/deployments/muster/scale`;
    const patch = { spec: { replicas } };
    const { status } = await plane.ask('PATCH', path, patch, 'application/merge-patch+json');
    expect(status).toBe(200);
    await eventually('the Deployment has them', async () => {
      const read = await plane.kubectl(['get', 'deployment/muster', '-n', namespace, '-o=jsonpath={.spec.replicas}']);
      return read === String(replicas);
    });
  }
});

/** The fields of a Deployment that the example of an Application leaves to others, as paths. */
function ignoredPointers(): string[][] {
  const application = loadYaml(readFileSync(join(ROOT, 'examples/gitops/argo-cd.yaml'), 'utf8'));
  expect(listAt(application, 'spec', 'syncPolicy', 'syncOptions')).toContain('RespectIgnoreDifferences=true');
  const ofDeployments = listAt(application, 'spec', 'ignoreDifferences').filter(
    (each) => at(each, 'group') === 'apps' && at(each, 'kind') === 'Deployment',
  );
  return ofDeployments.flatMap((each) => listAt(each, 'jsonPointers').map((path) => String(path).split('/').slice(1)));
}

function set(object: unknown, path: readonly string[], value: unknown): void {
  const holder = at(object, ...path.slice(0, -1));
  const last = path.at(-1);
  if (typeof holder === 'object' && holder !== null && last !== undefined) Object.assign(holder, { [last]: value });
}

/** `--set-json`'s own spelling of values: `a={…},b={…}`. */
const flags = (values: Values): string[] =>
  Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
