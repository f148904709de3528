import { expect, test } from 'vitest';
import {
  at,
  describeWithHelm,
  environmentOf,
  listAt,
  ofKind,
  ON_ETCD,
  one,
  render,
  type KubeObject,
  type Values,
} from './support/render.ts';

const onEtcd = (more: Values): Values => ({ ...ON_ETCD, ...more });
const deployment = async (values: Values): Promise<KubeObject> => one(await render({ values }), 'Deployment', 'muster');
const names = (objects: readonly KubeObject[], kind: string): string[] =>
  ofKind(objects, kind).map(({ metadata }) => metadata.name);
const podOf = (object: KubeObject): unknown => at(object, 'spec', 'template', 'spec');
const volume = (object: KubeObject, name: string): unknown =>
  listAt(podOf(object), 'volumes').find((volume) => at(volume, 'name') === name);

describeWithHelm('on the embedded store', () => {
  test('one replica at a time, its data on a volume that stays', async () => {
    const objects = await render();
    const muster = one(objects, 'Deployment', 'muster');
    expect(at(muster, 'spec')).toMatchObject({ replicas: 1, strategy: { type: 'Recreate' } });
    expect(volume(muster, 'data')).toEqual({ name: 'data', persistentVolumeClaim: { claimName: 'muster-data' } });
    const claim = one(objects, 'PersistentVolumeClaim', 'muster-data');
    expect(claim.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect(environmentOf(muster)).toMatchObject({ MUSTER_STORE: 'sqlite:/var/lib/muster/muster.db' });
    expect(names(objects, 'PodDisruptionBudget')).toEqual([]);
  });

  test.each<[string, Values, unknown, string[]]>([
    [
      'goes with the release',
      { keep: false },
      { persistentVolumeClaim: { claimName: 'muster-data' } },
      ['muster-data'],
    ],
    ['is there already', { existingClaim: 'mine' }, { persistentVolumeClaim: { claimName: 'mine' } }, []],
    ['is none', { enabled: false }, { emptyDir: {} }, []],
  ])('a volume that %s', async (_what, persistence, expected, claims) => {
    const objects = await render({ values: { store: { sqlite: { persistence } } } });
    expect(volume(one(objects, 'Deployment', 'muster'), 'data')).toEqual({ name: 'data', ...(expected as object) });
    expect(names(objects, 'PersistentVolumeClaim')).toEqual(claims);
    for (const claim of ofKind(objects, 'PersistentVolumeClaim')) expect(claim.metadata.annotations).toBeUndefined();
  });
});

describeWithHelm('on etcd', () => {
  test('two replicas, one more before one less, and one may be missing', async () => {
    const objects = await render({ values: ON_ETCD });
    const muster = one(objects, 'Deployment', 'muster');
    expect(at(muster, 'spec')).toMatchObject({
      replicas: 2,
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    });
    expect(at(one(objects, 'PodDisruptionBudget', 'muster'), 'spec')).toMatchObject({ maxUnavailable: 1 });
    expect(volume(muster, 'data')).toBeUndefined();
    const keys = listAt(podOf(muster), 'topologySpreadConstraints').map((each) => at(each, 'topologyKey'));
    expect(keys).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone']);
  });

  test.each<[string, Values, string[]]>([
    ['one replica', { replicas: 1 }, []],
    ['two replicas', { replicas: 2 }, ['muster']],
    ['none wanted', { replicas: 2, podDisruptionBudget: { enabled: false } }, []],
    ['an autoscaler from one on', { replicas: 3, autoscaling: { enabled: true, minReplicas: 1 } }, []],
    ['an autoscaler from two on', { replicas: 1, autoscaling: { enabled: true, minReplicas: 2 } }, ['muster']],
  ])('a disruption budget with %s', async (_what, values, expected) => {
    expect(names(await render({ values: onEtcd(values) }), 'PodDisruptionBudget')).toEqual(expected);
  });

  test('an autoscaler begins with the least, where no cluster says how many there are', async () => {
    const objects = await render({ values: onEtcd({ replicas: 4, autoscaling: { enabled: true, maxReplicas: 7 } }) });
    expect(at(one(objects, 'Deployment', 'muster'), 'spec', 'replicas')).toBe(2);
    expect(at(one(objects, 'HorizontalPodAutoscaler', 'muster'), 'spec')).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name: 'muster' },
      minReplicas: 2,
      maxReplicas: 7,
    });
  });

  test('certificates and the user come from Secrets, the password as a file', async () => {
    const store = {
      type: 'etcd',
      etcd: {
        endpoints: ['https://a:1', 'https://b:1'],
        tls: { existingSecret: 'client', caKey: 'authority' },
        auth: { existingSecret: 'user', usernameKey: 'name', passwordKey: 'pass' },
      },
    };
    const muster = await deployment({ store });
    expect(environmentOf(muster)).toMatchObject({
      MUSTER_STORE: 'etcd:https://a:1,https://b:1',
      MUSTER_ETCD_CA_FILE: '/etc/muster/etcd/ca.crt',
      MUSTER_ETCD_CERT_FILE: '/etc/muster/etcd/tls.crt',
      MUSTER_ETCD_KEY_FILE: '/etc/muster/etcd/tls.key',
      MUSTER_ETCD_USERNAME: 'user/name',
      MUSTER_ETCD_PASSWORD_FILE: '/etc/muster/etcd-auth/password',
    });
    expect(at(volume(muster, 'etcd-tls'), 'secret')).toMatchObject({
      secretName: 'client',
      items: [
        { key: 'authority', path: 'ca.crt' },
        { key: 'tls.crt', path: 'tls.crt' },
        { key: 'tls.key', path: 'tls.key' },
      ],
    });
    expect(at(volume(muster, 'etcd-auth'), 'secret', 'items')).toEqual([{ key: 'pass', path: 'password' }]);
  });

  test('an authority alone is no mutual TLS', async () => {
    const tls = { existingSecret: 'client', certKey: '', keyKey: '' };
    const muster = await deployment({ store: { type: 'etcd', etcd: { endpoints: ['https://a:1'], tls } } });
    expect(environmentOf(muster)).toMatchObject({ MUSTER_ETCD_CA_FILE: '/etc/muster/etcd/ca.crt' });
    expect(Object.keys(environmentOf(muster))).not.toContain('MUSTER_ETCD_CERT_FILE');
  });
});

