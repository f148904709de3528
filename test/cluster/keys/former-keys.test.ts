import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { Namespace, operating, works } from '../support/operated.ts';
import { operatorAccount } from '../support/operator-account.ts';

/* A former key ends at its time by itself, also in a namespace in which the operator may do nothing any more. */

/** The clock moves on by so much at each look: pauses of seconds pass soon, and an overlap of hours does not. */
const STEP_MS = 1000;

describeOn('helm', 'a former key of a FleetApiKey', () => {
  const clock = new FakeClock();
  const looking = (): void => clock.advance(STEP_MS);
  let plane: ApiAccess;
  let muster: Muster;
  let ungranted: Namespace;
  let held: Namespace;
  beforeAll(async () => {
    plane = await sharedPlane();
    const fleet = await Namespace.create(plane, 'fleet', { looking });
    ungranted = await Namespace.create(plane, 'ungranted', { looking });
    held = await Namespace.create(plane, 'held', { looking });
    const names = [ungranted.name, held.name];
    const account = await operatorAccount(plane, fleet.name, [`operator.namespaces={${names.join(',')}}`]);
    const env = { ...operating(account.kubeconfig, ...names), MUSTER_KUBERNETES_RELEASE: account.release };
    muster = await Muster.start({ clock, env });
  });
  afterAll(async () => {
    await muster?.[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  interface Rotated {
    readonly former: string | undefined;
    readonly current: string | undefined;
    /** When the former key ends, as the status says, in milliseconds since 1970. */
    readonly until: number;
  }
  /** A key whose Secret somebody deleted: its successor works, and the former one for its overlap of days. */
  async function rotated(team: Namespace): Promise<Rotated> {
    await team.apply('FleetAccount', 'acme', {});
    await team.apply('FleetApiKey', 'ci', {
      accountRef: { name: 'acme' },
      secretRef: { name: 'ci' },
      rotation: { interval: '720h', overlap: '48h' },
    });
    await team.ready('fkey', 'ci', 'Issued');
    const former = await team.secret('ci', 'apiKey');
    await team.kubectl(['delete', 'secret', 'ci']);
    let until = Number.NaN;
    await team.eventually('the former key to be told', async () => {
      until = Date.parse(String((await team.get('fkey', 'ci'))?.status['previousKeyValidUntil']));
      return !Number.isNaN(until);
    });
    await team.ready('fkey', 'ci', 'Issued');
    const current = await team.secret('ci', 'apiKey');
    expect([await works(muster, former), await works(muster, current)]).toEqual([true, true]);
    return { former, current, until };
  }

  async function endsInTime({ former, current, until }: Rotated): Promise<void> {
    clock.advance(until - clock.now() - 1);
    expect([await works(muster, former), await works(muster, current)]).toEqual([true, true]);
    clock.advance(1);
    expect([await works(muster, former), await works(muster, current)]).toEqual([false, true]);
  }

  test('ends where the namespace has lost its Role', async () => {
    const keys = await rotated(ungranted);
    await ungranted.kubectl(['delete', 'rolebinding', '--all']);
    await ungranted.ready('fkey', 'ci', 'NamespaceNotGranted');
    await endsInTime(keys);
  });

  test('ends where another release holds the namespace', async () => {
    const keys = await rotated(held);
    await held.patch('lease', 'muster-operator', { spec: { holderIdentity: 'another/release' } });
    await held.told('ci', 'HeldByAnotherRelease');
    await endsInTime(keys);
  });
});
