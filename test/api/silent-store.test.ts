import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { DEADLINES } from '../../src/domain/limits.ts';
import { onEachBackend } from '../support/backends.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { call, createApp, enroll, OPERATOR_TOKEN, poll, tenant } from '../support/muster.ts';
import { unluckyStore, type UnluckyStore } from '../support/unlucky-store.ts';

onEachBackend('H15: a store that never answers', (backend) => {
  test('lets no request hang: each is 502 with Retry-After, and all goes on once it answers', async () => {
    let unlucky: UnluckyStore | undefined;
    await using muster = await backend.fresh({
      deadlines: DEADLINES,
      wrapStore: (store) => (unlucky = unluckyStore(store)),
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
    const release = unlucky?.stall('head');
    for (const answer of await Promise.all(requests.map((request) => request()))) {
      expect(answer).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    release?.();
    const answers = await Promise.all(requests.map((request) => request()));
    expect(answers.map(({ status }) => status)).toEqual([200, 201, 200, 200]);
  });

  test('not before 1.9 s have passed, and then at once', async () => {
    let unlucky: UnluckyStore | undefined;
    // With this clock there is no pulse: every read of `head` is a request's.
    const clock = new FakeClock();
    await using muster = await backend.fresh({
      clock,
      deadlines: DEADLINES,
      wrapStore: (store) => (unlucky = unluckyStore(store)),
    });
    const { apiKey } = await tenant(muster);
    const release = unlucky?.stall('head');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const asked = unlucky?.calls.head ?? 0;
      let isAnswered = false;
      const answer = call(`${muster.api}/v1/apps`, { token: apiKey }).finally(() => (isAnswered = true));
      while (unlucky?.calls.head === asked) await nextTurn();
      vi.advanceTimersByTime(1850);
      for (let turn = 0; turn < 50; turn += 1) await nextTurn();
      expect(isAnswered).toBe(false);
      vi.advanceTimersByTime(50);
      expect((await answer).status).toBe(502);
    } finally {
      vi.useRealTimers();
      release?.();
    }
  });
});
