import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Muster } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, operatorApi } from './support/operated.ts';

/* A FleetAccount as its owner and the operator of the fleet see it, on a real API server. */

describeOn('control plane', 'FleetAccount', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let other: Namespace;
  let accounts = 0;
  let name = '';
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    other = await Namespace.create(plane, 'other');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });
  beforeEach(() => {
    name = `acme-${(accounts += 1)}`;
  });

  async function ready(spec: object = {}): Promise<string> {
    await team.apply('FleetAccount', name, spec);
    return String((await team.ready('facct', name, 'Synced')).status['accountId']);
  }
  const read = async (accountId: string): Promise<Record<string, unknown>> =>
    (await operatorApi(muster, `accounts/${accountId}`)).body;

  test('becomes an account as the spec says, with its id and its counts in the status', async () => {
    const accountId = await ready({ displayName: 'Acme Inc.', entitlement: 'enterprise' });
    expect(await read(accountId)).toMatchObject({
      name: 'Acme Inc.',
      entitlement: 'enterprise',
      disabled: false,
      managedBy: `${team.name}/${name}`,
    });
    const { status } = await team.ready('facct', name, 'Synced');
    expect(status['apps']).toEqual({ total: 0, active: 0, pending: 0, revoked: 0 });
    await team.told(name, 'AccountCreated');
  });

  test('the audit names the resource', async () => {
    const accountId = await ready();
    const { body } = await operatorApi(muster, `accounts/${accountId}/audit`);
    const [entry] = body['entries'] as Record<string, unknown>[];
    expect(entry).toMatchObject({ actor: `kubernetes:${team.name}/FleetAccount/${name}`, action: 'account.created' });
  });

  test('follows its spec', async () => {
    const accountId = await ready();
    await team.patch('facct', name, { spec: { entitlement: 'enterprise', disabled: true, displayName: 'New' } });
    await team.ready('facct', name, 'Disabled');
    expect(await read(accountId)).toMatchObject({ name: 'New', entitlement: 'enterprise', disabled: true });
    await team.patch('facct', name, { spec: { disabled: false } });
    await team.ready('facct', name, 'Synced');
    expect(await read(accountId)).toMatchObject({ disabled: false });
  });

  test('undoes a change that was made through the REST API', async () => {
    const accountId = await ready();
    await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { name: 'drifted', entitlement: 'enterprise' });
    await team.eventually('the drift to be undone', async () => (await read(accountId))['name'] === name);
    expect(await read(accountId)).toMatchObject({ entitlement: 'standard' });
  });

  test('leaves an account disabled that the REST API has disabled, until the spec changes', async () => {
    const accountId = await ready();
    await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { disabled: true });
    await team.ready('facct', name, 'ChangedOutside');
    await team.told(name, 'ChangedOutside');
    // Another reconciliation, for other drift, does not enable it either.
    await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { name: 'drifted' });
    await team.eventually('the drift to be undone', async () => (await read(accountId))['name'] === name);
    expect(await read(accountId)).toMatchObject({ disabled: true });
    await team.patch('facct', name, { spec: { displayName: 'Changed' } });
    await team.ready('facct', name, 'Synced');
    expect(await read(accountId)).toMatchObject({ disabled: false, name: 'Changed' });
  });

  describe('when it is deleted', () => {
    test('leaves the account by default, free to be taken over', async () => {
      const accountId = await ready();
      await team.delete('facct', name);
      const left = await read(accountId);
      expect(left).toMatchObject({ disabled: false });
      expect(left).not.toHaveProperty('managedBy');
    });

    test('disables the account where the policy says so', async () => {
      const accountId = await ready({ deletionPolicy: 'Disable' });
      await team.delete('facct', name);
      expect(await read(accountId)).toMatchObject({ disabled: true });
    });
  });

  describe('adopts an account', () => {
    async function existing(): Promise<string> {
      const { body } = await operatorApi(muster, 'accounts', 'POST', { name: 'before', entitlement: 'standard' });
      return String(body['accountId']);
    }

    test('that an operator has made adoptable by it, once', async () => {
      const adoptAccountId = await existing();
      await team.apply('FleetAccount', name, { adoptAccountId });
      await team.ready('facct', name, 'NotAdoptable');
      expect(await read(adoptAccountId)).toMatchObject({ name: 'before' });
      await operatorApi(muster, `accounts/${adoptAccountId}`, 'PATCH', { adoptableBy: `${team.name}/${name}` });
      // Looked at again within a minute, or when the spec changes.
      await team.patch('facct', name, { spec: { displayName: 'after' } });
      const { status } = await team.ready('facct', name, 'Synced');
      expect(status['accountId']).toBe(adoptAccountId);
      const adopted = await read(adoptAccountId);
      expect(adopted).toMatchObject({ name: 'after', managedBy: `${team.name}/${name}` });
      expect(adopted).not.toHaveProperty('adoptableBy');
    });

    test('that was disabled before, and leaves it so', async () => {
      const adoptAccountId = await existing();
      const patch = { disabled: true, adoptableBy: `${team.name}/${name}` };
      await operatorApi(muster, `accounts/${adoptAccountId}`, 'PATCH', patch);
      await team.apply('FleetAccount', name, { adoptAccountId });
      await team.ready('facct', name, 'ChangedOutside');
      expect(await read(adoptAccountId)).toMatchObject({ disabled: true });
    });

    test('the resource that managed it before loses it', async () => {
      const accountId = await ready();
      const heir = `${name}-heir`;
      await operatorApi(muster, `accounts/${accountId}`, 'PATCH', { adoptableBy: `${team.name}/${heir}` });
      await team.apply('FleetAccount', heir, { adoptAccountId: accountId, displayName: 'heir' });
      await team.ready('facct', heir, 'Synced');
      await team.ready('facct', name, 'ManagedByAnother');
      await team.patch('facct', name, { spec: { deletionPolicy: 'Disable' } });
      await team.delete('facct', name);
      expect(await read(accountId)).toMatchObject({ disabled: false, name: 'heir', managedBy: `${team.name}/${heir}` });
    });
  });

  test('in a namespace that is not followed stands for nothing', async () => {
    await other.apply('FleetAccount', name, {});
    await ready();
    const resource = await other.get('facct', name);
    // As the definition says of a resource that Muster has not seen.
    expect(resource?.status).toEqual({ observedGeneration: -1 });
    expect(resource?.metadata.finalizers).toBeUndefined();
  });

  describe('the API server refuses', () => {
    test.each([
      ['an unknown entitlement', { entitlement: 'gold' }, 'Unsupported value'],
      ['an empty name', { displayName: '' }, 'should be at least 1 chars long'],
      ['an account id that is none', { adoptAccountId: '../etc' }, 'should match'],
    ])('%s', async (_what, spec, words) => {
      await expect(team.apply('FleetAccount', name, spec)).rejects.toThrow(words);
    });

    test('another account to adopt, one that comes later, and one that goes', async () => {
      const [one, two] = ['a'.repeat(16), 'b'.repeat(16)];
      await team.apply('FleetAccount', name, { adoptAccountId: one });
      for (const adoptAccountId of [two, null]) {
        await expect(team.patch('facct', name, { spec: { adoptAccountId } })).rejects.toThrow('is immutable');
      }
      await team.apply('FleetAccount', `${name}-none`, {});
      const later = team.patch('facct', `${name}-none`, { spec: { adoptAccountId: one } });
      await expect(later).rejects.toThrow('is immutable');
      await team.patch('facct', name, { spec: { displayName: 'may change' } });
    });
  });
});
