import { afterAll, beforeAll, expect, test } from 'vitest';
import { Muster } from '../support/service/muster.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { ControlPlane } from './support/control-plane/control-plane.ts';
import { eventually } from './support/control-plane/program.ts';
import { describeOn } from './support/control-plane/tools.ts';
import { apiKeysOf, installCrds, Namespace, operating, works } from './support/operated.ts';

const MINUTE_MS = 60_000;

/* The rotation of a key, with time that moves when the test says so. */

describeOn('control plane', 'the rotation of an API key', () => {
  const clock = new FakeClock();
  let plane: ControlPlane;
  let muster: Muster;
  let team: Namespace;
  beforeAll(async () => {
    plane = await ControlPlane.start();
    await installCrds(plane);
    // The operator's pauses pass while the test waits, and hours do not.
    team = await Namespace.create(plane, 'team', { looking: () => clock.advance(10) });
    muster = await Muster.start({ clock, env: operating(plane.kubeconfig, team.name) });
  });
  afterAll(async () => {
    await muster[Symbol.asyncDispose]();
    await plane[Symbol.asyncDispose]();
  });

  test('puts a new key into the Secret, and ends the old one when the overlap is over', async () => {
    await team.apply('FleetAccount', 'acme', {});
    await team.apply('FleetApiKey', 'ci', {
      accountRef: { name: 'acme' },
      secretRef: { name: 'ci' },
      rotation: { interval: '1h', overlap: '10m' },
    });
    await team.ready('fkey', 'ci', 'Issued');
    const { status } = await team.ready('facct', 'acme', 'Synced');
    const first = await team.secret('ci', 'apiKey');

    clock.advance(59 * MINUTE_MS);
    expect(await team.secret('ci', 'apiKey')).toBe(first);
    await eventually('another key', async () => {
      clock.advance(MINUTE_MS / 2);
      return (await team.secret('ci', 'apiKey')) !== first;
    });
    const second = await team.secret('ci', 'apiKey');
    await team.eventually('it to work', () => works(muster, second));
    expect(await works(muster, first)).toBe(true);
    await team.eventually('the status to tell', async () => {
      const told = await team.ready('fkey', 'ci', 'Issued');
      return told.status['previousKeyValidUntil'] !== undefined;
    });

    await eventually('the first key to end', async () => {
      clock.advance(MINUTE_MS / 2);
      return !(await works(muster, first));
    });
    expect(await works(muster, second)).toBe(true);
    expect(await apiKeysOf(muster, status['accountId'])).toHaveLength(1);
    await team.eventually('the status to tell no more', async () => {
      const told = await team.ready('fkey', 'ci', 'Issued');
      return told.status['previousKeyValidUntil'] === undefined;
    });
    for (const reason of ['KeyIssued', 'KeyRotated']) await team.told('ci', reason);
  });

  test('ends the old one in time also where a repair waits, since another writer undoes it again and again', async () => {
    await team.apply('FleetApiKey', 'held', {
      accountRef: { name: 'acme' },
      secretRef: { name: 'held' },
      secretTemplate: { labels: { tool: 'x' } },
      rotation: { interval: '1h', overlap: '10m' },
    });
    await team.ready('fkey', 'held', 'Issued');
    const first = await team.secret('held', 'apiKey');
    await eventually('another key', async () => {
      clock.advance(MINUTE_MS / 2);
      return (await team.secret('held', 'apiKey')) !== first;
    });
    let until = 0;
    await team.eventually('the status to tell', async () => {
      until = Date.parse(String((await team.ready('fkey', 'held', 'Issued')).status['previousKeyValidUntil']));
      return !Number.isNaN(until);
    });
    clock.advance(until - clock.now() - MINUTE_MS / 2);
    const label = async (): Promise<unknown> =>
      ((await team.get('secret', 'held'))?.metadata as { labels?: Record<string, string> } | undefined)?.labels?.[
        'tool'
      ];
    // The rotation was the first of three answers at once.
    for (let changes = 0; changes < 2; changes += 1) {
      await team.patch('secret', 'held', { metadata: { labels: { tool: 'y' } } }, 'rival');
      await team.eventually('the label to be put right', async () => (await label()) === 'x');
    }
    await team.patch('secret', 'held', { metadata: { labels: { tool: 'y' } } }, 'rival');
    await team.ready('fkey', 'held', 'WriteConflict');
    expect(await works(muster, first)).toBe(true);
    clock.advance(until - clock.now());
    await team.eventually('the first key to end', async () => !(await works(muster, first)));
    // By the simulated clock, which moves by 10 ms a look; the turn of the repair is later.
    expect(clock.now() - until).toBeLessThan(3000);
    expect(await label()).toBe('y');
  });

  test('an API server that is silent for three minutes is reported, and requests are still served', async () => {
    const READY = '{"status":"ready"}';
    const readyz = async (): Promise<string> => await (await fetch(`${muster.ops}/readyz`)).text();
    await eventually('all to be well', async () => {
      clock.advance(1000);
      return (await readyz()) === READY;
    });
    await plane.stopApiServer();
    await eventually('the silence to be told', async () => {
      // Each try asks again; only time makes it silence.
      clock.advance(MINUTE_MS);
      return (await readyz()).includes('degraded');
    });
    const answer = await fetch(`${muster.ops}/readyz`);
    expect(answer.status).toBe(200);
    expect(await (await fetch(`${muster.ops}/metrics`)).text()).toMatch(
      /muster_kubernetes_informer_age_seconds\{resource="\w+"\} [1-9]\d\d/,
    );
    await plane.startApiServer();
    await eventually('it to be well again', async () => {
      // Enough for the pause after a failure to pass, and little enough that answers of a slow machine are not late.
      clock.advance(1000);
      return (await readyz()) === READY;
    });
  });
});
