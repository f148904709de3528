import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { auditOf, issueCode, readApp, revoke } from '../../support/service/daemon.ts';
import { enroll, Muster, poll } from '../../support/service/muster.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { DEVICE_URL, Namespace, operating, type Told } from '../support/operated.ts';

/* A FleetApp whose Secret holds the configuration of an OpAMP supervisor, on a real API server. */

describeOn('control plane', 'FleetApp of a supervisor', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let apiKey = '';
  let accountId = '';
  let apps = 0;
  let name = '';
  let box = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'supervised');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
    await team.applyAll([
      { kind: 'FleetAccount', name: 'acme', spec: {} },
      { kind: 'FleetApiKey', name: 'ci', spec: { accountRef: { name: 'acme' }, secretRef: { name: 'ci' } } },
    ]);
    await team.ready('fkey', 'ci', 'Issued');
    apiKey = (await team.secret('ci', 'apiKey')) ?? '';
    accountId = String((await team.ready('facct', 'acme', 'Synced')).status['accountId']);
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `app-${(apps += 1)}`;
    box = `${name}-box`;
  });

  const specOf = (more: object = {}, enrollment: object = {}): object => ({
    accountRef: { name: 'acme' },
    secretFormat: 'opamp',
    enrollment: { secretRef: { name: box }, ...enrollment },
    ...more,
  });
  async function applied(more: object = {}, enrollment: object = {}): Promise<Told> {
    await team.apply('FleetApp', name, specOf(more, enrollment));
    return await team.ready('fapp', name, 'Active');
  }
  const appIdOf = ({ status }: Told): string => String(status['appId']);
  const keysOf = async (): Promise<string[]> => Object.keys((await team.get('secret', box))?.data ?? {}).toSorted();
  const credentialIn = async (secret = box): Promise<string> => (await team.secret(secret, 'credential')) ?? '';
  const fileIn = async (): Promise<string> => (await team.secret(box, 'supervisor.yaml')) ?? '';
  const works = async (credential: string): Promise<boolean> => (await poll(muster, credential)).status === 200;

  test('is enrolled as soon as its Secret is there, by a credential that a device listener takes', async () => {
    const told = await applied();
    expect(await keysOf()).toEqual(['appId', 'credential', 'serverUrl', 'supervisor.yaml']);
    expect(await team.secret(box, 'appId')).toBe(appIdOf(told));
    const credential = await credentialIn();
    const file = await fileIn();
    expect(file).toContain(`endpoint: "${DEVICE_URL}/v1/opamp"`);
    expect(file).toContain(`["Bearer ${credential}"]`);
    expect(told.status).toMatchObject({ state: 'active' });
    expect(told.status).not.toHaveProperty('enrollment');
    expect(await works(credential)).toBe(true);
    expect(await readApp(muster, apiKey, appIdOf(told))).toMatchObject({ status: 'active' });
    const audit = (await auditOf(muster, accountId)).filter(({ appId }) => appId === appIdOf(told));
    const actor = `kubernetes:${team.name}/FleetApp/${name}`;
    expect(audit.map(({ action, actor: by }) => [action, by])).toEqual([
      ['app.created', actor],
      ['app.enrolled', actor],
    ]);
    await team.told(name, 'CredentialIssued');
  });

  test('has another file with the same credential where the spec names other paths', async () => {
    await applied();
    const [credential, file] = [await credentialIn(), await fileIn()];
    const opamp = { executable: '/opt/otelcol', storageDirectory: '/data', configFiles: ['/etc/own.yaml'] };
    await team.patch('fapp', name, { spec: { enrollment: { opamp } } });
    await team.ready('fapp', name, 'Active');
    expect(await credentialIn()).toBe(credential);
    expect(await fileIn()).not.toBe(file);
    expect(await fileIn()).toContain('executable: "/opt/otelcol"');
    expect(await fileIn()).toContain(credential);
    expect(await works(credential)).toBe(true);
    // Whoever changes the file has it put right, too.
    await team.patch('secret', box, { data: { 'supervisor.yaml': Buffer.from('mine').toString('base64') } });
    await team.eventually('the file to be put right', async () => (await fileIn()).includes(credential));
    expect(await credentialIn()).toBe(credential);
  });

  test('has another credential where the Secret is deleted, changed or named otherwise', async () => {
    await applied();
    const first = await credentialIn();
    await team.kubectl(['delete', 'secret', box]);
    await team.eventually('another credential', async () => !['', first].includes(await credentialIn()));
    const second = await credentialIn();
    await team.eventually('it to work', async () => await works(second));
    expect(await works(first)).toBe(false);
    // What somebody writes there is never enrolled with.
    const own = `mst_dev_${'x'.repeat(49)}`;
    await team.patch('secret', box, { data: { credential: Buffer.from(own).toString('base64') } });
    await team.eventually('a third', async () => !['', own, second].includes(await credentialIn()));
    expect(await works(own)).toBe(false);
    const former = box;
    box = `${name}-next`;
    await team.patch('fapp', name, { spec: { enrollment: { secretRef: { name: box } } } });
    await team.ready('fapp', name, 'Active');
    expect(await works(await credentialIn())).toBe(true);
    await team.eventually('the former Secret to go', async () => (await team.get('secret', former)) === undefined);
  });

  test('has one credential with Once, and says so when that is lost', async () => {
    const told = await applied({}, { issue: 'Once' });
    const credential = await credentialIn();
    await team.kubectl(['delete', 'secret', box]);
    const lost = await team.ready('fapp', name, 'CredentialLost');
    expect(lost.status.conditions).toContainEqual(expect.objectContaining({ type: 'Stalled', status: 'True' }));
    await team.eventually('the Secret without it', async () => (await keysOf()).length === 2);
    // The supervisor that has read it goes on.
    expect(await works(credential)).toBe(true);
    await team.patch('fapp', name, { spec: { enrollment: { issue: 'UntilEnrolled' } } });
    expect(appIdOf(await team.ready('fapp', name, 'Active'))).toBe(appIdOf(told));
    expect(await works(await credentialIn())).toBe(true);
    expect(await works(credential)).toBe(false);
  });

  test('is revoked by the spec, and comes back by it with another credential', async () => {
    await applied();
    const credential = await credentialIn();
    await team.patch('fapp', name, { spec: { desiredState: 'Revoked' } });
    await team.ready('fapp', name, 'Revoked');
    expect(await works(credential)).toBe(false);
    expect(await keysOf()).toEqual(['appId', 'serverUrl']);
    await team.patch('fapp', name, { spec: { desiredState: 'Active' } });
    await team.ready('fapp', name, 'Active');
    expect(await credentialIn()).not.toBe(credential);
    expect(await works(await credentialIn())).toBe(true);
  });

  test('that was revoked through the REST API stays so until the spec changes', async () => {
    const told = await applied();
    expect((await revoke(muster, apiKey, appIdOf(told))).status).toBe(200);
    await team.ready('fapp', name, 'ChangedOutside');
    await team.eventually('the dead credential to leave', async () => (await keysOf()).length === 2);
    await team.patch('fapp', name, { spec: { deletionPolicy: 'Revoke' } });
    await team.ready('fapp', name, 'Active');
    expect(await works(await credentialIn())).toBe(true);
  });

  test('leaves the daemon that is enrolled already alone, until the app is revoked', async () => {
    await team.apply('FleetApp', name, { accountRef: { name: 'acme' }, enrollment: { secretRef: { name: box } } });
    const told = await team.ready('fapp', name, 'CodeIssued');
    const code = (await team.secret(box, 'enrollCode')) ?? '';
    const daemon = await enroll(muster, { appId: appIdOf(told), enrollCode: code });
    await team.ready('fapp', name, 'Active');
    await team.apply('FleetApp', name, specOf());
    await team.ready('fapp', name, 'EnrolledOutside');
    expect(await works(daemon)).toBe(true);
    expect(await keysOf()).toEqual(['appId', 'serverUrl']);
    for (const desiredState of ['Revoked', 'Active']) {
      await team.patch('fapp', name, { spec: { desiredState } });
      await team.ready('fapp', name, desiredState);
    }
    expect(await works(await credentialIn())).toBe(true);
    expect(await works(daemon)).toBe(false);
    // A daemon that takes over by a code has the app, and the Secret no credential that does not work.
    const later = await enroll(muster, await issueCode(muster, apiKey, appIdOf(told)));
    await team.ready('fapp', name, 'EnrolledOutside');
    expect(await works(later)).toBe(true);
    expect(await keysOf()).toEqual(['appId', 'serverUrl']);
  });

  test('takes the place of a code that nobody has used', async () => {
    await team.apply('FleetApp', name, { accountRef: { name: 'acme' }, enrollment: { secretRef: { name: box } } });
    const told = await team.ready('fapp', name, 'CodeIssued');
    const code = (await team.secret(box, 'enrollCode')) ?? '';
    await applied();
    expect(await keysOf()).toEqual(['appId', 'credential', 'serverUrl', 'supervisor.yaml']);
    await expect(enroll(muster, { appId: appIdOf(told), enrollCode: code })).rejects.toThrow('401');
  });

  test('waits for an account that is disabled', async () => {
    await team.apply('FleetAccount', name, { disabled: true });
    await team.ready('facct', name, 'Disabled');
    await team.apply('FleetApp', name, specOf({ accountRef: { name } }));
    await team.ready('fapp', name, 'Refused');
    expect(await keysOf()).toEqual(['appId', 'serverUrl']);
    await team.patch('facct', name, { spec: { disabled: false } });
    await team.ready('fapp', name, 'Active');
    expect(await works(await credentialIn())).toBe(true);
  });

  test.each([
    ['Delete', undefined],
    ['Revoke', 'revoked'],
    ['Retain', 'active'],
  ])('goes by its deletionPolicy %s', async (deletionPolicy, state) => {
    const told = await applied({ deletionPolicy });
    const credential = await credentialIn();
    await team.delete('fapp', name);
    expect((await readApp(muster, apiKey, appIdOf(told)))['status']).toBe(state);
    expect(await works(credential)).toBe(deletionPolicy === 'Retain');
  });

  test('keeps the credential out of logs, metrics, events and its own status', async () => {
    await applied();
    const word = (await credentialIn()).slice(-40);
    expect(word).toHaveLength(40);
    expect(muster.logged.join('\n')).not.toContain(word);
    expect(await (await fetch(`${muster.ops}/metrics`)).text()).not.toContain(word);
    await team.told(name, 'CredentialIssued');
    expect(await team.kubectl(['get', 'events,fapp', '--output=json'])).not.toContain(word);
  });

  test.each([
    [{ enrollment: { opamp: { executable: 'otelcol' } } }, 'spec.enrollment.opamp.executable'],
    [{ enrollment: { opamp: { storageDirectory: '/a:b' } } }, 'spec.enrollment.opamp.storageDirectory'],
    [{ enrollment: { opamp: { storageDirectory: '/a\nb' } } }, 'spec.enrollment.opamp.storageDirectory'],
    [{ enrollment: { opamp: { configFiles: Array.from({ length: 17 }, () => '/a') } } }, 'must have at most 16 items'],
    [{ enrollment: null }, 'enrollment is required with secretFormat opamp'],
    [
      { secretFormat: 'enrollment', enrollment: { opamp: { executable: '/a' } } },
      'enrollment.opamp is for secretFormat opamp alone',
    ],
    [{ secretFormat: 'openbao' }, 'Unsupported value'],
  ])('the API server refuses the change %j', async (spec, words) => {
    await applied();
    await expect(team.patch('fapp', name, { spec })).rejects.toThrow(words);
  });
});
