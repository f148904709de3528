import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteApp, issueCode, revoke } from '../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { DEVICE_URL, Namespace, operating, type Told } from './support/operated.ts';

/* A FleetApp as its owner sees it, on a real API server: what a daemon enrolls with, in a Secret. */

describeOn('control plane', 'FleetApp', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let apiKey = '';
  let apps = 0;
  let name = '';
  let box = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
    await team.applyAll([
      { kind: 'FleetAccount', name: 'acme', spec: {} },
      { kind: 'FleetApiKey', name: 'ci', spec: { accountRef: { name: 'acme' }, secretRef: { name: 'ci' } } },
    ]);
    await team.ready('fkey', 'ci', 'Issued');
    apiKey = (await team.secret('ci', 'apiKey')) ?? '';
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `app-${(apps += 1)}`;
    box = `${name}-box`;
  });

  const specOf = (more: object = {}): object => ({
    accountRef: { name: 'acme' },
    enrollment: { secretRef: { name: box } },
    ...more,
  });
  async function applied(more: object = {}): Promise<Told> {
    await team.apply('FleetApp', name, specOf(more));
    return await team.ready('fapp', name, 'CodeIssued');
  }
  const appIdOf = ({ status }: Told): string => String(status['appId']);
  const codeIn = async (secret = box): Promise<string | undefined> => await team.secret(secret, 'enrollCode');
  const enrolledBy = async (told: Told): Promise<string> =>
    await enroll(muster, { appId: appIdOf(told), enrollCode: (await codeIn()) ?? '' });
  const statusOf = async (appId: string): Promise<number> =>
    (await call(`${muster.api}/v1/apps/${appId}`, { token: apiKey })).status;
  const stateOf = async (appId: string): Promise<unknown> =>
    (await call(`${muster.api}/v1/apps/${appId}`, { token: apiKey })).body['status'];

  test('becomes a Secret that a daemon enrolls with, and the code leaves it once it is used', async () => {
    const told = await applied();
    expect(await team.secret(box, 'appId')).toBe(appIdOf(told));
    expect(await team.secret(box, 'serverUrl')).toBe(DEVICE_URL);
    expect(told.status).toMatchObject({ state: 'pending', enrollment: { consumed: false } });
    const credential = await enrolledBy(told);
    expect((await poll(muster, credential)).status).toBe(200);
    const active = await team.ready('fapp', name, 'Active');
    expect(active.status).toMatchObject({ platform: 'linux', agentVersion: '1.0.0', enrollment: { consumed: true } });
    expect(active.status['lastSeenAt']).toMatch(/:[0-5][05]:00Z$/);
    expect(Object.keys((await team.get('secret', box))?.data ?? {}).toSorted()).toEqual(['appId', 'serverUrl']);
  });

  test('bears the name of the spec, or its own', async () => {
    const own = await applied();
    const list = async (): Promise<unknown> =>
      (await call(`${muster.api}/v1/apps/${appIdOf(own)}`, { token: apiKey })).body['name'];
    expect(await list()).toBe(name);
    name = `${name}-named`;
    box = `${name}-box`;
    const named = await applied({ name: 'Käthe’s laptop' });
    expect((await call(`${muster.api}/v1/apps/${appIdOf(named)}`, { token: apiKey })).body['name']).toBe(
      'Käthe’s laptop',
    );
  });

  test.each([
    ['Delete', 404, undefined],
    ['Revoke', 200, 'revoked'],
    ['Retain', 200, 'active'],
  ])('goes by its deletionPolicy %s', async (deletionPolicy, status, state) => {
    const told = await applied({ deletionPolicy });
    const credential = await enrolledBy(told);
    await team.delete('fapp', name);
    expect(await statusOf(appIdOf(told))).toBe(status);
    expect(await stateOf(appIdOf(told))).toBe(state);
    expect((await poll(muster, credential)).status).toBe(deletionPolicy === 'Retain' ? 200 : 401);
  });

  test('is revoked by the spec, and comes back by it with another code', async () => {
    const told = await applied();
    const credential = await enrolledBy(told);
    await team.patch('fapp', name, { spec: { desiredState: 'Revoked' } });
    await team.ready('fapp', name, 'Revoked');
    expect((await poll(muster, credential)).status).toBe(401);
    // More access by somebody else is drift, and undone.
    await issueCode(muster, apiKey, appIdOf(told));
    await team.eventually('the code to be voided', async () => {
      const { body } = await call(`${muster.api}/v1/apps/${appIdOf(told)}`, { token: apiKey });
      return body['status'] === 'revoked' && (await team.ready('fapp', name, 'Revoked')) !== undefined;
    });
    await team.patch('fapp', name, { spec: { desiredState: 'Active' } });
    const back = await team.ready('fapp', name, 'CodeIssued');
    expect(appIdOf(back)).toBe(appIdOf(told));
    expect((await poll(muster, await enrolledBy(back))).status).toBe(200);
    expect((await poll(muster, credential)).status).toBe(401);
  });

  test('that was revoked through the REST API stays so until the spec changes', async () => {
    const told = await applied();
    const code = await codeIn();
    expect((await revoke(muster, apiKey, appIdOf(told))).status).toBe(200);
    await team.ready('fapp', name, 'ChangedOutside');
    await team.eventually('the dead code to leave', async () => (await codeIn()) === undefined);
    await team.patch('fapp', name, { spec: { deletionPolicy: 'Revoke' } });
    const back = await team.ready('fapp', name, 'CodeIssued');
    expect(await codeIn()).not.toBe(code);
    expect((await poll(muster, await enrolledBy(back))).status).toBe(200);
  });

  test('that was deleted through the REST API stays so until the spec changes', async () => {
    const told = await applied();
    expect((await deleteApp(muster, apiKey, appIdOf(told))).status).toBe(204);
    await team.ready('fapp', name, 'ChangedOutside');
    await team.patch('fapp', name, { spec: { deletionPolicy: 'Revoke' } });
    const anew = await team.ready('fapp', name, 'CodeIssued');
    expect(appIdOf(anew)).not.toBe(appIdOf(told));
    expect(await team.secret(box, 'appId')).toBe(appIdOf(anew));
    expect((await poll(muster, await enrolledBy(anew))).status).toBe(200);
  });

  test('whose Secret is deleted or changed has another code', async () => {
    const told = await applied();
    const first = (await codeIn()) ?? '';
    await team.kubectl(['delete', 'secret', box]);
    await team.eventually('another code', async () => ![undefined, first].includes(await codeIn()));
    const data = { enrollCode: Buffer.from('mine').toString('base64') };
    await team.patch('secret', box, { data });
    await team.eventually('the Secret to be put right', async () => ![undefined, 'mine'].includes(await codeIn()));
    await team.ready('fapp', name, 'CodeIssued');
    expect((await poll(muster, await enrolledBy(told))).status).toBe(200);
  });

  test('never writes a Secret that is another’s, and moves to one that is free', async () => {
    await team.kubectl(['create', 'secret', 'generic', box, '--from-literal=appId=precious']);
    await team.apply('FleetApp', name, specOf());
    await team.ready('fapp', name, 'SecretNotOwned');
    expect(await team.secret(box, 'appId')).toBe('precious');
    const free = `${box}-free`;
    await team.patch('fapp', name, { spec: { enrollment: { secretRef: { name: free } } } });
    await team.ready('fapp', name, 'CodeIssued');
    const next = `${box}-next`;
    await team.patch('fapp', name, { spec: { enrollment: { secretRef: { name: next } } } });
    const told = await team.ready('fapp', name, 'CodeIssued');
    expect(await team.get('secret', free)).toBeUndefined();
    const app = { appId: appIdOf(told), enrollCode: (await codeIn(next)) ?? '' };
    expect((await poll(muster, await enroll(muster, app))).status).toBe(200);
    expect(await team.secret(box, 'appId')).toBe('precious');
  });

  test('needs neither code nor Secret', async () => {
    await team.apply('FleetApp', name, { accountRef: { name: 'acme' } });
    const told = await team.ready('fapp', name, 'Created');
    const code = await issueCode(muster, apiKey, appIdOf(told));
    await enroll(muster, code);
    expect((await team.ready('fapp', name, 'Active')).status).not.toHaveProperty('enrollment');
  });

  test('leaves apps without a resource alone', async () => {
    const told = await applied();
    const beside = await createApp(muster, apiKey, 'beside');
    await team.delete('fapp', name);
    expect(await statusOf(appIdOf(told))).toBe(404);
    expect(await stateOf(beside.appId)).toBe('pending');
  });

  test('keeps the code out of logs, metrics, events and its own status', async () => {
    await applied();
    const word = ((await codeIn()) ?? '').slice(-40);
    expect(word).toHaveLength(40);
    expect(muster.logged.join('\n')).not.toContain(word);
    expect(await (await fetch(`${muster.ops}/metrics`)).text()).not.toContain(word);
    expect(await team.kubectl(['get', 'events,fapp', '--output=json'])).not.toContain(word);
    await team.told(name, 'CodeIssued');
  });

  test.each([
    [{ name: 'another' }, 'name is immutable'],
    [{ accountRef: { name: 'another' } }, 'accountRef is immutable'],
    [{ enrollment: { issue: 'UntilEnrolled', secretRef: null } }, 'secretRef is required unless issue is Never'],
    [{ desiredState: 'Gone' }, 'Unsupported value'],
  ])('the API server refuses the change %o', async (spec, words) => {
    await applied();
    await expect(team.patch('fapp', name, { spec })).rejects.toThrow(words);
  });
});
