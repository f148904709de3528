import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { setOtel } from '../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll } from '../support/service/muster.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating } from './support/operated.ts';

/* A FleetOtelConfig as its owner and a daemon see it, on a real API server. */

describeOn('control plane', 'FleetOtelConfig', () => {
  const clock = new FakeClock(Date.now());
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let accounts = 0;
  let account = '';
  let apiKey = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team', { looking: () => clock.advance(100) });
    muster = await Muster.start({ clock, env: operating(plane.kubeconfig, team.name) });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    account = `acme-${(accounts += 1)}`;
    await team.applyAll([
      { kind: 'FleetAccount', name: account, spec: { entitlement: 'enterprise' } },
      { kind: 'FleetApiKey', name: account, spec: { accountRef: { name: account }, secretRef: { name: account } } },
    ]);
    await team.ready('facct', account, 'Synced');
    await team.ready('fkey', account, 'Issued');
    apiKey = (await team.secret(account, 'apiKey')) ?? '';
  });

  const specOf = (more: object = {}): object => ({
    accountRef: { name: account },
    enabled: true,
    endpoint: 'https://otel.example.com',
    ...more,
  });
  const stored = async (): Promise<object> => (await call(`${muster.api}/v1/otel-config`, { token: apiKey })).body;
  const purge = async (): Promise<number> =>
    (await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: apiKey })).status;
  const NEVER = { enabled: false, endpoint: '', authHeaderSet: false, evidenceLevel: 'hashes' };

  const bound = (to: string, endpoint: string): Record<string, string> => ({
    'muster.dev/auth-header-for': to,
    'muster.dev/auth-header-endpoint': endpoint,
  });
  async function header(
    name: string,
    value: string,
    labels: Record<string, string> = {},
    annotations = bound(account, 'https://otel.example.com, https://next.example.com'),
  ): Promise<void> {
    const data = { token: Buffer.from(value).toString('base64') };
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name, labels, annotations }, data };
    await team.kubectl(['apply', '--filename=-'], JSON.stringify(secret));
  }
  const LABELLED = { 'muster.dev/auth-header': 'true' };
  const told = async (credential: string): Promise<object> => (await poll(muster, credential)).body['otel'] as object;

  test('reaches a daemon, with the header of a labelled Secret, and follows that Secret', async () => {
    const credential = await enroll(muster, await createApp(muster, apiKey));
    await header('collector', 'Bearer first', LABELLED);
    const authHeaderSecretRef = { name: 'collector', key: 'token' };
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef, evidenceLevel: 'redacted' }));
    const synced = await team.ready('fotel', account, 'Synced');
    expect(synced.status).toMatchObject({ revision: 1, delivery: { devices: 1, applied: 0, pending: 1 } });
    expect(await told(credential)).toMatchObject({
      enabled: true,
      endpoint: 'https://otel.example.com',
      evidenceLevel: 'redacted',
      headers: { Authorization: 'Bearer first' },
    });
    await header('collector', 'Api-Key: second', LABELLED);
    await team.eventually('the daemon to have the new header', async () =>
      JSON.stringify(await told(credential)).includes('"Api-Key":"second"'),
    );
    await team.patch('fotel', account, { spec: { authHeaderSecretRef: null } });
    await team.eventually('no header', async () => !JSON.stringify(await told(credential)).includes('second'));
    expect(await stored()).toMatchObject({ authHeaderSet: false });
  });

  test('reports the acknowledgements of the daemons', async () => {
    const credential = await enroll(muster, await createApp(muster, apiKey));
    await team.apply('FleetOtelConfig', account, specOf());
    await team.ready('fotel', account, 'Synced');
    const { body } = await poll(muster, credential);
    const ack = { revision: body['revision'], status: 'applied' };
    await call(`${muster.device}/device/v1/config/ack`, { method: 'POST', token: credential, body: ack });
    await team.eventually('the status to count it', async () => {
      // The devices are counted once a minute.
      clock.advance(5000);
      const { status } = await team.ready('fotel', account, 'Synced');
      const delivered = status.conditions?.find(({ type }) => type === 'Delivered');
      return delivered?.reason === 'AllApplied' && delivered.status === 'True';
    });
  });

  test('undoes a change through the REST API, but not a purge', async () => {
    await team.apply('FleetOtelConfig', account, specOf());
    await team.ready('fotel', account, 'Synced');
    await setOtel(muster, apiKey, { endpoint: 'https://elsewhere.example.com' });
    await team.eventually('the endpoint to be as the spec says', async () =>
      JSON.stringify(await stored()).includes('https://otel.example.com'),
    );
    expect(await purge()).toBe(200);
    await team.ready('fotel', account, 'ChangedOutside');
    expect(await stored()).toEqual(NEVER);
    await team.patch('fotel', account, { spec: { evidenceLevel: 'full' } });
    await team.ready('fotel', account, 'Synced');
    expect(await stored()).toMatchObject({ enabled: true, evidenceLevel: 'full' });
  });

  test('does not enable a configuration that was disabled through the REST API', async () => {
    await team.apply('FleetOtelConfig', account, specOf());
    await team.ready('fotel', account, 'Synced');
    await setOtel(muster, apiKey, { enabled: false });
    await team.ready('fotel', account, 'ChangedOutside');
    expect(await stored()).toMatchObject({ enabled: false });
  });

  test('is purged when the resource is deleted, also without Enterprise', async () => {
    await header('gone', 'Bearer gone', LABELLED);
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef: { name: 'gone', key: 'token' } }));
    await team.ready('fotel', account, 'Synced');
    await team.patch('facct', account, { spec: { entitlement: 'standard' } });
    await team.ready('fotel', account, 'EnterpriseRequired');
    await team.delete('fotel', account);
    await team.patch('facct', account, { spec: { entitlement: 'enterprise' } });
    await team.ready('facct', account, 'Synced');
    expect(await stored()).toEqual(NEVER);
  });

  test('waits for Enterprise', async () => {
    await team.patch('facct', account, { spec: { entitlement: 'standard' } });
    await team.ready('facct', account, 'Synced');
    await team.apply('FleetOtelConfig', account, specOf());
    await team.ready('fotel', account, 'EnterpriseRequired');
    await team.patch('facct', account, { spec: { entitlement: 'enterprise' } });
    await team.ready('fotel', account, 'Synced');
  });

  test('a second one for the account is a conflict, and takes over when the first goes', async () => {
    await team.apply('FleetOtelConfig', account, specOf());
    await team.ready('fotel', account, 'Synced');
    const second = `${account}-second`;
    await team.apply('FleetOtelConfig', second, specOf({ endpoint: 'https://second.example.com' }));
    await team.ready('fotel', second, 'Conflict');
    expect(await stored()).toMatchObject({ endpoint: 'https://otel.example.com' });
    await team.delete('fotel', account);
    await team.ready('fotel', second, 'Synced');
    expect(await stored()).toMatchObject({ endpoint: 'https://second.example.com' });
  });

  test.each([
    ['SecretNotFound', undefined, {}],
    ['SecretNotFound', 'Bearer x', {}],
    ['SecretNotFound', 'Bearer x', { 'muster.dev/auth-header': 'yes' }],
    ['InvalidAuthHeader', 'Bearer x\n', LABELLED],
    ['InvalidAuthHeader', '', LABELLED],
  ])(
    'is not accepted: %s (%j, %j), and leaves in force what was',
    async (reason, value, labels: Record<string, string>) => {
      await team.apply('FleetOtelConfig', account, specOf());
      await team.ready('fotel', account, 'Synced');
      const name = `${account}-header`;
      if (value !== undefined) await header(name, value, labels);
      await team.patch('fotel', account, {
        spec: { endpoint: 'https://next.example.com', authHeaderSecretRef: { name, key: 'token' } },
      });
      await team.ready('fotel', account, reason);
      expect(await stored()).toMatchObject({ endpoint: 'https://otel.example.com', authHeaderSet: false });
    },
  );

  test('is switched off though its header cannot be had any more, and comes back with the header', async () => {
    const name = `${account}-header`;
    const credential = await enroll(muster, await createApp(muster, apiKey));
    await header(name, 'Bearer first', LABELLED);
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef: { name, key: 'token' } }));
    await team.ready('fotel', account, 'Synced');
    await team.delete('secret', name);
    await team.ready('fotel', account, 'SecretNotFound');
    expect(await told(credential)).toMatchObject({ enabled: true });
    await team.patch('fotel', account, { spec: { enabled: false } });
    await team.eventually('the export to be switched off', async () =>
      JSON.stringify(await stored()).includes('"enabled":false'),
    );
    expect(await told(credential)).toMatchObject({ enabled: false });
    await team.ready('fotel', account, 'SecretNotFound');
    await team.patch('fotel', account, { spec: { enabled: true } });
    await header(name, 'Bearer second', LABELLED);
    await team.ready('fotel', account, 'Synced');
    expect(await told(credential)).toMatchObject({ enabled: true, headers: { Authorization: 'Bearer second' } });
  });

  test('tells less though its header cannot be had any more, and keeps all else until it can', async () => {
    const name = `${account}-header`;
    const credential = await enroll(muster, await createApp(muster, apiKey));
    await header(name, 'Bearer first', LABELLED);
    const authHeaderSecretRef = { name, key: 'token' };
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef, evidenceLevel: 'full' }));
    await team.ready('fotel', account, 'Synced');
    await team.delete('secret', name);
    await team.ready('fotel', account, 'SecretNotFound');
    const endpoint = 'https://other.example.com';
    await team.patch('fotel', account, { spec: { evidenceLevel: 'redacted', endpoint } });
    await team.eventually('the level to be lower', async () =>
      JSON.stringify(await stored()).includes('"evidenceLevel":"redacted"'),
    );
    expect(await told(credential)).toMatchObject({
      enabled: true,
      endpoint: 'https://otel.example.com',
      headers: { Authorization: 'Bearer first' },
      evidenceLevel: 'redacted',
    });
    await team.ready('fotel', account, 'SecretNotFound');
  });

  test('cannot be used to read another Secret, not even its length', async () => {
    await header('precious', 'X'.repeat(5000));
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef: { name: 'precious', key: 'token' } }));
    const refused = await team.ready('fotel', account, 'SecretNotFound');
    expect(JSON.stringify(refused)).not.toContain('XXX');
  });

  test('a writer of the resource cannot have the header sent elsewhere, nor use that of another resource', async () => {
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const message = async (): Promise<string | undefined> =>
      (await team.ready('fotel', account, 'SecretNotFound')).status.conditions?.[0]?.message;
    const authHeaderSecretRef = { name: 'bound', key: 'token' };
    await team.apply('FleetOtelConfig', account, specOf({ authHeaderSecretRef }));
    expect(await message()).toContain('is not there, or lacks the label');
    await header('bound', 'Bearer bound', LABELLED, bound(account, 'https://otel.example.com'));
    await team.ready('fotel', account, 'Synced');
    await team.patch('fotel', account, { spec: { endpoint: 'https://thief.example.com' } });
    expect(await message()).toContain('muster.dev/auth-header-endpoint');
    expect(await told(credential)).toMatchObject({ endpoint: 'https://otel.example.com' });
    // It follows the annotation as it follows the value.
    await header('bound', 'Bearer bound', LABELLED, bound(account, 'https://thief.example.com'));
    await team.ready('fotel', account, 'Synced');
    await header('bound', 'Bearer bound', LABELLED, bound(`${account}-other`, 'https://thief.example.com'));
    expect(await message()).toContain('muster.dev/auth-header-for');
  });

  test('an endpoint that only the service can judge is refused with a message', async () => {
    await team.apply('FleetOtelConfig', account, specOf({ endpoint: 'https://xn--a.example.com' }));
    const { status } = await team.ready('fotel', account, 'InvalidEndpoint');
    expect(status.conditions?.find(({ type }) => type === 'Accepted')).toMatchObject({ status: 'False' });
    expect(await stored()).toEqual(NEVER);
  });

  test.each([
    [{ endpoint: '' }, 'endpoint is required when enabled'],
    [{ endpoint: 'https://user@otel.example.com' }, 'endpoint must not hold credentials'],
    [{ endpoint: 'https://a b' }, 'endpoint may hold printable ASCII only'],
    [{ evidenceLevel: 'all' }, 'Unsupported value'],
  ])('the API server refuses %o', async (spec, words) => {
    await expect(team.apply('FleetOtelConfig', `${account}-bad`, specOf(spec))).rejects.toThrow(words);
  });
});
