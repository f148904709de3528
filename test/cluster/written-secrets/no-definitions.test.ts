import { expect, test } from 'vitest';
import { call, Muster } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { describeOn } from '../support/control-plane/tools.ts';
import { installCrds, Namespace, operating } from '../support/operated.ts';

/* A cluster without the chart's definitions: said in words where an operator looks, and followed once they come. */

describeOn('control plane', 'a cluster without the definitions', () => {
  test('is told in the log, the metrics and /readyz, until they are installed', async () => {
    const clock = new FakeClock(Date.now());
    await using plane = await ControlPlane.start();
    const team = await Namespace.create(plane, 'team', { looking: () => clock.advance(100) });
    await using muster = await Muster.start({ clock, env: operating(plane.kubeconfig, team.name) });
    const readyz = async (): Promise<string> => (await call(`${muster.ops}/readyz`)).text;
    const words = 'the cluster has no definition of';
    await team.eventually('it to be told', async () => (await readyz()).includes('fleetotelconfigs.muster.dev'));
    expect(await readyz()).toContain(words);
    expect((await call(`${muster.ops}/metrics`)).text).toMatch(
      /muster_kubernetes_informer_failures_total\{resource="fleetapps",reason="no_definition"\} [1-9]/,
    );
    const warnings = (): readonly string[] =>
      muster.logged.filter((line) => line.includes('"warn"') && line.includes(`${words} fleetapps.muster.dev`));
    await team.eventually('further attempts', async () => {
      const { text } = await call(`${muster.ops}/metrics`);
      return /resource="fleetapps",reason="no_definition"\} ([3-9]|\d\d)/.test(text);
    });
    expect(warnings(), 'once, and without a stack').toHaveLength(1);
    expect(warnings()[0]).not.toContain('stack');
    await installCrds(plane);
    await team.eventually('it to be well', async () => (await readyz()) === '{"status":"ready"}');
    await team.apply('FleetAccount', 'acme', {});
    await team.ready('facct', 'acme', 'Synced');
  });
});