describeWithHelm('the spread', () => {
  const spreadOf = async (more: Values): Promise<unknown[]> =>
    listAt(podOf(await deployment(onEtcd(more))), 'topologySpreadConstraints').map((each) => ({
      key: at(each, 'topologyKey'),
      when: at(each, 'whenUnsatisfiable'),
      taints: at(each, 'nodeTaintsPolicy'),
    }));
  const hostname = 'kubernetes.io/hostname';
  const zone = { key: 'topology.kubernetes.io/zone', when: 'ScheduleAnyway', taints: undefined };

  test('over nodes and zones is where that can be', async () => {
    expect(await spreadOf({})).toEqual([{ key: hostname, when: 'ScheduleAnyway', taints: undefined }, zone]);
  });

  test('over nodes is a must where that is said, among those that pods may go to; over zones it never is', async () => {
    expect(await spreadOf({ spread: { whenUnsatisfiable: 'DoNotSchedule' } })).toEqual([
      { key: hostname, when: 'DoNotSchedule', taints: 'Honor' },
      zone,
    ]);
  });

  test('gives way to constraints of your own', async () => {
    const own = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    const spread = { whenUnsatisfiable: 'DoNotSchedule' };
    expect(await spreadOf({ spread, topologySpreadConstraints: [own] })).toEqual([
      { key: 'rack', when: 'DoNotSchedule', taints: undefined },
    ]);
  });
});

describeWithHelm('the bound of disruptions', () => {
  const bound = async (more: Values, name = 'muster'): Promise<unknown> => {
    const { minAvailable, maxUnavailable } = at(
      one(await render({ values: onEtcd(more) }), 'PodDisruptionBudget', name),
      'spec',
    ) as Record<string, unknown>;
    return { minAvailable, maxUnavailable };
  };

  test.each<[Values, Values]>([
    [{}, { maxUnavailable: 1 }],
    [{ maxUnavailable: 0 }, { maxUnavailable: 0 }],
    [{ minAvailable: 0 }, { minAvailable: 0 }],
    [{ minAvailable: '50%' }, { minAvailable: '50%' }],
  ])('%j is %j', async (podDisruptionBudget, expected) => {
    expect(await bound({ podDisruptionBudget })).toEqual(expected);
  });

  test('of one Deployment takes the place of the other one at the top', async () => {
    const split = { enabled: true, device: { podDisruptionBudget: { minAvailable: 2 } } };
    const values = { split, podDisruptionBudget: { maxUnavailable: 2 } };
    expect(await bound(values, 'muster-device')).toEqual({ minAvailable: 2 });
    expect(await bound(values, 'muster-api')).toEqual({ maxUnavailable: 2 });
  });
});

