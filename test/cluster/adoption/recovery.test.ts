import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, enroll, Muster, poll } from '../../support/service/muster.ts';
import { musterCommand, type Ended } from '../../support/service/muster-command.ts';
import { OPERATOR_TOKEN } from '../../support/service/muster.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { installCrds, Namespace, operating, operatorApi, works, type Told } from '../support/operated.ts';
import { restore, type Short } from './restored.ts';

/*
 * The drill of docs/KUBERNETES.md: a cluster is lost, another one gets the same objects under new UIDs, and Muster's
 * store stays. Both API servers are real.
 */

const MADE: readonly (readonly [Short, string, string])[] = [
  ['facct', 'acme', 'Synced'],
  ['fkey', 'ci', 'Issued'],
  ['fkey', 'late', 'Issued'],
  ['fapp', 'scanner', 'Active'],
  ['fapp', 'waiting', 'CodeIssued'],
  ['fapp', 'collector', 'Active'],
  ['fotel', 'export', 'Synced'],
];

describeOn('control plane', 'a cluster that is restored under new UIDs', () => {
  let lost: ApiAccess;
  let fresh: ApiAccess;
  let team: Namespace;
  let restored: Namespace;
  let muster: Muster;
  const dataDir = scratchDirectory('recovery');
  const startAt = async (plane: ApiAccess): Promise<void> => {
    muster = await Muster.start({ dataDir, env: operating(plane.kubeconfig, team.name) });
  };
  const stop = (): Promise<void> => muster[Symbol.asyncDispose]();
  const recover = (...args: string[]): Promise<Ended> =>
    musterCommand(['kubernetes', 'recover', team.name, ...args], {
      KUBECONFIG: fresh.kubeconfig,
      MUSTER_CLIENT_OPS_URL: muster.ops,
      MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN,
    });
  beforeAll(async () => {
    const own = ControlPlane.start();
    lost = await sharedPlane();
    fresh = await own;
    await installCrds(fresh);
    team = await Namespace.create(lost, 'lost');
    await startAt(lost);
  });
  afterAll(async () => {
    await stop();
    await fresh[Symbol.asyncDispose]();
    await lost[Symbol.asyncDispose]();
  });

  const secretsOf = ['ci', 'late', 'scanner', 'waiting', 'collector'] as const;
  const stalled = ({ status }: Told): string | undefined =>
    status.conditions?.find(({ type, status: is }) => type === 'Stalled' && is === 'True')?.reason;
  const accounts = async (): Promise<readonly string[]> => {
    const { body } = await operatorApi(muster, 'accounts?limit=1000');
    return (body['accounts'] as { accountId: string }[]).map(({ accountId }) => accountId);
  };
  const appsOf = async (accountId: string): Promise<readonly string[]> => {
    const { body } = await operatorApi(muster, `accounts/${accountId}/apps`);
    return (body['apps'] as { appId: string; status: string }[]).map(({ appId, status }) => `${appId} ${status}`);
  };

  test('goes on with its accounts, keys, codes and daemons after one command, and nothing is doubled', async () => {
    const spec = (secret: string, more: object = {}): object => ({
      accountRef: { name: 'acme' },
      enrollment: { secretRef: { name: secret } },
      ...more,
    });
    const key = (secret: string): object => ({ accountRef: { name: 'acme' }, secretRef: { name: secret } });
    await team.applyAll([
      { kind: 'FleetAccount', name: 'acme', spec: { entitlement: 'enterprise', deletionPolicy: 'Disable' } },
      { kind: 'FleetApiKey', name: 'ci', spec: key('ci') },
      { kind: 'FleetApiKey', name: 'late', spec: key('late') },
      { kind: 'FleetApp', name: 'scanner', spec: spec('scanner') },
      { kind: 'FleetApp', name: 'waiting', spec: spec('waiting') },
      { kind: 'FleetApp', name: 'collector', spec: spec('collector', { secretFormat: 'opamp' }) },
      {
        kind: 'FleetOtelConfig',
        name: 'export',
        spec: { accountRef: { name: 'acme' }, enabled: true, endpoint: 'https://otel.example.com' },
      },
    ]);
    const { status: scanner } = await team.ready('fapp', 'scanner', 'CodeIssued');
    const code = (await team.secret('scanner', 'enrollCode')) ?? '';
    const credential = await enroll(muster, { appId: String(scanner['appId']), enrollCode: code });
    const before = new Map<string, Told>();
    for (const [kind, name, reason] of MADE) before.set(`${kind}/${name}`, await team.ready(kind, name, reason));
    const accountId = String(before.get('facct/acme')?.status['accountId']);
    const [apiKey, openCode] = [await team.secret('ci', 'apiKey'), await team.secret('waiting', 'enrollCode')];
    await team.eventually(
      'the code that was used to leave the Secret',
      async () => (await team.secret('scanner', 'enrollCode')) === undefined,
    );
    const supervisor = await team.secret('collector', 'credential');
    const apps = await appsOf(accountId);
    const revision = before.get('fotel/export')?.status['revision'];
    await stop();

    // The backup of this key's Secret is older than the key.
    restored = await Namespace.create(fresh, 'restored', { name: team.name });
    const older = { apiKey: Buffer.from('mst_key_older').toString('base64') };
    await restore(team, restored, { secrets: secretsOf, resources: MADE, older: { late: older } });
    await startAt(fresh);

    const waits = await restored.ready('facct', 'acme', 'FormerBinding');
    expect(stalled(waits)).toBe('FormerBinding');
    expect(waits.status.conditions?.[0]?.message).toContain(`muster kubernetes recover ${team.name}`);
    await restored.ready('fkey', 'ci', 'AccountNotReady');
    // A new resource of another name goes on as ever.
    await restored.apply('FleetAccount', 'newcomer', {});
    const newcomer = String((await restored.ready('facct', 'newcomer', 'Synced')).status['accountId']);
    expect((await accounts()).toSorted()).toEqual([accountId, newcomer].toSorted());

    // The consent is for one namespace, by its UID.
    const put = { namespace: team.name, namespaceUid: 'another-uid' };
    expect((await operatorApi(muster, 'kubernetes/recovery', 'PUT', put)).status).toBe(200);
    await restored.patch('facct', 'acme', { metadata: { annotations: { again: '1' } } });
    await restored.ready('facct', 'acme', 'FormerBinding');

    const shown = await recover('--dry-run', '-o', 'csv');
    expect([shown.code, shown.stderr]).toEqual([0, '']);
    const formerUid = before.get('facct/acme')?.metadata.uid ?? '';
    expect(shown.stdout).toContain(`"FleetAccount","acme","${formerUid}","${waits.metadata.uid}","${accountId}"`);
    await restored.ready('facct', 'acme', 'FormerBinding');
    const asked = await recover();
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('--yes');

    const done = await recover('--yes');
    expect([done.code, done.stderr]).toEqual([0, expect.stringContaining('may take it up, until 20')]);
    for (const [kind, name, reason] of MADE) {
      if (name === 'late') continue;
      const now = await restored.ready(kind, name, reason);
      expect(stalled(now)).toBeUndefined();
      const was = before.get(`${kind}/${name}`)?.status ?? {};
      for (const field of ['accountId', 'appId', 'keyId']) expect(now.status[field]).toBe(was[field]);
    }
    expect((await restored.ready('fotel', 'export', 'Synced')).status['revision']).toBe(revision);
    // A Secret with another key than the current one is not taken over, and the resource does not wait for ever.
    expect(stalled(await restored.ready('fkey', 'late', 'SecretNotOwned'))).toBe('SecretNotOwned');
    expect((await restored.get('secret', 'late'))?.data).toEqual(older);
    await restored.delete('secret', 'late');
    await restored.patch('fkey', 'late', { metadata: { annotations: { again: '1' } } });
    await restored.ready('fkey', 'late', 'Issued');

    const values = async (): Promise<unknown> => [
      await restored.secret('ci', 'apiKey'),
      await restored.secret('waiting', 'enrollCode'),
      await restored.secret('collector', 'credential'),
    ];
    expect(await values()).toEqual([apiKey, openCode, supervisor]);
    const goesOn = async (): Promise<void> => {
      expect(await works(muster, apiKey)).toBe(true);
      expect((await poll(muster, credential)).status).toBe(200);
      expect((await poll(muster, supervisor ?? '')).status).toBe(200);
      expect(await appsOf(accountId)).toEqual(apps);
      expect((await accounts()).toSorted()).toEqual([accountId, newcomer].toSorted());
      expect((await operatorApi(muster, `accounts/${accountId}`)).body['disabled']).toBe(false);
    };
    await goesOn();
    await stop();

    // The lost cluster comes back, with the operator on it, and is emptied.
    await startAt(lost);
    await team.ready('facct', 'acme', 'FormerBinding');
    await Promise.all(MADE.map(([kind, name]) => team.delete(kind, name)));
    await goesOn();
    await stop();

    await startAt(fresh);
    await restored.eventually('the operator to have looked', async () => (await fetch(`${muster.ops}/readyz`)).ok);
    await restored.ready('facct', 'acme', 'Synced');
    await goesOn();
    const waiting = { appId: String(before.get('fapp/waiting')?.status['appId']), enrollCode: openCode ?? '' };
    expect((await poll(muster, await enroll(muster, waiting))).status).toBe(200);
    const { body } = await call(`${muster.ops}/operator/v1/audit`, { token: OPERATOR_TOKEN });
    expect(JSON.stringify(body)).toContain('resource.recovery-allowed');
  });

  test('is not deleted by the lost cluster between the consent and the restore', async () => {
    await stop();
    await startAt(lost);
    await team.apply('FleetAccount', 'moving', { deletionPolicy: 'Disable' });
    const accountId = String((await team.ready('facct', 'moving', 'Synced')).status['accountId']);
    await team.apply('FleetApp', 'moving', { accountRef: { name: 'moving' } });
    await team.ready('fapp', 'moving', 'Created');
    const apps = await appsOf(accountId);
    const allowed = await recover('--yes');
    expect(allowed.code).toBe(0);
    await Promise.all([team.delete('fapp', 'moving'), team.delete('facct', 'moving')]);
    expect(await appsOf(accountId)).toEqual(apps);
    expect((await operatorApi(muster, `accounts/${accountId}`)).body['disabled']).toBe(false);
    await stop();
    await startAt(fresh);
    await restored.apply('FleetAccount', 'moving', { deletionPolicy: 'Disable' });
    expect((await restored.ready('facct', 'moving', 'Synced')).status['accountId']).toBe(accountId);
  });
});
