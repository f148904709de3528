import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../../src/store/port.ts';
import { DAY_MS, dayAt, endOfDay } from '../../../src/time/utc-days.ts';
import { countsOf, digestOf, HOUR_MS, ledgerOf, MINUTE_MS } from '../../support/metering/metering.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { enroll, Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import type { ApiAccess } from '../support/api-access.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { sharedPlane } from '../support/control-plane/shared-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { installCrds, Namespace, operating, operatorApi } from '../support/operated.ts';
import { restore, type Short } from './restored.ts';

/* The nights around a recovery: before it, while nothing runs, while all waits for the consent, and after it. */

const MADE: readonly (readonly [Short, string])[] = [
  ['facct', 'acme'],
  ['fapp', 'scanner'],
  ['fapp', 'collector'],
  ['fapp', 'waiting'],
];

describeOn('control plane', 'the metering of a cluster that is restored', () => {
  const clock = new FakeClock(Date.UTC(2026, 5, 10, 12));
  const dataDir = scratchDirectory('recovered-metering');
  let lost: ApiAccess;
  let fresh: ApiAccess;
  let team: Namespace;
  let restored: Namespace;
  let muster: Muster;
  let store: Store;
  // The operator's pauses pass while the test waits.
  const looking = (): void => clock.advance(100);
  const startAt = async ({ kubeconfig }: ApiAccess): Promise<void> => {
    const wrapStore = (opened: Store): Store => (store = opened);
    muster = await Muster.start({ dataDir, clock, wrapStore, env: operating(kubeconfig, team.name) });
  };
  const stop = (): Promise<void> => muster[Symbol.asyncDispose]();
  /** Moves the clock to the end of the day that it is, and on until that night is metered. */
  const metered = async (namespace: Namespace): Promise<string> => {
    const day = dayAt(clock.now());
    clock.advance(endOfDay(day) + 5 * MINUTE_MS - clock.now());
    await namespace.eventually(`the night of ${day} to be metered`, async () => {
      clock.advance(1000);
      return [...(await ledgerOf(store)).keys()].some((key) => key.endsWith(` ${day}`));
    });
    clock.advance(12 * HOUR_MS);
    return day;
  };
  beforeAll(async () => {
    const own = ControlPlane.start();
    lost = await sharedPlane();
    fresh = await own;
    await installCrds(fresh);
    team = await Namespace.create(lost, 'metered', { looking });
    await startAt(lost);
  });
  afterAll(async () => {
    await stop();
    await fresh[Symbol.asyncDispose]();
    await lost[Symbol.asyncDispose]();
  });

  test('counts each app once in each night, and misses no night', async () => {
    const spec = (secret: string, more: object = {}): object => ({
      accountRef: { name: 'acme' },
      enrollment: { secretRef: { name: secret } },
      ...more,
    });
    await team.applyAll([
      { kind: 'FleetAccount', name: 'acme', spec: {} },
      { kind: 'FleetApp', name: 'scanner', spec: spec('scanner') },
      { kind: 'FleetApp', name: 'waiting', spec: spec('waiting') },
      { kind: 'FleetApp', name: 'collector', spec: spec('collector', { secretFormat: 'opamp' }) },
    ]);
    const appIdOf = async (name: string, reason: string): Promise<string> =>
      String((await team.ready('fapp', name, reason)).status['appId']);
    const scanner = await appIdOf('scanner', 'CodeIssued');
    await enroll(muster, { appId: scanner, enrollCode: (await team.secret('scanner', 'enrollCode')) ?? '' });
    await appIdOf('scanner', 'Active');
    await appIdOf('waiting', 'CodeIssued');
    const active = [scanner, await appIdOf('collector', 'Active')];
    const accountId = String((await team.ready('facct', 'acme', 'Synced')).status['accountId']);

    const nights = [await metered(team)];
    await stop();
    nights.push(dayAt(clock.now()));
    clock.advance(DAY_MS);

    restored = await Namespace.create(fresh, 'restored', { name: team.name, looking });
    await restore(team, restored, { secrets: ['scanner', 'waiting', 'collector'], resources: MADE });
    await startAt(fresh);
    await restored.ready('facct', 'acme', 'FormerBinding');
    nights.push(await metered(restored));

    const { body } = await fresh.ask('GET', `/api/v1/namespaces/${restored.name}`);
    const { uid: namespaceUid } = (body as { metadata: { uid: string } }).metadata;
    const put = { namespace: restored.name, namespaceUid };
    expect((await operatorApi(muster, 'kubernetes/recovery', 'PUT', put)).status).toBe(200);
    await restored.ready('fapp', 'scanner', 'Active');
    await restored.ready('fapp', 'collector', 'Active');
    await restored.ready('fapp', 'waiting', 'CodeIssued');
    nights.push(await metered(restored));
    await stop();

    // The lost cluster is emptied, with Muster on it.
    await startAt(lost);
    await Promise.all(MADE.map(([kind, name]) => team.delete(kind, name)));
    nights.push(await metered(team));

    expect(nights).toEqual(['2026-06-10', '2026-06-11', '2026-06-12', '2026-06-13', '2026-06-14']);
    const counted = `${active.length} ${digestOf(active)}`;
    expect(await countsOf(store)).toEqual(Object.fromEntries(nights.map((day) => [`${accountId} ${day}`, counted])));
  });
});
