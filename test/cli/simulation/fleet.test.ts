import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OwnerClient } from '#client';
import { FleetCounters } from '../../../src/cli/simulation/counters.ts';
import { SimulatedFleet } from '../../../src/cli/simulation/fleet.ts';
import { systemClock, type Clock } from '../../../src/time/clock.ts';
import { call, Muster, tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

let muster: Muster;
beforeAll(async () => {
  muster = await Muster.start();
});
afterAll(() => muster[Symbol.asyncDispose]());

test('stopped while its apps are created, a fleet removes those, too, whose creates were on their way', async () => {
  const { apiKey } = await tenant(muster);
  const [arrived, released, listed] = [counter(), Promise.withResolvers<void>(), counter()];
  let carriedOut = 0;
  // The network holds each create up, and carries it out in the end, whether or not anybody waits for the answer.
  const slow: typeof fetch = async (input, init = {}) => {
    if (init.method !== 'POST') {
      const answer = await fetch(input, init);
      listed.count += 1;
      return answer;
    }
    arrived.count += 1;
    const { signal, ...onward } = init;
    const answered = released.promise.then(async () => {
      const answer = await fetch(input, onward);
      carriedOut += 1;
      return answer;
    });
    return await Promise.race([answered, aborted(signal)]);
  };
  const fleet = new SimulatedFleet(
    new OwnerClient({ url: muster.api, apiKey, fetch: slow }),
    { count: 3, prefix: 'slow' },
    {
      url: muster.device,
      counters: new FleetCounters(),
      clock: systemClock,
      jitter: () => 0.5,
      randomBytes,
      waitSeconds: 1,
    },
  );
  const ending = new AbortController();
  const ended = fleet
    .start(ending.signal)
    .catch(() => undefined)
    .then(() => fleet.remove());
  await until(() => arrived.count === 3);
  ending.abort();
  // Time enough for a removal that does not wait for them.
  await Promise.race([until(() => listed.count >= 2), turns(100)]);
  released.resolve();
  await ended;
  await until(() => carriedOut === 3);
  const { body } = await call(`${muster.api}/v1/apps`, { token: apiKey });
  expect(body).toMatchObject({ apps: [] });
});

/** Changes the configuration once, with a network that holds the change up until it is released. */
async function changing(clock: Clock) {
  const { apiKey } = await tenant(muster);
  const [arrived, released] = [counter(), Promise.withResolvers<void>()];
  const slow: typeof fetch = async (input, init = {}) => {
    if (init.method !== 'PUT') return await fetch(input, init);
    arrived.count += 1;
    const { signal, ...onward } = init;
    return await Promise.race([released.promise.then(() => fetch(input, onward)), aborted(signal)]);
  };
  const fleet = new SimulatedFleet(
    new OwnerClient({ url: muster.api, apiKey, fetch: slow }),
    { count: 1, prefix: 'changing', changeEveryMs: 1 },
    { url: muster.device, counters: new FleetCounters(), clock, jitter: () => 0.5, randomBytes, waitSeconds: 1 },
  );
  const ending = new AbortController();
  const ended = counter();
  const run = fleet
    .run(ending.signal)
    .catch(() => undefined)
    .then(() => (ended.count += 1));
  await until(() => arrived.count === 1);
  const endpoint = async () =>
    (await call(`${muster.api}/v1/otel-config`, { token: apiKey })).body['endpoint'] as string;
  return { fleet, ending, ended, released, run, endpoint };
}

test('stopped while the configuration is changed, a fleet ends after the change', async () => {
  const { fleet, ending, ended, released, run, endpoint } = await changing(systemClock);
  ending.abort();
  await turns(100);
  expect(ended.count).toBe(0);
  released.resolve();
  await run;
  expect(await endpoint()).toBe('https://otel-1.example.com');
  expect(fleet.changeIsUncertain).toBe(false);
});

test('a change that has no answer within five seconds of the end is given up, and told as uncertain', async () => {
  const pauses: number[] = [];
  const hasty: Clock = {
    ...systemClock,
    async sleep(ms, signal) {
      if (ms < 5000) return await systemClock.sleep(ms, signal);
      pauses.push(ms);
      if (ms > 5000) await systemClock.sleep(ms, signal);
    },
  };
  const { fleet, ending, run, endpoint } = await changing(hasty);
  ending.abort();
  await run;
  expect(pauses).toContain(5000);
  expect(fleet.changeIsUncertain).toBe(true);
  expect(await endpoint()).toBe('');
});

const counter = () => ({ count: 0 });

async function turns(count: number): Promise<void> {
  let left = count;
  await until(() => (left -= 1) < 0);
}

async function aborted(signal: AbortSignal | null | undefined): Promise<never> {
  return await new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
