import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { eventually } from './support/control-plane/program.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { apiKeysOf, Namespace, operating, operatorApi, works } from './support/operated.ts';

const CHART = resolve(import.meta.dirname, '../../charts/muster');

/* A namespace is deleted as a whole, with the rights that the chart gives: Roles and Secrets go when they like. */

describeOn('helm', 'a namespace that is deleted', () => {
  let plane: ApiAccess;
  let kubeconfig: string;
  let fleet: Namespace;
  let working: Namespace;
  let returning: Namespace;
  let muster: Muster;
  const dataDir = mkdtempSync(join(tmpdir(), 'muster-'));
  const start = async (): Promise<void> => {
    muster = await Muster.start({ dataDir, env: operating(kubeconfig, working.name, returning.name) });
  };
  beforeAll(async () => {
    plane = await sharedPlane();
    fleet = await Namespace.create(plane, 'fleet');
    working = await Namespace.create(plane, 'working');
    returning = await Namespace.create(plane, 'returning');
    await fleet.kubectl(['create', 'serviceaccount', 'muster']);
    kubeconfig = await plane.serviceAccount(fleet.name, 'muster');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function grant(): Promise<void> {
    const sets = [
      'serviceAccount.create=false',
      'serviceAccount.name=muster',
      `operator.namespaces={${working.name},${returning.name}}`,
    ];
    const options = [`--namespace=${fleet.name}`, '--kube-version=1.36.3', '--show-only=templates/rbac.yaml'];
    const rbac = await plane.helm(3, ['template', fleet.name, CHART, ...options, ...sets.map((set) => `--set=${set}`)]);
    await plane.kubectl(['apply', '--filename=-'], rbac);
  }

  interface Made {
    readonly accounts: readonly { readonly id: string; readonly apiKey: string; readonly own: string }[];
    readonly kept: unknown;
  }

  /** An account of each policy, with a key that is none of Kubernetes', an app of each policy, a configuration. */
  async function make(team: Namespace): Promise<Made> {
    const accountRef = { name: 'kept' };
    await team.applyAll([
      { kind: 'FleetAccount', name: 'kept', spec: { entitlement: 'enterprise' } },
      { kind: 'FleetAccount', name: 'shut', spec: { deletionPolicy: 'Disable' } },
      { kind: 'FleetApiKey', name: 'kept', spec: { accountRef, secretRef: { name: 'kept' } } },
      { kind: 'FleetApiKey', name: 'shut', spec: { accountRef: { name: 'shut' }, secretRef: { name: 'shut' } } },
      ...['Delete', 'Revoke', 'Retain'].map((deletionPolicy) => {
        const name = deletionPolicy.toLowerCase();
        return {
          kind: 'FleetApp',
          name,
          spec: { accountRef, deletionPolicy, enrollment: { secretRef: { name: `app-${name}` } } },
        };
      }),
      {
        kind: 'FleetOtelConfig',
        name: 'kept',
        spec: { accountRef, enabled: true, endpoint: 'https://otel.example.com' },
      },
    ]);
    for (const app of ['delete', 'revoke', 'retain']) await team.ready('fapp', app, 'CodeIssued');
    await team.ready('fotel', 'kept', 'Synced');
    const accounts = ['kept', 'shut'].map(async (name) => {
      await team.ready('fkey', name, 'Issued');
      const id = String((await team.ready('facct', name, 'Synced')).status['accountId']);
      const { body } = await operatorApi(muster, `accounts/${id}/api-keys`, 'POST');
      return { id, own: String(body['apiKey']), apiKey: (await team.secret(name, 'apiKey')) ?? '' };
    });
    const kept = (await team.get('fapp', 'retain'))?.status['appId'];
    return { accounts: await Promise.all(accounts), kept };
  }

  /** Each policy is carried out, nothing is made anew, and the operator has nothing to complain about. */
  async function expectCleanedUp({ accounts: [kept, shut], kept: appId }: Made): Promise<void> {
    if (!kept || !shut) return expect.unreachable();
    for (const { apiKey } of [kept, shut]) expect(await works(muster, apiKey)).toBe(false);
    expect(await apiKeysOf(muster, kept.id)).toHaveLength(1);
    expect((await operatorApi(muster, `accounts/${kept.id}`)).body).toMatchObject({ disabled: false });
    expect((await operatorApi(muster, `accounts/${shut.id}`)).body).toMatchObject({ disabled: true });
    const read = async (path: string): Promise<Record<string, unknown>> =>
      (await call(`${muster.api}/v1/${path}`, { token: kept.own })).body;
    const apps = (await read('apps'))['apps'] as { appId: string; name: string; status: string }[];
    expect(apps.map(({ name, status }) => `${name} ${status}`).sort()).toEqual(['retain pending', 'revoke revoked']);
    expect(apps.find(({ name }) => name === 'retain')?.appId).toBe(appId);
    expect(await read('otel-config')).toMatchObject({ enabled: false, endpoint: '' });
    expect(await (await fetch(`${muster.ops}/readyz`)).text()).toBe('{"status":"ready"}');
  }

  const gone = (team: Namespace): Promise<void> =>
    eventually(`${team.name} to be gone`, async () => {
      return (await plane.ask('GET', `/api/v1/namespaces/${team.name}`)).status === 404;
    });

  let made: readonly [Made, Made];
  beforeAll(async () => {
    await grant();
    await start();
    made = [await make(working), await make(returning)];
  });

  test('goes completely, though its Roles go first', async () => {
    await working.kubectl(['delete', 'rolebinding,role', '--all']);
    await working.kubectl(['delete', 'namespace', working.name, '--wait=false']);
    await gone(working);
    await expectCleanedUp(made[0]);
  });

  test('goes when the operator is back, which finds neither Roles nor Secrets there', async () => {
    await muster[Symbol.asyncDispose]();
    await returning.kubectl(['delete', 'namespace', returning.name, '--wait=false']);
    await eventually('all but the custom resources to be gone', async () => {
      const left = await Promise.all(['role', 'rolebinding', 'secret'].map((kind) => returning.all(kind)));
      return left.flat().length === 0;
    });
    expect(await returning.all('fapp')).toHaveLength(3);
    await start();
    await gone(returning);
    await expectCleanedUp(made[1]);
  });
});
