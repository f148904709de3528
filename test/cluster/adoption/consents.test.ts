import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApp, Muster, tenant } from '../../support/service/muster.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { eventually } from '../support/control-plane/program.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { Namespace, operating, operatorApi } from '../support/operated.ts';
import { operatorAccount } from '../support/operator-account.ts';

/* A consent means one namespace, by its UID, with the rights that the chart gives. */

/** Muster's operator with the rights of the chart, and accounts that are to be adopted. */
class Operator {
  readonly plane: ApiAccess;
  readonly muster: Muster;

  constructor(plane: ApiAccess, muster: Muster) {
    this.plane = plane;
    this.muster = muster;
  }

  async uidOf(namespace: string): Promise<string> {
    const { body } = await this.plane.ask('GET', `/api/v1/namespaces/${namespace}`);
    return (body as { metadata: { uid: string } }).metadata.uid;
  }

  async offered(path: string, adoptableBy: string, namespaceUid?: string): Promise<void> {
    const body = { adoptableBy, ...(namespaceUid !== undefined && { namespaceUid }) };
    expect((await operatorApi(this.muster, path, 'PATCH', body)).status).toBe(200);
  }

  /** Resolves once the leader has noted the UID of the namespace in the consent. */
  async noted(path: string, namespaceUid: string): Promise<void> {
    await eventually('the UID to be noted', async () => {
      const { body } = await operatorApi(this.muster, path);
      const apps = body['apps'] as Record<string, unknown>[] | undefined;
      return (apps?.[0] ?? body)['namespaceUid'] === namespaceUid;
    });
  }

  /** Deletes the namespace, and makes another one of its name. */
  async recreated(namespace: Namespace): Promise<void> {
    const path = `/api/v1/namespaces/${namespace.name}`;
    await this.plane.ask('DELETE', path);
    await eventually('the namespace to be gone', async () => (await this.plane.ask('GET', path)).status === 404);
    await this.plane.ask('POST', '/api/v1/namespaces', { metadata: { name: namespace.name } });
  }
}

const messageOf = async (namespace: Namespace, name: string): Promise<string> => {
  const { status } = await namespace.ready('facct', name, 'NotAdoptable');
  return status.conditions?.find(({ type }) => type === 'Ready')?.message ?? '';
};

