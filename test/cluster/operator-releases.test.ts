import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { call, Muster } from '../support/service/muster.ts';
import { musterCommand } from '../support/service/muster-command.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import type { ApiAccess } from './support/api-access.ts';
import { ApiFront } from './support/api-front.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating, operatorApi } from './support/operated.ts';

/* Two releases, each with a store of its own, that follow one namespace: one of them acts. */

const STEP_MS = 1000;

describeOn('control plane', 'two releases that follow one namespace', () => {
  let plane: ApiAccess;
  const clock = new FakeClock(Date.now());
  const looking = (): void => clock.advance(STEP_MS);
  beforeAll(async () => {
    plane = await sharedPlane();
  });
  afterAll(() => plane[Symbol.asyncDispose]());

  const ONE = `fleet/one-${process.pid}`;
  const OTHER = `fleet/other-${process.pid}`;
  const start = (release: string, names: readonly string[], kubeconfig: string = plane.kubeconfig): Promise<Muster> =>
    Muster.start({ clock, env: { ...operating(kubeconfig, ...names), MUSTER_KUBERNETES_RELEASE: release } });
  const holder = async (team: Namespace): Promise<unknown> =>
    (await team.get('lease', 'muster-operator'))?.spec['holderIdentity'];
  const conflict = async (team: Namespace, name: string): Promise<string | undefined> =>
    (await team.get('facct', name))?.status.conditions?.find(({ type }) => type === 'OperatorConflict')?.message;
  const accounts = async (muster: Muster): Promise<readonly string[]> => {
    const { body } = await operatorApi(muster, 'accounts?limit=1000');
    return (body['accounts'] as { name: string }[]).map(({ name }) => name).sort();
  };
  const standing = async (muster: Muster, what: string): Promise<string | undefined> => {
    const { text } = await call(`${muster.ops}/metrics`);
    return new RegExp(`^muster_kubernetes_namespaces\\{standing="${what}"\\} (\\d+)$`, 'm').exec(text)?.[1];
  };

  describe('one after the other', () => {
    let team: Namespace;
    let one: Muster;
    let other: Muster;
    beforeAll(async () => {
      team = await Namespace.create(plane, 'team', { looking });
      one = await start(ONE, [team.name]);
      await team.apply('FleetAccount', 'acme', {});
      await team.ready('facct', 'acme', 'Synced');
      other = await start(OTHER, [team.name]);
    });
    afterAll(async () => {
      await one?.[Symbol.asyncDispose]();
      await other?.[Symbol.asyncDispose]();
    });

    test('the second one refuses to act, and says so by condition, event and metric', async () => {
      await team.eventually('the condition', async () => (await conflict(team, 'acme')) !== undefined);
      expect(await conflict(team, 'acme')).toBe(
        `The release ${OTHER} does not act here: the namespace is held by ${ONE}. Take it from one of the two; ` +
          `where ${ONE} is gone, delete the Lease muster-operator in ${team.name}.`,
      );
      await team.told('acme', 'HeldByAnotherRelease');
      expect([await standing(other, 'held_by_another'), await standing(one, 'followed')]).toEqual(['1', '1']);
      await team.apply('FleetAccount', 'later', {});
      await team.ready('facct', 'later', 'Synced');
      await team.eventually('it to be said of the new one', async () => (await conflict(team, 'later')) !== undefined);
      expect([await accounts(one), await accounts(other)]).toEqual([['acme', 'later'], []]);
    });

    test('they do not write against each other', async () => {
      const version = async (): Promise<unknown> => (await team.get('facct', 'later'))?.metadata.resourceVersion;
      const before = await version();
      const ends = clock.monotonic() + 120_000;
      await team.eventually('two minutes to pass', () => clock.monotonic() >= ends);
      expect(await version()).toBe(before);
      expect((await team.ready('facct', 'later', 'Synced')).status.conditions).toHaveLength(2);
    });

    test('the first one cleans up behind a resource, and the second one leaves it', async () => {
      await team.apply('FleetAccount', 'shut', { deletionPolicy: 'Disable' });
      const { status } = await team.ready('facct', 'shut', 'Synced');
      await team.delete('facct', 'shut');
      const { body } = await operatorApi(one, `accounts/${String(status['accountId'])}`);
      expect(body).toMatchObject({ disabled: true });
    });

    test('a restart of the first one gives nothing to the second one', async () => {
      await one[Symbol.asyncDispose]();
      const ends = clock.monotonic() + 120_000;
      await team.eventually('two minutes to pass', () => clock.monotonic() >= ends);
      expect([await holder(team), await standing(other, 'held_by_another')]).toEqual([ONE, '1']);
      expect(await accounts(other)).toEqual([]);
    });

    test('where the first one is gone and its Lease is deleted, the second one acts at once', async () => {
      await team.kubectl(['delete', 'lease', 'muster-operator']);
      const deletedAt = clock.monotonic();
      await team.eventually('the Lease to be taken', async () => (await holder(team)) === OTHER);
      expect(clock.monotonic() - deletedAt).toBeLessThan(30_000);
      await team.apply('FleetAccount', 'after', {});
      await team.ready('facct', 'after', 'Synced');
      await team.eventually('its words to be gone', async () => (await conflict(team, 'after')) === undefined);
      await team.eventually('those on others, too', async () => (await conflict(team, 'acme')) === undefined);
      expect(await accounts(other)).toContain('after');
    });
  });

  test('a holder whose Lease is deleted leaves it to the other, and neither acts twice', async () => {
    const team = await Namespace.create(plane, 'team', { looking });
    await using one = await start(ONE, [team.name]);
    await team.eventually('the Lease', async () => (await holder(team)) === ONE);
    const third = `fleet/third-${process.pid}`;
    await using other = await start(third, [team.name]);
    await team.eventually('the refusal', async () => (await standing(other, 'held_by_another')) === '1');
    await team.kubectl(['delete', 'lease', 'muster-operator']);
    await team.eventually('the Lease to change hands', async () => (await holder(team)) === third);
    await team.eventually('the refusal', async () => (await standing(one, 'held_by_another')) === '1');
    await team.apply('FleetAccount', 'acme', {});
    await team.ready('facct', 'acme', 'Synced');
    expect([await accounts(one), await accounts(other)]).toEqual([[], ['acme']]);

    // The teardown of the release gives it up; the other one takes it, though its holder still runs.
    const env = { KUBECONFIG: plane.kubeconfig };
    const args = ['kubernetes', 'teardown', '--yes', '--no-resources', '--release', third];
    const { code, stderr } = await musterCommand(args, env);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`Namespaces that ${third} gave up: 1.`)]);
    await team.eventually('the Lease to change hands', async () => (await holder(team)) === ONE);
  });

  test('a namespace that is out of the values after a restart is released, and the other acts at once', async () => {
    const team = await Namespace.create(plane, 'team', { looking });
    const kept = await Namespace.create(plane, 'kept', { looking });
    const before = `fleet/before-${process.pid}`;
    const after = `fleet/after-${process.pid}`;
    const one = await start(before, [team.name, kept.name]);
    await team.eventually('the Leases', async () => (await holder(team)) === before && (await holder(kept)) === before);
    await using other = await start(after, [team.name]);
    await team.eventually('the refusal', async () => (await standing(other, 'held_by_another')) === '1');
    await one[Symbol.asyncDispose]();
    await using again = await start(before, [kept.name]);
    await team.eventually('the Lease to change hands', async () => (await holder(team)) === after);
    expect([await holder(kept), await standing(again, 'followed')]).toEqual([before, '1']);
  });

  test('a release that does not act, and cannot say so, counts its attempts', async () => {
    const team = await Namespace.create(plane, 'mute', { looking });
    await using one = await start(ONE, [team.name]);
    await team.eventually('the Lease', async () => (await holder(team)) === ONE);
    await using front = await ApiFront.start(plane, { name: `front-${team.name}` });
    front.meddle = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/status') ? { answer: { status: 403 } } : undefined;
    await using other = await start(OTHER, [team.name], front.kubeconfig);
    await team.apply('FleetAccount', 'acme', {});
    const series = 'muster_kubernetes_reconcile_failures_total{kind="FleetAccount",reason="ApiServerRefused"}';
    await team.eventually('the count', async () => (await call(`${other.ops}/metrics`)).text.includes(series));
    await team.ready('facct', 'acme', 'Synced');
    expect([await accounts(one), await accounts(other)]).toEqual([['acme'], []]);
  });

  describe('that race', () => {
    let front: ApiFront;
    let team: Namespace;
    beforeEach(async () => {
      team = await Namespace.create(plane, 'race', { looking });
      front = await ApiFront.start(plane, { name: `front-${team.name}` });
    });

    test.each([1, 2, 3])('both create the Lease at once, and one wins (%i)', async () => {
      const both = Promise.withResolvers<void>();
      let asked = 0;
      front.meddle = async ({ method, path }) => {
        if (method !== 'POST' || !path.endsWith('/leases')) return undefined;
        asked += 1;
        if (asked === 2) both.resolve();
        if (asked <= 2) await both.promise;
        return undefined;
      };
      await team.apply('FleetAccount', 'acme', {});
      await using one = await start(ONE, [team.name], front.kubeconfig);
      await using other = await start(OTHER, [team.name], front.kubeconfig);
      await both.promise;
      await team.ready('facct', 'acme', 'Synced');
      await team.eventually('the refusal', async () => (await conflict(team, 'acme')) !== undefined);
      expect([...(await accounts(one)), ...(await accounts(other))]).toEqual(['acme']);
      const standings = new Set([await standing(one, 'followed'), await standing(other, 'followed')]);
      expect(standings).toEqual(new Set(['0', '1']));
      const posts = front.seen.filter(({ method, path }) => method === 'POST' && path.endsWith('/leases'));
      expect(new Set(posts.slice(0, 2).map(({ status }) => status))).toEqual(new Set([201, 409]));
      await front[Symbol.asyncDispose]();
    });
  });
});
