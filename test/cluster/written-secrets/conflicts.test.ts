import { afterAll, beforeAll, expect, test } from 'vitest';
import { setOtel } from '../../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import {
  apiKeysOf,
  endOverlap,
  Namespace,
  operating,
  operatorApi,
  works,
  type Condition,
} from '../support/operated.ts';

/*
 * Another writer that changes what Muster writes, as fast as it can: Muster answers three times at once, then once a
 * minute, then once in ten, and says meanwhile who is in the way. The clock moves only as far as a test says.
 */

const MINUTE_MS = 60_000;
/** More than Muster answers at once. */
const ROUNDS = 8;

describeOn('control plane', 'the operator, where another writer does not stop', () => {
  const clock = new FakeClock(Date.now());
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let accountId = '';
  let apiKey: string | undefined;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team', { looking: () => clock.advance(50) });
    // The test polls more often than a daemon.
    const env = { ...operating(plane.kubeconfig, team.name), MUSTER_DEVICE_RATE_PER_MINUTE: '6000' };
    muster = await Muster.start({ clock, env });
    await team.apply('FleetAccount', 'acme', { entitlement: 'enterprise' });
    accountId = String((await team.ready('facct', 'acme', 'Synced')).status['accountId']);
    apiKey = await team.issuedKey('reader', 'acme');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  const accountRef = { name: 'acme' };
  const FOREIGN = Buffer.from('foreign').toString('base64');
  const readyOf = async (kind: string, name: string): Promise<Condition | undefined> =>
    (await team.get(kind, name))?.status.conditions?.find(({ type }) => type === 'Ready');
  const isHeld = async (kind: string, name: string): Promise<boolean> =>
    (await readyOf(kind, name))?.reason === 'WriteConflict';

  /**
   * Overwrites a value of the Secret until the resource says that it is held back.
   * @returns how often it was put right
   */
  async function fight(kind: string, name: string, key: string, rounds = ROUNDS): Promise<number> {
    let answers = 0;
    for (let round = 0; round < rounds; round += 1) {
      await team.patch('secret', name, { data: { [key]: FOREIGN } }, 'rival');
      await team.eventually('an answer, or none any more', async () => {
        return (await team.secret(name, key)) !== 'foreign' || (await isHeld(kind, name));
      });
      if ((await team.secret(name, key)) === 'foreign') return answers;
      answers += 1;
    }
    return answers;
  }

  test('a key is re-issued three times at once, then a minute later, and the other writer is named', async () => {
    const rotation = { interval: '1000h', overlap: '0s' };
    await team.apply('FleetApiKey', 'fought', { accountRef, secretRef: { name: 'fought' }, rotation });
    await team.ready('fkey', 'fought', 'Issued');
    expect(await fight('fkey', 'fought', 'apiKey')).toBe(3);
    const held = await readyOf('fkey', 'fought');
    expect(held).toMatchObject({ status: 'False', reason: 'WriteConflict' });
    expect(held?.message).toContain('The Secret fought');
    expect(held?.message).toContain('“rival”');
    await team.told('fought', 'WriteConflict');
    const { text } = await call(`${muster.ops}/metrics`);
    expect(text).toContain('muster_kubernetes_write_conflicts{kind="FleetApiKey"} 1');
    clock.advance(MINUTE_MS);
    await team.ready('fkey', 'fought', 'Issued');
    expect(await works(muster, await team.secret('fought', 'apiKey'))).toBe(true);
    expect(await fight('fkey', 'fought', 'apiKey')).toBe(0);
  });

  test('an admission policy that changes what Muster writes makes one key, and is told of as what nobody else wrote', async () => {
    const name = `relabels-${team.name}`;
    const expression = 'Object{metadata: Object.metadata{labels: {"app.kubernetes.io/managed-by": "platform"}}}';
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': team.name } };
    const secrets = { apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE', 'UPDATE'] };
    const spec = {
      reinvocationPolicy: 'Never',
      matchConstraints: { namespaceSelector, resourceRules: [secrets] },
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    };
    const path = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic';
    await plane.ask('POST', `${path}ies`, { metadata: { name }, spec });
    await plane.ask('POST', `${path}ybindings`, { metadata: { name }, spec: { policyName: name } });
    const tried = { metadata: { name: 'tried' } };
    await team.eventually('the policy to be in force', async () => {
      const { body } = await plane.ask('POST', `/api/v1/namespaces/${team.name}/secrets?dryRun=All`, tried);
      return (body as { metadata: { labels?: object } }).metadata.labels !== undefined;
    });
    await team.apply('FleetApiKey', 'relabelled', { accountRef, secretRef: { name: 'relabelled' } });
    await team.ready('fkey', 'relabelled', 'WriteConflict');
    expect((await readyOf('fkey', 'relabelled'))?.message).toContain(
      '(by no other field manager: it is deleted, or an admission policy or webhook changes it)',
    );
    expect(await works(muster, await team.secret('relabelled', 'apiKey'))).toBe(true);
    const { body } = await operatorApi(muster, `accounts/${accountId}/api-keys`);
    expect((body['apiKeys'] as { name: string }[]).filter((key) => key.name === 'relabelled')).toHaveLength(1);
    await plane.ask('DELETE', `${path}ybindings/${name}`);
    await plane.ask('DELETE', `${path}ies/${name}`);
    clock.advance(MINUTE_MS);
    await team.ready('fkey', 'relabelled', 'Issued');
  });

  test('there is one former secret at most: the next re-issue waits for its end, which may be sooner', async () => {
    const keyIdOf = (key = ''): string => key.slice('mst_live_'.length, 'mst_live_'.length + 12);
    await team.apply('FleetApiKey', 'two', { accountRef, secretRef: { name: 'two' } });
    await team.ready('fkey', 'two', 'Issued');
    const first = await team.secret('two', 'apiKey');
    expect(await fight('fkey', 'two', 'apiKey')).toBe(1);
    expect(await apiKeysOf(muster, accountId)).toContain(keyIdOf(first));
    expect(await works(muster, first)).toBe(true);
    expect((await readyOf('fkey', 'two'))?.message).toContain(keyIdOf(first));
    expect((await endOverlap(muster, accountId, keyIdOf(first))).status).toBe(204);
    await team.ready('fkey', 'two', 'Issued');
    expect(await works(muster, first)).toBe(false);
    expect(await works(muster, await team.secret('two', 'apiKey'))).toBe(true);
  });

  test.each([
    ['enrollCode', 'coded', {}],
    ['credential', 'supervised', { secretFormat: 'opamp' }],
    ['serverUrl', 'addressed', {}],
  ])('the %s of an app is put right three times at once', async (key, name, more) => {
    await team.apply('FleetApp', name, { accountRef, enrollment: { secretRef: { name } }, ...more });
    await team.eventually('it to be Ready', async () => (await readyOf('fapp', name))?.status === 'True');
    expect(await fight('fapp', name, key)).toBe(3);
    expect((await readyOf('fapp', name))?.message).toContain('“rival”');
    clock.advance(MINUTE_MS);
    await team.eventually('it to be put right', async () => (await team.secret(name, key)) !== 'foreign');
  });

  test('an account that is renamed outside all the time is put right three times at once', async () => {
    let answers = 0;
    while (answers < ROUNDS && !(await isHeld('facct', 'acme'))) {
      await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { name: `rival ${answers}` });
      await team.eventually('an answer, or none any more', async () => {
        const { body } = await operatorApi(muster, `accounts/${accountId}`);
        return body['name'] === 'acme' || (await isHeld('facct', 'acme'));
      });
      if (!(await isHeld('facct', 'acme'))) answers += 1;
    }
    expect(answers).toBe(3);
    // A change of the spec is a request of its own.
    await team.patch('facct', 'acme', { spec: { displayName: 'Acme' } });
    await team.ready('facct', 'acme', 'Synced');
  });

  test('headers that change are gathered for 5 s, and revisions are few', async () => {
    const credential = await enroll(muster, await createApp(muster, apiKey ?? ''));
    const annotations = {
      'muster.dev/auth-header-for': 'export',
      'muster.dev/auth-header-endpoint': 'https://otel.example.com',
    };
    const header = async (value: string): Promise<void> => {
      const metadata = { name: 'header', labels: { 'muster.dev/auth-header': 'true' }, annotations };
      const object = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { token: value } };
      await team.kubectl(['apply', '--field-manager=rival', '--filename=-'], JSON.stringify(object));
    };
    const told = async (): Promise<string> => JSON.stringify((await poll(muster, credential)).body);
    const revision = async (): Promise<number> => Number((await poll(muster, credential)).body['revision']);
    await header('Bearer 0');
    await team.apply('FleetOtelConfig', 'export', {
      accountRef,
      enabled: true,
      endpoint: 'https://otel.example.com',
      authHeaderSecretRef: { name: 'header', key: 'token' },
    });
    await team.ready('fotel', 'export', 'Synced');
    const before = await revision();
    for (let change = 1; change <= 5; change += 1) await header(`Bearer ${change}`);
    await team.eventually('the last one to be told', async () => (await told()).includes('Bearer 5'));
    expect((await revision()) - before, 'five changes are one revision').toBe(1);
    for (let round = 0; round < ROUNDS && !(await isHeld('fotel', 'export')); round += 1) {
      await header(`Bearer again ${round}`);
      await team.eventually('an answer, or none any more', async () => {
        return (await told()).includes(`again ${round}`) || (await isHeld('fotel', 'export'));
      });
    }
    expect((await revision()) - before).toBe(3);
    expect((await readyOf('fotel', 'export'))?.message).toContain('“rival”');
  });

  test('a configuration that is changed through the REST API all the time is put right three times at once', async () => {
    const other = await team.issuedKey('other', 'beside', { entitlement: 'enterprise' });
    await team.apply('FleetOtelConfig', 'beside', {
      accountRef: { name: 'beside' },
      enabled: true,
      endpoint: 'https://otel.example.com',
    });
    await team.ready('fotel', 'beside', 'Synced');
    const stored = async (): Promise<unknown> =>
      (await call(`${muster.api}/v1/otel-config`, { token: other })).body['endpoint'];
    let answers = 0;
    while (answers < ROUNDS && !(await isHeld('fotel', 'beside'))) {
      await setOtel(muster, other ?? '', { endpoint: 'https://rival.example.com' });
      await team.eventually('an answer, or none any more', async () => {
        return (await stored()) === 'https://otel.example.com' || (await isHeld('fotel', 'beside'));
      });
      if (!(await isHeld('fotel', 'beside'))) answers += 1;
    }
    expect(answers).toBe(3);
  });
});