describeWithHelm('split', () => {
  const split = (more: Values = {}): Values => onEtcd({ split: { enabled: true, ...more } });
  const rolesOf = (objects: readonly KubeObject[]): Record<string, string | undefined> =>
    Object.fromEntries(
      ofKind(objects, 'Deployment').map((each) => [each.metadata.name, environmentOf(each)['MUSTER_ROLES']]),
    );

  test('or not, every role is there once', async () => {
    expect(rolesOf(await render({ values: ON_ETCD }))).toEqual({ muster: 'api,device,controller,kubernetes' });
    expect(rolesOf(await render({ values: split() }))).toEqual({
      'muster-api': 'api',
      'muster-device': 'device',
      'muster-controller': 'controller,kubernetes',
    });
    expect(rolesOf(await render({ values: { ...split(), operator: { enabled: false } } }))).toMatchObject({
      'muster-controller': 'controller',
    });
  });

  test('what is set for one takes the place of what is set for all; a false, too', async () => {
    const values = {
      ...split({
        api: { autoscaling: { enabled: false }, replicas: 5 },
        device: { resources: { requests: { cpu: '2' } }, podDisruptionBudget: { enabled: false } },
      }),
      autoscaling: { enabled: true, maxReplicas: 4 },
    };
    const objects = await render({ values });
    expect(at(one(objects, 'Deployment', 'muster-api'), 'spec', 'replicas')).toBe(5);
    expect(names(objects, 'HorizontalPodAutoscaler')).toEqual(['muster-controller', 'muster-device']);
    expect(at(one(objects, 'HorizontalPodAutoscaler', 'muster-device'), 'spec', 'maxReplicas')).toBe(4);
    expect(names(objects, 'PodDisruptionBudget')).toEqual(['muster-api', 'muster-controller']);
    const resources = at(podOf(one(objects, 'Deployment', 'muster-device')), 'containers', 0, 'resources');
    expect(resources).toEqual({ requests: { cpu: '2' } });
  });
});

describeWithHelm('TLS of a listener', () => {
  test('comes from a Secret, to who serves it alone', async () => {
    const values = onEtcd({
      split: { enabled: true },
      tls: { device: { existingSecret: 'cert', certKey: 'chain.pem' } },
    });
    const objects = await render({ values });
    const device = one(objects, 'Deployment', 'muster-device');
    expect(environmentOf(device)).toMatchObject({
      MUSTER_DEVICE_TLS_CERT_FILE: '/etc/muster/tls-device/tls.crt',
      MUSTER_DEVICE_TLS_KEY_FILE: '/etc/muster/tls-device/tls.key',
    });
    expect(at(volume(device, 'tls-device'), 'secret')).toMatchObject({
      secretName: 'cert',
      items: [
        { key: 'chain.pem', path: 'tls.crt' },
        { key: 'tls.key', path: 'tls.key' },
      ],
    });
    expect(volume(one(objects, 'Deployment', 'muster-api'), 'tls-device')).toBeUndefined();
    const protocol = (name: string): unknown => at(one(objects, 'Service', name), 'spec', 'ports', 0, 'appProtocol');
    expect([protocol('muster-device'), protocol('muster-api')]).toEqual(['https', 'http']);
    const controller = environmentOf(one(objects, 'Deployment', 'muster-controller'));
    expect(controller['MUSTER_KUBERNETES_DEVICE_URL']).toBe('https://muster-device.fleet.svc:8081');
  });
});

describeWithHelm('the end of a pod', () => {
  test('it goes on serving for a while, and has the time to drain', async () => {
    const muster = await deployment({ config: { drainDelaySeconds: 20 }, terminationGracePeriodSeconds: 50 });
    expect(environmentOf(muster)).toMatchObject({ MUSTER_DRAIN_DELAY_SECONDS: '20' });
    expect(at(podOf(muster), 'terminationGracePeriodSeconds')).toBe(50);
  });

  test('the probes ask the ops listener: alive, and ready', async () => {
    const container = at(podOf(await deployment({ readinessProbe: { periodSeconds: 9 } })), 'containers', 0);
    expect(at(container, 'livenessProbe', 'httpGet')).toEqual({ path: '/livez', port: 'ops' });
    expect(at(container, 'startupProbe', 'httpGet')).toEqual({ path: '/livez', port: 'ops' });
    expect(at(container, 'readinessProbe')).toMatchObject({
      httpGet: { path: '/readyz', port: 'ops' },
      periodSeconds: 9,
    });
  });
});

describeWithHelm('the group of mounted files', () => {
  test.each<[string, Values, readonly string[], unknown]>([
    ['is one that every user of the pod is in', {}, [], 1000],
    ['is another', { fsGroup: 2000 }, [], 2000],
    ['is none where none is wanted', { fsGroup: null }, [], undefined],
    ['is the platform to choose on OpenShift', {}, ['security.openshift.io/v1'], undefined],
  ])('%s', async (_what, values, apiVersions, expected) => {
    const muster = one(await render({ values, apiVersions }), 'Deployment', 'muster');
    expect(at(podOf(muster), 'securityContext', 'fsGroup')).toBe(expected);
    expect(at(volume(muster, 'secrets'), 'secret', 'defaultMode')).toBe(0o440);
  });
});
