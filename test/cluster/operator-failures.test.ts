import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import type { ApiAccess } from './support/api-access.ts';
import { ApiFront } from './support/api-front.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, works, type Condition, type Told } from './support/operated.ts';
import { OperatorRights, RefusingPolicy } from './support/refusals.ts';

/*
 * A write that the API server refuses, or that Muster's store does not take: the resource, an event and a metric say
 * so, nothing that is said is untrue, and all is well again when the cause is gone.
 */

/** The clock moves on by this at each check: pauses after failures pass soon. */
const STEP_MS = 500;

describeOn('control plane', 'the operator, where a step fails', () => {
  const clock = new FakeClock(Date.now());
  let plane: ApiAccess;
  let front: ApiFront;
  let muster: Muster;
  let store: FaultyStore;
  let team: Namespace;
  let rights: OperatorRights;
  let rounds = 0;
  let name = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    front = await ApiFront.start(plane, { name: 'failures', rights: 'those of the client' });
    team = await Namespace.create(plane, 'team', { looking: () => clock.advance(STEP_MS) });
    rights = await OperatorRights.create(plane, team);
    const kubeconfig = await plane.serviceAccount(team.name, rights.account, front.server);
    muster = await Muster.start({
      clock,
      env: operating(kubeconfig, team.name),
      wrapStore: (wrapped) => (store = faultyStore(wrapped)),
    });
    await team.apply('FleetAccount', 'acme', { entitlement: 'enterprise' });
    await team.ready('facct', 'acme', 'Synced');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await front?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `one-${(rounds += 1)}`;
  });
  afterEach(async () => {
    front.meddle = () => undefined;
    store.down.clear();
    store.full = 0.5;
    await rights.allow('writes');
  });

  const accountRef = { name: 'acme' };
  const applyApp = (more: object = {}): Promise<void> =>
    team.apply('FleetApp', name, { accountRef, enrollment: { secretRef: { name } }, ...more });
  const applyKey = (secret = name): Promise<void> =>
    team.apply('FleetApiKey', name, { accountRef, secretRef: { name: secret } });

  const readyOf = ({ status }: Told): Condition | undefined => status.conditions?.find(({ type }) => type === 'Ready');
  const conditionOf = ({ status }: Told, named: string): Condition | undefined =>
    status.conditions?.find(({ type }) => type === named);
  /** The reason of each status that was written for the resource, in order. */
  const written = (plural: string): readonly (string | undefined)[] =>
    front.seen
      .filter(({ method, path }) => method === 'PATCH' && path.endsWith(`/${plural}/${name}/status`))
      .map(({ body }) => readyOf(JSON.parse(body) as Told)?.reason);
  /**
   * The same, once the last one has this reason: the front notes a write when it is answered, which others may see
   * before.
   */
  const writtenUpTo = async (plural: string, reason: string): Promise<readonly (string | undefined)[]> => {
    await team.eventually(`the front to note ${reason}`, async () => written(plural).at(-1) === reason);
    return written(plural);
  };
  const failures = async (kind: string, reason: string): Promise<number> => {
    const { text } = await call(`${muster.ops}/metrics`);
    const series = `muster_kubernetes_reconcile_failures_total{kind="${kind}",reason="${reason}"}`;
    const line = text.split('\n').find((one) => one.startsWith(series));
    return Number(line?.slice(series.length) ?? 0);
  };
  const secrets = (): string => `/api/v1/namespaces/${team.name}/secrets`;
  const attempts = (): number =>
    front.seen.filter(({ method, path, body }) => method === 'POST' && path.endsWith('/secrets') && body.includes(name))
      .length;

  test('without the right to write Secrets a new app says so, and says which app it is; with it, all is well', async () => {
    const before = await failures('FleetApp', 'SecretWriteFailed');
    await rights.refuse('writes');
    await applyApp();
    const told = await team.ready('fapp', name, 'SecretWriteFailed');
    expect(readyOf(told)).toMatchObject({ status: 'False' });
    expect(readyOf(told)?.message).toContain(`The Secret ${name} cannot be written: User "`);
    expect(readyOf(told)?.message).toContain('cannot create resource "secrets"');
    expect(told.status['appId']).toMatch(/^[A-Za-z0-9_-]{20,}$/);
    expect(told.status['state']).toBe('pending');
    expect(conditionOf(told, 'Enrolled')?.status).toBe('False');
    await team.told(name, 'SecretWriteFailed');
    expect(await failures('FleetApp', 'SecretWriteFailed')).toBeGreaterThan(before);
    await rights.allow('writes');
    const healed = await team.ready('fapp', name, 'CodeIssued');
    expect(healed.status['appId']).toBe(told.status['appId']);
    expect(await team.secret(name, 'appId')).toBe(told.status['appId']);
  });

  test('so does a new key, and it is written once however often it is tried', async () => {
    await rights.refuse('writes');
    await applyKey();
    await team.ready('fkey', name, 'SecretWriteFailed');
    await team.eventually('further attempts', () => attempts() >= 4);
    expect(await writtenUpTo('fleetapikeys', 'SecretWriteFailed')).toEqual(['SecretWriteFailed']);
    expect(await team.events(name)).toEqual(['SecretWriteFailed']);
    await rights.allow('writes');
    await team.ready('fkey', name, 'Issued');
    expect(await works(muster, await team.secret(name, 'apiKey'))).toBe(true);
  });

  test('a ready app whose Secret is deleted is not Ready while there is no Secret', async () => {
    await applyApp();
    await team.ready('fapp', name, 'CodeIssued');
    await rights.refuse('writes');
    await team.delete('secret', name);
    const told = await team.ready('fapp', name, 'SecretWriteFailed');
    expect(readyOf(told)).toMatchObject({ status: 'False' });
    await rights.allow('writes');
    await team.ready('fapp', name, 'CodeIssued');
    expect(await team.secret(name, 'enrollCode')).toBeDefined();
  });

  test('a ResourceQuota that leaves no room is named, and what is used of it is not, which would change', async () => {
    await rights.limitSecrets(0);
    await applyApp();
    const told = await team.ready('fapp', name, 'SecretWriteFailed');
    expect(readyOf(told)?.message).toContain(
      `The Secret ${name} cannot be written: exceeded quota: none, requested: secrets=1, limited: secrets=0.`,
    );
    await rights.limitSecrets(undefined);
    await team.ready('fapp', name, 'CodeIssued');
  });

  test.each<[string, string]>([
    ['as it lies there', 'object.data.apiKey'],
    ['in part', 'object.data.apiKey.substring(3)'],
    ['in pieces', 'object.data.apiKey.split("").join("-")'],
  ])('a policy that quotes the value %s is named, and its words go nowhere', async (_how, quoting) => {
    const policy = await RefusingPolicy.create(plane, team, {
      resource: 'secrets',
      operation: 'CREATE',
      message: `'refused ' + ${quoting}`,
      trial: ['POST', secrets(), { metadata: { name }, data: { apiKey: 'QUFBQQ==' } }],
    });
    await applyKey();
    const told = await team.ready('fkey', name, 'SecretWriteFailed');
    expect(readyOf(told)?.message).toContain(
      `ValidatingAdmissionPolicy '${policy.name}' with binding '${policy.name}' denied request`,
    );
    expect(readyOf(told)?.message).not.toContain('refused ');
    await team.told(name, 'SecretWriteFailed');
    const sent = front.seen.filter(({ path, body }) => path.endsWith('/secrets') && body.includes(`"${name}"`));
    const values = sent.map(({ body }) => (JSON.parse(body) as Told).data?.['apiKey'] ?? '');
    expect(values.every((value) => value.length > 20)).toBe(true);
    const { text: metrics } = await call(`${muster.ops}/metrics`);
    const events = JSON.stringify(await plane.ask('GET', `/apis/events.k8s.io/v1/namespaces/${team.name}/events`));
    const said = [JSON.stringify(await team.get('fkey', name)), events, metrics, ...muster.logged].join('\n');
    for (const value of values) {
      const key = Buffer.from(value, 'base64').toString();
      for (const shape of [value, value.slice(3), key, value.split('').join('-')])
        expect(said).not.toContain(shape.slice(0, 24));
    }
    await policy.remove();
    await team.ready('fkey', name, 'Issued');
  });

  test('a Secret of another name that cannot be removed is told of, while the key works', async () => {
    await applyKey();
    await team.ready('fkey', name, 'Issued');
    const policy = await RefusingPolicy.create(plane, team, {
      resource: 'secrets',
      operation: 'DELETE',
      message: `'kept'`,
      trial: ['DELETE', `${secrets()}/${name}`],
    });
    await applyKey(`${name}-new`);
    const told = await team.ready('fkey', name, 'Issued');
    clock.advance(600_000);
    const after = await team.ready('fkey', name, 'SecretDeleteFailed');
    expect(after.status['keyId']).toBe(told.status['keyId']);
    expect(await works(muster, await team.secret(`${name}-new`, 'apiKey'))).toBe(true);
    await policy.remove();
    await team.ready('fkey', name, 'Issued');
    await team.eventually('the former Secret to be gone', async () => (await team.get('secret', name)) === undefined);
  });

  test('a deleted resource that cannot be let go of says why, as long as it is there', async () => {
    await applyApp();
    await team.ready('fapp', name, 'CodeIssued');
    const policy = await RefusingPolicy.create(plane, team, {
      group: 'muster.dev',
      resource: 'fleetapps',
      operation: 'UPDATE',
      message: `'stays'`,
      trial: [
        'PATCH',
        `/apis/muster.dev/v1beta1/namespaces/${team.name}/fleetapps/${name}`,
        { metadata: { labels: { a: 'b' } } },
      ],
    });
    await team.kubectl(['delete', 'fapp', name, '--wait=false']);
    const told = await team.ready('fapp', name, 'ApiServerRefused');
    expect(readyOf(told)?.message).toContain('denied request: stays.');
    await team.told(name, 'ApiServerRefused');
    await policy.remove();
    await team.eventually('it to be gone', async () => (await team.get('fapp', name)) === undefined);
  });

  test('an outage of the store for a moment changes nothing; one that lasts is told of, and passes', async () => {
    await applyApp();
    const { status } = await team.ready('fapp', name, 'CodeIssued');
    const before = (await writtenUpTo('fleetapps', 'CodeIssued')).length;
    const failed = await failures('FleetApp', 'StoreUnavailable');
    store.down.add('commit');
    await applyApp({ desiredState: 'Revoked' });
    await team.eventually('one failure', async () => (await failures('FleetApp', 'StoreUnavailable')) > failed);
    expect(written('fleetapps')).toHaveLength(before);
    const told = await team.ready('fapp', name, 'StoreUnavailable');
    expect(told.status['appId']).toBe(status['appId']);
    store.down.clear();
    await team.ready('fapp', name, 'Revoked');
    expect((await writtenUpTo('fleetapps', 'Revoked')).slice(before)).toEqual(['StoreUnavailable', 'Revoked']);
  });

  test('a nearly full store gives a key and an app no other secret: no Secret holds what does not work', async () => {
    const [app, key] = [`${name}-app`, `${name}-key`];
    const keySpec = { accountRef, secretRef: { name: key } };
    await team.apply('FleetApiKey', key, keySpec);
    await team.apply('FleetApp', app, { accountRef, enrollment: { secretRef: { name: app } } });
    await team.ready('fkey', key, 'Issued');
    await team.ready('fapp', app, 'CodeIssued');
    const first = await team.secret(key, 'apiKey');
    store.full = 0.85;
    await team.apply('FleetApiKey', key, { ...keySpec, expiresAt: '2099-01-01T00:00:00Z' });
    await team.delete('secret', app);
    await team.ready('fkey', key, 'StoreUnavailable');
    await team.ready('fapp', app, 'StoreUnavailable');
    expect(await team.secret(key, 'apiKey')).toBe(first);
    expect(await works(muster, first)).toBe(true);
    expect(await team.get('secret', app)).toBeUndefined();
    store.full = 0.5;
    await team.ready('fkey', key, 'Issued');
    await team.ready('fapp', app, 'CodeIssued');
    const second = await team.secret(key, 'apiKey');
    expect(second).not.toBe(first);
    expect(await works(muster, second)).toBe(true);
    expect(await team.secret(app, 'enrollCode')).toBeDefined();
  });

  test('a configuration whose header cannot be read says so, and promises nothing', async () => {
    await team.kubectl(['create', 'secret', 'generic', name, '--from-literal=header=Bearer x']);
    await team.kubectl(['label', 'secret', name, 'muster.dev/auth-header=true']);
    const annotations = {
      'muster.dev/auth-header-for': name,
      'muster.dev/auth-header-endpoint': 'https://otel.example.com',
    };
    await team.patch('secret', name, { metadata: { annotations } });
    const spec = { accountRef, enabled: true, endpoint: 'https://otel.example.com/v1/logs' };
    await team.apply('FleetOtelConfig', name, { ...spec, authHeaderSecretRef: { name, key: 'header' } });
    await team.ready('fotel', name, 'Synced');
    await rights.refuse('reads');
    clock.advance(60_000);
    const told = await team.ready('fotel', name, 'SecretReadFailed');
    expect(conditionOf(told, 'Synced')?.status).toBe('Unknown');
    expect(conditionOf(told, 'Delivered')?.status).toBe('Unknown');
    await rights.allow('reads');
    await team.ready('fotel', name, 'Synced');
    await team.delete('fotel', name);
  });
});
