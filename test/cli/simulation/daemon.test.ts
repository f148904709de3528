import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { FleetCounters } from '../../../src/cli/simulation/counters.ts';
import { SimulatedDaemon } from '../../../src/cli/simulation/daemon.ts';
import { Slots } from '../../../src/concurrency/slots.ts';
import { STRANGERS } from '../../support/cli/strangers.ts';
import { LossyProxy } from '../../support/http/lossy-proxy.ts';
import { readApp, revoke, setOtel } from '../../support/service/daemon.ts';
import { musterHere, ownedBy } from '../../support/service/muster-command.ts';
import { createApp, Muster, tenant } from '../../support/service/muster.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { untilPassing } from '../../support/time/until-passing.ts';

test('an acknowledgement that an outage takes is sent again, and the configuration counts as received once', async () => {
  await using muster = await Muster.start();
  await using proxy = await LossyProxy.before(muster.device);
  const { apiKey } = await tenant(muster);
  await musterHere(['otel', 'set', '--endpoint', 'https://otel.example.com'], ownedBy(muster, apiKey));
  const acknowledgements = () => proxy.seen.filter(({ path }) => path.endsWith('/ack')).length;
  proxy.fate = ({ url }) => (url?.endsWith('/ack') && acknowledgements() < 2 ? 502 : 'through');
  const [clock, counters, ended] = [new FakeClock(), new FleetCounters(), new AbortController()];
  const surroundings = { url: proxy.url, counters, clock, jitter: () => 0.5, randomBytes, waitSeconds: 0 };
  const running = new SimulatedDaemon(surroundings).run(await createApp(muster, apiKey), ended.signal);
  await untilPassing(clock, async () => counters.acknowledged > 0);
  ended.abort();
  await expect(running).rejects.toMatchObject({ code: 'aborted' });
  expect(counters).toMatchObject({ received: 1, acknowledged: 1, failed: 2 });
  expect(acknowledgements()).toBe(3);
});

test('an agent of OpAMP whose messages an outage takes is told and tells all the same, until it is revoked', async () => {
  await using muster = await Muster.start();
  await using proxy = await LossyProxy.before(muster.device);
  const { apiKey } = await tenant(muster);
  await setOtel(muster, apiKey);
  const messages = () => proxy.seen.filter(({ path }) => path === '/v1/opamp').length;
  // The full state and the acknowledgement are each carried out, and the answer is lost.
  proxy.fate = ({ url }) => (url === '/v1/opamp' && [1, 3].includes(messages() + 1) ? 'lost' : 'through');
  const [clock, counters] = [new FakeClock(), new FleetCounters()];
  const app = await createApp(muster, apiKey);
  const opamp = { endpoint: `${proxy.url}/v1/opamp`, fetch, slots: new Slots(1) };
  const surroundings = { url: proxy.url, counters, clock, jitter: () => 0.5, randomBytes, waitSeconds: 0, opamp };
  let isOver = false;
  const running = new SimulatedDaemon(surroundings).run(app, new AbortController().signal).then(() => (isOver = true));
  await untilPassing(clock, async () => counters.acknowledged > 0);
  expect(counters).toMatchObject({ received: 1, acknowledged: 1, failed: 2 });
  expect(await readApp(muster, apiKey, app.appId)).toMatchObject({ agentVersion: '1.0.0' });
  await revoke(muster, apiKey, app.appId);
  await untilPassing(clock, async () => isOver);
  await running;
  expect(counters.failed).toBe(2);
});

test.each(['device', 'opamp'] as const)(
  'no stranger on its way ends a daemon of %s: only the service does',
  async (protocol) => {
    await using muster = await Muster.start();
    await using proxy = await LossyProxy.before(muster.device);
    const { apiKey } = await tenant(muster);
    await setOtel(muster, apiKey);
    const [enrolling, polling] = [Object.values(STRANGERS), Object.values(STRANGERS)];
    proxy.stranger = ({ url }) => (url?.endsWith('/enroll') ? enrolling : polling).shift();
    const [clock, counters] = [new FakeClock(), new FleetCounters()];
    const app = await createApp(muster, apiKey);
    const opamp = protocol === 'opamp' ? { endpoint: `${proxy.url}/v1/opamp`, fetch, slots: new Slots(1) } : undefined;
    const surroundings = { url: proxy.url, counters, clock, jitter: () => 0.5, randomBytes, waitSeconds: 0, opamp };
    let isOver = false;
    const running = new SimulatedDaemon(surroundings)
      .run(app, new AbortController().signal)
      .then(() => (isOver = true));
    await untilPassing(clock, async () => counters.acknowledged > 0);
    expect([enrolling.length, polling.length, isOver]).toEqual([0, 0, false]);
    await revoke(muster, apiKey, app.appId);
    await untilPassing(clock, async () => isOver);
    await running;
  },
);
