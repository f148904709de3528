import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { revoke } from '../support/service/daemon.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';
import type { ApiAccess } from './support/api-access.ts';
import { eventually } from './support/control-plane/program.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, operatorApi, works } from './support/operated.ts';

/* Custom resources that come to stand for what is there already, and that leave it again, on a real API server. */

describeOn('control plane', 'adoption and replacement', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let recycled: Namespace;
  let tests = 0;
  let name = '';
  const dataDir = scratchDirectory('adoption');
  const start = (): Promise<Muster> =>
    Muster.start({ dataDir, env: operating(plane.kubeconfig, team.name, recycled.name) });
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    recycled = await Namespace.create(plane, 'recycled');
    muster = await start();
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `acme-${(tests += 1)}`;
  });

  const accountIn = async (namespace: Namespace, spec: object = {}, reason = 'Synced'): Promise<string> => {
    await namespace.apply('FleetAccount', name, spec);
    return String((await namespace.ready('facct', name, reason)).status['accountId']);
  };
  const accountOf = async (accountId: string): Promise<Record<string, unknown>> =>
    (await operatorApi(muster, `accounts/${accountId}`)).body;
  const begunDeleting = async (kind: string, of = name): Promise<void> => {
    await team.kubectl(['delete', kind, of, '--wait=false']);
  };
  /**
   * Removes it as somebody does who loses patience with a deletion that is held. The finalizer goes last: the operator
   * puts it back on a resource that is not being deleted.
   */
  const forcedAway = async (kind: string, of = name): Promise<void> => {
    await begunDeleting(kind, of);
    await team.patch(kind, of, { metadata: { finalizers: [] } });
    await team.eventually(`${kind} ${of} to go`, async () => (await team.get(kind, of)) === undefined);
  };

  describe('an app of the account', () => {
    /** An account under a FleetAccount, with an app that is none of Kubernetes' and whose daemon is enrolled. */
    async function enrolledBefore(): Promise<Record<'accountId' | 'apiKey' | 'appId' | 'credential', string>> {
      const { accountId, apiKey } = await tenant(muster);
      await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { adoptableBy: `${team.name}/${name}` });
      await accountIn(team, { adoptAccountId: accountId });
      const app = await createApp(muster, apiKey, 'before');
      return { accountId, apiKey, appId: app.appId, credential: await enroll(muster, app) };
    }
    const consent = (accountId: string, appId: string, adoptableBy: string | null): Promise<unknown> =>
      operatorApi(muster, `accounts/${accountId}/apps/${appId}`, 'PATCH', { adoptableBy });
    const specOf = (adoptAppId: string, more: object = {}): object => ({
      accountRef: { name },
      adoptAppId,
      enrollment: { secretRef: { name: `${name}-box` } },
      ...more,
    });
    const readApp = async (apiKey: string, appId: string): Promise<Record<string, unknown>> =>
      (await call(`${muster.api}/v1/apps/${appId}`, { token: apiKey })).body;

    test('comes under a FleetApp by a consent, and its daemon goes on with its credential', async () => {
      const { accountId, apiKey, appId, credential } = await enrolledBefore();
      const before = await readApp(apiKey, appId);
      await team.apply('FleetApp', name, specOf(appId));
      await team.ready('fapp', name, 'NotAdoptable');
      await consent(accountId, appId, `${team.name}/${name}`);
      // The consent alone has it looked at again.
      const { status } = await team.ready('fapp', name, 'Active');
      expect(status).toMatchObject({ appId, state: 'active', platform: 'linux' });
      await team.told(name, 'AppAdopted');
      expect(await readApp(apiKey, appId)).toEqual(before);
      expect((await poll(muster, credential)).status).toBe(200);
      expect(await team.secret(`${name}-box`, 'appId')).toBe(appId);
      expect(await team.secret(`${name}-box`, 'enrollCode')).toBeUndefined();
      const { body } = await operatorApi(muster, `accounts/${accountId}/apps`);
      expect(body['apps']).toEqual([{ appId, name: 'before', status: 'active', managedBy: `${team.name}/${name}` }]);
    });

    test('is not told apart from one that does not exist', async () => {
      const { appId } = await enrolledBefore();
      const said = async (adoptAppId: string, of: string): Promise<string | undefined> => {
        await team.apply('FleetApp', of, specOf(adoptAppId));
        const { status } = await team.ready('fapp', of, 'NotAdoptable');
        const message = status.conditions?.find(({ type }) => type === 'Ready')?.message;
        return message?.replaceAll(adoptAppId, 'APP').replaceAll(of, 'NAME');
      };
      expect(await said(appId, `${name}-one`)).toBe(await said('z'.repeat(20), `${name}-two`));
    });

    test('that was revoked stays so until the spec changes', async () => {
      const { accountId, apiKey, appId } = await enrolledBefore();
      await revoke(muster, apiKey, appId);
      await consent(accountId, appId, `${team.name}/${name}`);
      await team.apply('FleetApp', name, specOf(appId));
      await team.ready('fapp', name, 'ChangedOutside');
      await team.patch('fapp', name, { spec: { deletionPolicy: 'Revoke' } });
      await team.ready('fapp', name, 'CodeIssued');
      const enrollCode = (await team.secret(`${name}-box`, 'enrollCode')) ?? '';
      expect((await poll(muster, await enroll(muster, { appId, enrollCode }))).status).toBe(200);
    });

    test('is left by Retain, and the same manifest takes it up again', async () => {
      const { accountId, appId, credential } = await enrolledBefore();
      await consent(accountId, appId, `${team.name}/${name}`);
      const spec = specOf(appId, { deletionPolicy: 'Retain' });
      for (let times = 0; times < 2; times += 1) {
        await team.apply('FleetApp', name, spec);
        await team.ready('fapp', name, 'Active');
        await team.delete('fapp', name);
      }
      expect((await poll(muster, credential)).status).toBe(200);
    });

    test('that is given to another FleetApp is not deleted by the former one', async () => {
      const { accountId, appId, credential } = await enrolledBefore();
      await consent(accountId, appId, `${team.name}/${name}`);
      await team.apply('FleetApp', name, specOf(appId));
      await team.ready('fapp', name, 'Active');
      const heir = `${name}-heir`;
      await consent(accountId, appId, `${team.name}/${heir}`);
      await team.apply('FleetApp', heir, { accountRef: { name }, adoptAppId: appId });
      await team.ready('fapp', heir, 'Active');
      await team.ready('fapp', name, 'ManagedByAnother');
      await team.delete('fapp', name);
      expect((await poll(muster, credential)).status).toBe(200);
    });

    test.each([
      [{ name: 'x' }, 'an adopted app keeps its name'],
      [{ adoptAppId: '../etc' }, 'should match'],
    ])('the API server refuses %o', async (more, words) => {
      await expect(team.apply('FleetApp', name, specOf('a'.repeat(20), more))).rejects.toThrow(words);
      await team.apply('FleetApp', name, specOf('a'.repeat(20)));
      await expect(team.patch('fapp', name, { spec: { adoptAppId: 'b'.repeat(20) } })).rejects.toThrow('is immutable');
    });
  });

  describe('an account that is in use', () => {
    const accountRef = (): object => ({ accountRef: { name } });

    test('is not released before the last of its users is gone, which it names', async () => {
      const accountId = await accountIn(team);
      await team.apply('FleetApp', `${name}-app`, { ...accountRef(), deletionPolicy: 'Retain' });
      await team.apply('FleetApiKey', `${name}-key`, { ...accountRef(), secretRef: { name: `${name}-key` } });
      await team.ready('fapp', `${name}-app`, 'Created');
      await team.ready('fkey', `${name}-key`, 'Issued');
      const apiKey = await team.secret(`${name}-key`, 'apiKey');
      await begunDeleting('facct');
      const { status } = await team.ready('facct', name, 'InUse');
      const message = status.conditions?.find(({ type }) => type === 'Ready')?.message;
      expect(message).toContain(`FleetApiKey ${name}-key, FleetApp ${name}-app.`);
      await team.told(name, 'InUse');
      await team.delete('fapp', `${name}-app`);
      expect(await accountOf(accountId)).toMatchObject({ managedBy: `${team.name}/${name}` });
      expect(await works(muster, apiKey)).toBe(true);
      await team.delete('fkey', `${name}-key`);
      await team.eventually('the account to go', async () => (await team.get('facct', name)) === undefined);
      expect(await accountOf(accountId)).not.toHaveProperty('managedBy');
    });

    test('goes with its users when all are deleted at once', async () => {
      await accountIn(team);
      await team.apply('FleetApp', name, accountRef());
      await team.ready('fapp', name, 'Created');
      await begunDeleting('facct,fapp');
      await team.eventually('both to go', async () => {
        const left = [await team.get('facct', name), await team.get('fapp', name)];
        return left.every((object) => object === undefined);
      });
    });
  });

  describe('after it was deleted and applied again', () => {
    test('an account is the same one, and so are its children', async () => {
      const accountId = await accountIn(team);
      await team.apply('FleetApp', name, { accountRef: { name } });
      const appId = (await team.ready('fapp', name, 'Created')).status['appId'];
      // The child stays, so that only force takes the account away.
      await forcedAway('facct');
      await team.ready('fapp', name, 'AccountNotFound');
      expect(await accountIn(team)).toBe(accountId);
      await team.told(name, 'AccountTakenUpAgain');
      expect((await team.ready('fapp', name, 'Created')).status['appId']).toBe(appId);
      await team.delete('fapp', name);
      await team.delete('facct', name);
      expect(await accountOf(accountId)).toMatchObject({ releasedBy: `${team.name}/${name}` });
      expect(await accountIn(team)).toBe(accountId);
    });

    test('an account that was disabled stays so until the spec changes', async () => {
      const accountId = await accountIn(team, { deletionPolicy: 'Disable' });
      await team.delete('facct', name);
      expect(await accountIn(team, {}, 'ChangedOutside')).toBe(accountId);
      expect(await accountOf(accountId)).toMatchObject({ disabled: true });
      await team.patch('facct', name, { spec: { displayName: 'back' } });
      await team.ready('facct', name, 'Synced');
      expect(await accountOf(accountId)).toMatchObject({ disabled: false });
    });

    test('a namespace of the same name does not get the account', async () => {
      const accountId = await accountIn(recycled);
      await recycled.kubectl(['delete', 'namespace', recycled.name, '--wait=false']);
      const path = `/api/v1/namespaces/${recycled.name}`;
      await eventually('the namespace to be gone', async () => (await plane.ask('GET', path)).status === 404);
      await plane.ask('POST', '/api/v1/namespaces', { metadata: { name: recycled.name } });
      expect(await accountIn(recycled)).not.toBe(accountId);
      await recycled.apply('FleetAccount', `${name}-thief`, { adoptAccountId: accountId });
      await recycled.ready('facct', `${name}-thief`, 'NotAdoptable');
    });

    test('children stay with their account where the operator has given it away, until they are told to move', async () => {
      const accountId = await accountIn(team);
      await team.apply('FleetApp', name, { accountRef: { name }, deletionPolicy: 'Retain' });
      const appId = (await team.ready('fapp', name, 'Created')).status['appId'];
      await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { adoptableBy: `${team.name}/${name}-heir` });
      await team.apply('FleetAccount', `${name}-heir`, { adoptAccountId: accountId });
      await team.ready('facct', `${name}-heir`, 'Synced');
      await team.delete('facct', name);
      const other = await accountIn(team);
      expect(other).not.toBe(accountId);
      const { status } = await team.ready('fapp', name, 'AccountReplaced');
      expect(status['appId']).toBe(appId);
      expect(status.conditions?.[0]?.message).toContain(`muster.dev/rebind-to=${other}`);
      await team.patch('fapp', name, { metadata: { annotations: { 'muster.dev/rebind-to': other } } });
      const moved = await team.ready('fapp', name, 'Created');
      expect(moved.status['appId']).not.toBe(appId);
      const left = (await operatorApi(muster, `accounts/${accountId}/apps`)).body['apps'];
      expect(left).toEqual([{ appId, name, status: 'pending' }]);
    });
  });

  test('bindings of resources that went by force are forgotten by the next leader, those of others are not', async () => {
    const accountId = await accountIn(team);
    for (const of of ['kept', 'forced']) {
      await team.apply('FleetApp', `${name}-${of}`, { accountRef: { name } });
      await team.ready('fapp', `${name}-${of}`, 'Created');
    }
    const standing = async (): Promise<readonly unknown[]> => {
      const { body } = await operatorApi(muster, `accounts/${accountId}/apps`);
      return (body['apps'] as { managedBy?: string }[]).map(({ managedBy }) => managedBy);
    };
    expect(await standing()).toHaveLength(2);
    await muster[Symbol.asyncDispose]();
    await forcedAway('fapp', `${name}-forced`);
    muster = await start();
    const kept = `${team.name}/${name}-kept`;
    await team.eventually('the binding to go', async () => !(await standing()).includes(`${team.name}/${name}-forced`));
    expect(new Set(await standing())).toEqual(new Set([kept, undefined]));
    const { body } = await operatorApi(muster, `accounts/${accountId}/audit?limit=1000`);
    expect((body['entries'] as { action: string }[]).map(({ action }) => action)).toContain('resource.forgotten');
    expect(await (await fetch(`${muster.ops}/metrics`)).text()).toContain(
      'muster_kubernetes_bindings_forgotten_total{kind="FleetApp"}',
    );
  });
});
