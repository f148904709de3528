import { afterAll, beforeAll, expect, test } from 'vitest';
import { LIMITS } from '../../src/domain/limits.ts';
import { call, Muster } from '../support/service/muster.ts';
import type { ApiAccess } from './support/api-access.ts';
import { eventually } from './support/control-plane/program.ts';
import { sharedPlane } from './support/control-plane/shared-plane.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { Namespace, operating } from './support/operated.ts';

/* An account has as many FleetApps as it may have, and one more. */

const AT_ONCE = 20;

describeOn('control plane', 'a whole account of FleetApps', () => {
  let plane: ApiAccess;
  let muster: Muster;
  let team: Namespace;
  beforeAll(async () => {
    plane = await sharedPlane();
    team = await Namespace.create(plane, 'team');
    muster = await Muster.start({ env: operating(plane.kubeconfig, team.name) });
    await team.apply('FleetAccount', 'acme', {});
    await team.ready('facct', 'acme', 'Synced');
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  async function requests(): Promise<number> {
    const { text } = await call(`${muster.ops}/metrics`);
    return text
      .split('\n')
      .filter((line) => line.startsWith('muster_kubernetes_requests_total{'))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0);
  }
  async function reasons(): Promise<ReadonlyMap<string, number>> {
    const counts = new Map<string, number>();
    for (const { status } of await team.all('fapp')) {
      const reason = status.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
      counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return counts;
  }

  test('settles, with a Secret each, by a bounded number of requests', { timeout: 900_000 }, async () => {
    const wishes = Array.from({ length: LIMITS.appsPerAccountMax }, (_, index) => ({
      kind: 'FleetApp',
      name: `app-${index}`,
      spec: { accountRef: { name: 'acme' }, enrollment: { secretRef: { name: `box-${index}` } } },
    }));
    const before = await requests();
    const startedAt = performance.now();
    for (let at = 0; at < wishes.length; at += AT_ONCE) {
      await Promise.all(wishes.slice(at, at + AT_ONCE).map(({ kind, name, spec }) => team.apply(kind, name, spec)));
    }
    await eventually('all apps to have a code', async () => (await reasons()).get('CodeIssued') === wishes.length, {
      withinMs: 800_000,
      lookMs: 1000,
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const each = ((await requests()) - before) / wishes.length;
    process.stdout.write(
      `${wishes.length} FleetApps settled in ${seconds.toFixed(1)} s, ${each.toFixed(2)} requests each\n`,
    );
    // The finalizer, the Secret, the status and an event; the rest is lists, watches and what had to be repeated.
    expect(each).toBeGreaterThan(3);
    expect(each).toBeLessThan(6);
    const told = await team.all('fapp');
    expect(new Set(told.map(({ status }) => status['appId'])).size).toBe(wishes.length);

    await team.apply('FleetApp', 'one-more', { accountRef: { name: 'acme' } });
    await team.ready('fapp', 'one-more', 'LimitReached');
    await team.delete('fapp', 'app-0');
    await team.patch('fapp', 'one-more', { metadata: { labels: { again: 'now' } } });
    await team.ready('fapp', 'one-more', 'Created');
  });
});
