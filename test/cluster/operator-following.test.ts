import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import { musterCommand } from '../support/service/muster-command.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import type { ApiAccess } from './support/api-access.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating } from './support/operated.ts';
import { operatorAccount } from './support/operator-account.ts';

/* Namespaces that come, go, and are granted while the operator runs, with the rights that the chart gives it. */

/** The clock moves on by so much at each look: pauses of seconds pass soon. */
const STEP_MS = 1000;

describeOn('helm', 'the namespaces that an operator follows', () => {
  const clock = new FakeClock(Date.now());
  const looking = (): void => clock.advance(STEP_MS);
  const label = `muster.test/follow-${process.pid}`;
  let plane: ApiAccess;
  let fleet: Namespace;
  let named: Namespace;
  let muster: Muster;
  let release: string;
  const coming = `coming-${process.pid}`;
  beforeAll(async () => {
    plane = await sharedPlane();
    fleet = await Namespace.create(plane, 'fleet', { looking });
    named = await Namespace.create(plane, 'named', { looking });
    const account = await operatorAccount(plane, fleet.name, [
      `operator.namespaces={${named.name}}`,
      `operator.namespaceSelector=${label}`,
    ]);
    ({ release } = account);
    const env = {
      ...operating(account.kubeconfig, named.name, coming),
      MUSTER_KUBERNETES_NAMESPACE_SELECTOR: label,
      MUSTER_KUBERNETES_RELEASE: release,
      // Readiness follows the API server where nothing else is served.
      MUSTER_ROLES: 'controller,kubernetes',
    };
    muster = await Muster.start({ clock, env });
    await named.apply('FleetAccount', 'first', {});
    await named.ready('facct', 'first', 'Synced');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  async function standing(what: string): Promise<number> {
    const { text } = await call(`${muster.ops}/metrics`);
    const line = text.split('\n').find((each) => each.startsWith(`muster_kubernetes_namespaces{standing="${what}"}`));
    return Number(line?.split(' ')[1]);
  }
  const mark = (namespace: Namespace, on: boolean): Promise<unknown> =>
    plane.kubectl(['label', 'namespace', namespace.name, on ? `${label}=` : `${label}-`]);
  /** What `muster kubernetes rbac` prints, applied. */
  async function grant(namespace: Namespace): Promise<void> {
    const options = ['--service-account', `${fleet.name}/muster`, '--release', release];
    const { code, stdout } = await musterCommand(['kubernetes', 'rbac', namespace.name, ...options]);
    expect(code).toBe(0);
    await plane.kubectl(['apply', '--filename=-'], stdout);
  }
  const holder = async (namespace: Namespace): Promise<unknown> =>
    (await namespace.get('lease', 'muster-operator'))?.spec['holderIdentity'];

  test('one that gets the label is told to lack its Role, and is taken up half a minute after it comes', async () => {
    const team = await Namespace.create(plane, 'team', { looking });
    await team.apply('FleetAccount', 'acme', {});
    await team.apply('FleetApiKey', 'ci', { accountRef: { name: 'acme' }, secretRef: { name: 'ci' } });
    await mark(team, true);
    for (const [kind, name] of [
      ['facct', 'acme'],
      ['fkey', 'ci'],
    ] as const) {
      const { status } = await team.ready(kind, name, 'NamespaceNotGranted');
      const ready = status.conditions?.find(({ type }) => type === 'Ready');
      expect([ready?.status, ready?.message]).toEqual([
        'False',
        expect.stringContaining(`muster kubernetes rbac ${team.name}`),
      ]);
      await team.told(name, 'NamespaceNotGranted');
    }
    expect([await standing('not_granted'), await standing('followed')]).toEqual([1, 1]);
    // Many retries later the pauses are at their longest.
    const ends = clock.monotonic() + 240_000;
    await team.eventually('four minutes to pass', () => clock.monotonic() >= ends);
    expect((await call(`${muster.ops}/readyz`)).status).toBe(200);
    await grant(team);
    const grantedAt = clock.monotonic();
    await team.eventually('the Lease', async () => (await holder(team)) === release);
    expect(clock.monotonic() - grantedAt).toBeLessThan(45_000);
    await team.ready('fkey', 'ci', 'Issued');
    expect([await standing('not_granted'), await standing('followed')]).toEqual([0, 2]);

    // It is told again when the binding goes while it is followed: no Secret can be followed any more.
    await plane.kubectl(['delete', 'rolebinding', `${release.replace('/', ':')}-operator`, `--namespace=${team.name}`]);
    await team.ready('facct', 'acme', 'NamespaceNotGranted');
    await grant(team);
    await team.ready('facct', 'acme', 'Synced');
    await mark(team, false);
    await team.eventually('the Lease to be released', async () => (await holder(team)) === undefined);
  });

  test('one that loses the label is let go, and taken up again with it', async () => {
    const team = await Namespace.create(plane, 'team', { looking });
    await grant(team);
    await mark(team, true);
    await team.apply('FleetAccount', 'acme', {});
    await team.ready('facct', 'acme', 'Synced');
    expect(await holder(team)).toBe(release);
    await mark(team, false);
    await team.eventually('the Lease to be released', async () => (await holder(team)) === undefined);
    await team.apply('FleetAccount', 'later', {});
    // Another namespace shows that the operator has worked meanwhile.
    await named.apply('FleetAccount', 'meanwhile', {});
    await named.ready('facct', 'meanwhile', 'Synced');
    expect((await team.get('facct', 'later'))?.status.conditions).toBeUndefined();
    await mark(team, true);
    await team.ready('facct', 'later', 'Synced');
  });

  test('one that is named and not there is waited for, and keeps nobody waiting', async () => {
    expect(await standing('absent')).toBe(1);
    const ends = clock.monotonic() + 240_000;
    await named.eventually('four minutes to pass', () => clock.monotonic() >= ends);
    expect((await call(`${muster.ops}/readyz`)).text).toBe('{"status":"ready"}');
    const late = await Namespace.create(plane, 'coming', { looking, name: coming });
    await late.apply('FleetAccount', 'acme', {});
    await late.ready('facct', 'acme', 'NamespaceNotGranted');
    expect(await standing('absent')).toBe(0);
    await grant(late);
    await late.ready('facct', 'acme', 'Synced');
  });

  test('has no right to Secrets in the cluster, and reads which namespaces there are', async () => {
    const may = async (...what: readonly string[]): Promise<string> =>
      (
        await plane
          .kubectl(['auth', 'can-i', ...what, `--as=system:serviceaccount:${fleet.name}:muster`])
          .catch(() => 'no')
      ).trim();
    expect(await may('list', 'secrets', '--all-namespaces')).toBe('no');
    expect(await may('get', 'secrets', `--namespace=${fleet.name}`)).toBe('no');
    expect(await may('create', 'leases', '--all-namespaces')).toBe('no');
    expect(await may('delete', 'leases/kube-scheduler', '--namespace=kube-system')).toBe('no');
    expect(await may('delete', 'leases/muster-operator', `--namespace=${named.name}`)).toBe('yes');
    expect([await may('watch', 'namespaces'), await may('patch', 'namespaces')]).toEqual(['yes', 'no']);
  });
});
