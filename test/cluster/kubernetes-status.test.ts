import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../support/service/muster.ts';
import { musterCommand, type Ended } from '../support/service/muster-command.ts';
import type { ApiAccess } from './support/api-access.ts';
import { eventually } from './support/control-plane/program.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating } from './support/operated.ts';

/* test/cli/commands/kubernetes/status.test.ts has what an API server may answer. */

describeOn('control plane', 'muster kubernetes status', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  let unfollowed: Namespace;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    unfollowed = await Namespace.create(plane, 'unfollowed');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'acme', {});
    await team.ready('facct', 'acme', 'Synced');
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
  });

  const status = (...args: string[]): Promise<Ended> =>
    musterCommand(['kubernetes', 'status', '--timeout=60s', '-o', 'csv', ...args], { KUBECONFIG: plane.kubeconfig });
  /** The beginning of a line, each cell of which is quoted. */
  const row = ({ name }: Namespace, ...cells: readonly string[]): string =>
    [name, ...cells].map((cell) => `"${cell}"`).join(',');

  test('ends with 0 where all are ready, and with 3 and the reason where one is not', async () => {
    const well = await status('-n', team.name);
    expect([well.code, well.stderr]).toEqual([0, '']);
    expect(well.stdout).toContain(row(team, 'FleetAccount', 'acme', 'true', 'Synced'));
    await team.apply('FleetApp', 'lost', {
      accountRef: { name: 'nobody' },
      enrollment: { secretRef: { name: 'box' } },
    });
    await eventually('the reason to be shown', async () => {
      const { code, stdout } = await status('-n', team.name, '--not-ready');
      return code === 3 && stdout.includes(row(team, 'FleetApp', 'lost', 'false', 'AccountNotFound'));
    });
  });

  test('a resource that no operator follows is told from one that is not ready', async () => {
    await unfollowed.apply('FleetAccount', 'acme', {});
    const { code, stdout } = await status('-n', team.name, '-n', unfollowed.name);
    expect(code).toBe(3);
    expect(stdout).toContain(`${row(unfollowed, 'FleetAccount', 'acme', 'false', 'NotSeen')},"No operator has seen it`);
    expect(stdout).toContain(row(team, 'FleetAccount', 'acme', 'true', 'Synced'));
  });
});
