import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectKubernetes } from '../../src/controller/kubernetes/client/http-kube-api.ts';
import type { KubeObject } from '../../src/controller/kubernetes/client/kube-api.ts';
import { resourceTypeOf } from '../../src/controller/kubernetes/runtime/resource.ts';
import { condition } from '../../src/controller/kubernetes/schema/common.ts';
import { KIND_SCHEMAS } from '../../src/controller/kubernetes/schema/crd.ts';
import { systemClock } from '../../src/time/clock.ts';
import { AGREED, healthChecks, type HealthChecks } from '../support/kubernetes/gitops-health.ts';
import type { Verdict } from '../support/kubernetes/kstatus.ts';
import { Muster } from '../support/service/muster.ts';
import * as z from 'zod';
import type { ApiAccess } from './support/api-access.ts';
import { ApiFront } from './support/api-front.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, operatorApi } from './support/operated.ts';

/*
 * The operator keeps the conventions of Kubernetes: every version of a resource, from its creation to its end, is
 * judged as kstatus, Argo CD and Flux judge it; and each write says who wrote.
 */

const observedSchema = z.looseObject({
  kind: z.string(),
  metadata: z.looseObject({ name: z.string(), generation: z.int(), deletionTimestamp: z.string().optional() }),
  status: z
    .looseObject({ observedGeneration: z.int().optional(), conditions: z.array(condition).optional() })
    .optional(),
});
type Version = z.infer<typeof observedSchema>;