describeOn('helm', 'a consent to adopt', () => {
  let plane: ApiAccess;
  beforeAll(async () => {
    plane = await sharedPlane();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  describe('where the operator has a ClusterRole', () => {
    let it: Operator;
    let team: Namespace;
    beforeAll(async () => {
      const fleet = await Namespace.create(plane, 'fleet');
      team = await Namespace.create(plane, 'team');
      // A Role goes with its namespace, so the administrator follows the one that is made anew.
      it = new Operator(plane, await Muster.start({ env: operating(plane.kubeconfig, team.name, fleet.name) }));
    });
    afterAll(() => it.muster[Symbol.asyncDispose]());

    test('of an account is for the namespace that had the name, and for no later one', async () => {
      const [one, other] = [await tenant(it.muster), await tenant(it.muster)];
      const uid = await it.uidOf(team.name);
      for (const { accountId } of [one, other]) {
        await it.offered(`accounts/${accountId}`, `${team.name}/heir`);
        await it.noted(`accounts/${accountId}`, uid);
      }
      await team.apply('FleetAccount', 'heir', { adoptAccountId: one.accountId });
      await team.ready('facct', 'heir', 'Synced');
      await it.recreated(team);
      await team.apply('FleetAccount', 'heir', { adoptAccountId: other.accountId });
      expect(await messageOf(team, 'heir')).toContain('for this namespace');
      // The consent that is given anew means the namespace of now.
      await it.offered(`accounts/${other.accountId}`, `${team.name}/heir`);
      await team.ready('facct', 'heir', 'Synced');
    });

    test('of an app is for the namespace that had the name, and for no later one', async () => {
      const { accountId, apiKey } = await tenant(it.muster);
      const { appId } = await createApp(it.muster, apiKey, 'scanner');
      await it.offered(`accounts/${accountId}/apps/${appId}`, `${team.name}/scanner`);
      await it.noted(`accounts/${accountId}/apps`, await it.uidOf(team.name));
      await it.recreated(team);
      await it.offered(`accounts/${accountId}`, `${team.name}/owner`);
      await team.apply('FleetAccount', 'owner', { adoptAccountId: accountId });
      await team.ready('facct', 'owner', 'Synced');
      await team.apply('FleetApp', 'scanner', { accountRef: { name: 'owner' }, adoptAppId: appId });
      await team.ready('fapp', 'scanner', 'NotAdoptable');
      await it.offered(`accounts/${accountId}/apps/${appId}`, `${team.name}/scanner`);
      await team.ready('fapp', 'scanner', 'Created');
    });

    test('with a UID is for the namespace of that UID from its beginning', async () => {
      const { accountId } = await tenant(it.muster);
      await it.offered(`accounts/${accountId}`, `${team.name}/given`, 'b1c2d3e4-0000-4000-8000-000000000000');
      await team.apply('FleetAccount', 'given', { adoptAccountId: accountId });
      await team.ready('facct', 'given', 'NotAdoptable');
      await it.offered(`accounts/${accountId}`, `${team.name}/given`, await it.uidOf(team.name));
      await team.ready('facct', 'given', 'Synced');
    });
  });

  describe('where the operator has Roles alone', () => {
    let it: Operator;
    let team: Namespace;
    let kubeconfig: string;
    beforeAll(async () => {
      const fleet = await Namespace.create(plane, 'fleet');
      team = await Namespace.create(plane, 'team');
      const sets = ['operator.clusterRole=false', `operator.namespaces={${team.name}}`];
      const account = await operatorAccount(plane, fleet.name, sets);
      kubeconfig = account.kubeconfig;
      const env = { ...operating(kubeconfig, team.name), MUSTER_KUBERNETES_SCOPE: 'namespaces' };
      it = new Operator(plane, await Muster.start({ env }));
    });
    afterAll(() => it.muster[Symbol.asyncDispose]());

    test('gets the UID of its namespace, and is taken there', async () => {
      const { accountId } = await tenant(it.muster);
      const uid = await it.uidOf(team.name);
      await it.offered(`accounts/${accountId}`, `${team.name}/heir`);
      await it.noted(`accounts/${accountId}`, uid);
      await team.apply('FleetAccount', 'heir', { adoptAccountId: accountId });
      await team.ready('facct', 'heir', 'Synced');
      const kubectl = plane.kubectlWith(kubeconfig);
      expect(await kubectl(['get', 'namespace', team.name, '--output=jsonpath={.metadata.uid}'])).toBe(uid);
      await expect(kubectl(['get', 'namespace', 'default'])).rejects.toThrow('cannot get resource "namespaces"');
      await expect(kubectl(['get', 'namespaces'])).rejects.toThrow('cannot list resource "namespaces"');
    });

    test('is of no use without the right to read the namespace, which the resource says', async () => {
      const { accountId } = await tenant(it.muster);
      const { rules } = (await plane.ask('GET', roleOf(team))).body as { rules: { resources: string[] }[] };
      const without = rules.filter(({ resources }) => !resources.includes('namespaces'));
      expect(without).toHaveLength(rules.length - 1);
      await plane.ask('PATCH', roleOf(team), { rules: without }, 'application/merge-patch+json');
      await it.offered(`accounts/${accountId}`, `${team.name}/blind`, await it.uidOf(team.name));
      await team.apply('FleetAccount', 'blind', { adoptAccountId: accountId });
      expect(await messageOf(team, 'blind')).toContain('cannot be read');
      await plane.ask('PATCH', roleOf(team), { rules }, 'application/merge-patch+json');
      await it.offered(`accounts/${accountId}`, `${team.name}/blind`, await it.uidOf(team.name));
      await team.ready('facct', 'blind', 'Synced');
    });
  });
});

const roleOf = ({ name }: Namespace): string =>
  `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}/roles/muster-operator`;
