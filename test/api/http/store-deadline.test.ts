import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { DEADLINES } from '../../../src/domain/limits.ts';
import { requestsInFlight } from '../../support/service/daemon.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, poll, tenant } from '../../support/service/muster.ts';
import { onEachBackend } from '../../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { simulatedTimers } from '../../support/time/simulated-timers.ts';
import { until } from '../../support/time/until.ts';

const reasonOf = (line: string): unknown => (JSON.parse(line) as { readonly reason?: string }).reason;

onEachBackend('H15: a store that never answers', (backend) => {
  test('lets no request hang: each is 502 after 1.9 s, with Retry-After, and all goes on once it answers', async () => {
    // From here on: nothing of the preparation may be late by these deadlines.
    using timers = simulatedTimers();
    let faulty: FaultyStore | undefined;
    await using muster = await backend.fresh({
      // With this clock there is no pulse: every read of `head` is a request's.
      clock: new FakeClock(),
      deadlines: DEADLINES,
      wrapStore: (store) => (faulty = faultyStore(store)),
    });
    const { apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    const credential = await enroll(muster, app);
    const requests = [
      () => call(`${muster.api}/v1/apps/${app.appId}`, { token: apiKey }),
      () => call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey }),
      () => poll(muster, credential),
      () => call(`${muster.ops}/operator/v1/accounts`, { token: OPERATOR_TOKEN }),
    ];
    const release = faulty?.stall('head');
    let answered = 0;
    const asked = requests.map((request) => request().finally(() => (answered += 1)));
    const all = { api: 2, device: 1, ops: 1 };
    await until(async () => isDeepStrictEqual(await requestsInFlight(muster), all));
    await timers.advance(DEADLINES.requestMs - 1);
    expect([await requestsInFlight(muster), answered]).toEqual([all, 0]);
    await timers.advance(1);
    for (const answer of await Promise.all(asked)) {
      expect(answer).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    // The store's own calls have not failed: their time would be up before.
    const reasons = muster.logged.filter((line) => line.includes('"status":502')).map(reasonOf);
    expect(reasons).toEqual(requests.map(() => 'late'));
    release?.();
    const answers = await Promise.all(requests.map((request) => request()));
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 200, 200]);
  });
});