describeOn('control plane', 'the operator and the conventions', () => {
  let plane: ApiAccess;
  let front: ApiFront;
  let muster: Muster;
  let team: Namespace;
  let checks: HealthChecks;
  const versions: Version[] = [];
  const watching = new AbortController();
  const watches: Promise<void>[] = [];
  beforeAll(async () => {
    plane = await sharedPlane();
    front = await ApiFront.start(plane, { name: 'conventions' });
    team = await Namespace.create(plane, 'conventions');
    checks = await healthChecks();
    await watchAll();
    muster = await Muster.start({ env: operating(front.kubeconfig, team.name) });
  });
  afterAll(async () => {
    watching.abort();
    await Promise.allSettled(watches);
    await muster[Symbol.asyncDispose]();
    await front[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  /** Keeps every version of every resource of the namespace, from the first one on. */
  async function watchAll(): Promise<void> {
    const metrics = { kubernetesAnswered: () => undefined };
    const api = connectKubernetes({ kubeconfig: plane.kubeconfig, clock: systemClock, metrics });
    for (const schema of KIND_SCHEMAS) {
      const type = resourceTypeOf(schema);
      const { resourceVersion } = await api.list(type, team.name, { limit: 1 }, watching.signal);
      const request = { resourceVersion, timeoutSeconds: 3600 };
      const opened = Promise.withResolvers<void>();
      const follow = async (): Promise<void> => {
        for await (const event of api.watch(type, team.name, request, watching.signal)) {
          if (event.type === 'OPENED') opened.resolve();
          else if (event.type !== 'BOOKMARK') versions.push(observedSchema.parse(event.object satisfies KubeObject));
        }
      };
      watches.push(follow());
      await opened.promise;
    }
  }

  const of = (kind: string, name: string): readonly Version[] =>
    versions.filter((version) => version.kind === kind && version.metadata.name === name);
  /** The verdicts of kstatus over a resource's life; the same one again and again counts once. */
  function lifeOf(kind: string, name: string): readonly Verdict[] {
    const verdicts = of(kind, name).map((version) => checks.judge(kind, version).kstatus);
    return verdicts.filter((verdict, index) => verdict !== verdicts[index - 1]);
  }

  const account = { accountRef: { name: 'acme' } };

  test('are current when Ready is true for this generation, at no other moment', async () => {
    const key = { ...account, secretRef: { name: 'key' } };
    const config = { ...account, enabled: true, endpoint: 'https://xn--a.example.com' };
    // Before their account: they wait.
    await team.apply('FleetApiKey', 'key', key);
    await team.ready('fkey', 'key', 'AccountNotFound');
    await team.apply('FleetOtelConfig', 'export', config);
    await team.ready('fotel', 'export', 'AccountNotFound');
    await team.apply('FleetAccount', 'acme', {});
    const { status } = await team.ready('facct', 'acme', 'Synced');
    const issued = await team.ready('fkey', 'key', 'Issued');
    // Only another spec mends the endpoint; only the account's entitlement mends what comes after it.
    await team.ready('fotel', 'export', 'InvalidEndpoint');
    await team.apply('FleetOtelConfig', 'export', { ...config, endpoint: 'https://otel.example.com' });
    await team.ready('fotel', 'export', 'EnterpriseRequired');
    await team.patch('facct', 'acme', { spec: { entitlement: 'enterprise' } });
    await team.ready('facct', 'acme', 'Synced');
    await team.ready('fotel', 'export', 'Synced');
    // Access that was taken away comes back by another spec.
    const path = `accounts/${String(status['accountId'])}/api-keys/${String(issued.status['keyId'])}`;
    await operatorApi(muster, path, 'DELETE');
    await team.ready('fkey', 'key', 'ChangedOutside');
    await team.patch('fkey', 'key', { spec: { displayName: 'again' } });
    await team.ready('fkey', 'key', 'Issued');
    // A Secret that is somebody else's is in the way until it goes.
    await team.kubectl(['create', 'secret', 'generic', 'code']);
    await team.apply('FleetApp', 'scanner', { ...account, enrollment: { secretRef: { name: 'code' } } });
    await team.ready('fapp', 'scanner', 'SecretNotOwned');
    await team.patch('fapp', 'scanner', { spec: { enrollment: { secretRef: { name: 'free' } } } });
    await team.ready('fapp', 'scanner', 'CodeIssued');
    for (const [kind, name] of [
      ['fotel', 'export'],
      ['fapp', 'scanner'],
      ['fkey', 'key'],
      ['facct', 'acme'],
    ] as const) {
      await team.delete(kind, name);
    }
    await team.eventually('the end of every life', () =>
      [of('FleetAccount', 'acme'), of('FleetApiKey', 'key'), of('FleetApp', 'scanner'), of('FleetOtelConfig', 'export')]
        .map((life) => life.at(-1))
        .every((last) => last?.metadata.deletionTimestamp !== undefined),
    );

    for (const version of versions) {
      const { kind, metadata } = version;
      const verdict = checks.judge(kind, version);
      const ready = version.status?.conditions?.find(({ type }) => type === 'Ready');
      const isReady = ready?.status === 'True' && ready.observedGeneration === metadata.generation;
      const what = JSON.stringify(version);
      expect(verdict, `of ${what}`).toEqual({ kstatus: verdict.kstatus, ...AGREED[verdict.kstatus] });
      expect(verdict.kstatus === 'Current', `of ${what}`).toBe(isReady && metadata.deletionTimestamp === undefined);
    }
    const [waiting, failed, current, ending] = ['InProgress', 'Failed', 'Current', 'Terminating'] as const;
    expect(lifeOf('FleetAccount', 'acme')).toEqual([waiting, current, waiting, current, ending]);
    expect(lifeOf('FleetApp', 'scanner')).toEqual([waiting, failed, waiting, current, ending]);
    expect(lifeOf('FleetApiKey', 'key')).toEqual([waiting, current, failed, waiting, current, ending]);
    expect(lifeOf('FleetOtelConfig', 'export')).toEqual([waiting, failed, waiting, current, ending]);
  });

  test('every message of a condition and of an event ends in one full stop', async () => {
    const messages = versions.flatMap(({ status }) => status?.conditions ?? []).map(({ message }) => message);
    const { body } = await plane.ask('GET', `/apis/events.k8s.io/v1/namespaces/${team.name}/events`);
    const notes = (body as { items: { note: string }[] }).items.map(({ note }) => note);
    expect(notes.length).toBeGreaterThan(3);
    for (const text of [...messages, ...notes]) expect(text).toMatch(/[^.\s]\.$/);
  });

  test('`kubectl get -o wide` shows when a key is rotated next', async () => {
    await team.apply('FleetAccount', 'rotating', {});
    await team.apply('FleetApiKey', 'rotating', {
      accountRef: { name: 'rotating' },
      secretRef: { name: 'rotating' },
      rotation: { interval: '720h' },
    });
    const { status } = await team.ready('fkey', 'rotating', 'Issued');
    const shown = await team.kubectl(['get', 'fleetapikeys', 'rotating', '--output=wide']);
    expect(shown).toContain('NEXT ROTATION');
    expect(shown).toContain(String(status['nextRotationAt']));
    expect(shown).not.toContain('<invalid>');
  });

  test('events tell of a resource whose name is as long as names may be, wherever it has its dots', async () => {
    const name = `${'a'.repeat(199)}.${'b'.repeat(53)}`;
    await team.apply('FleetAccount', name, {});
    await team.ready('facct', name, 'Synced');
    await team.told(name, 'AccountCreated');
  });

  test('every write names the field manager, and every request the program', async () => {
    expect(front.seen.length).toBeGreaterThan(20);
    for (const { method, path, fieldManager, userAgent } of front.seen) {
      expect(userAgent, `of ${path}`).toMatch(/^muster\/\d+\.\d+\.\d+ \([a-z0-9]+\/[a-z0-9]+\)$/);
      if (method === 'POST' || method === 'PATCH') expect(fieldManager, `${method} ${path}`).toBe('muster');
    }
    const managers = async (type: string, name: string): Promise<readonly string[]> => {
      const told = await plane.ask('GET', `/${type.replace('NAMESPACE', team.name)}/${name}`);
      const { metadata } = told.body as { metadata: { managedFields: { manager: string; subresource?: string }[] } };
      return metadata.managedFields.map(({ manager, subresource = '' }) => `${manager} ${subresource}`).toSorted();
    };
    const keys = 'apis/muster.dev/v1beta1/namespaces/NAMESPACE/fleetapikeys';
    expect(await managers(keys, 'rotating')).toEqual(['muster ', 'muster status', 'owner ']);
    expect(await managers('api/v1/namespaces/NAMESPACE/secrets', 'rotating')).toEqual(['muster ']);
  });
});
