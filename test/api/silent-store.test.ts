import { expect, test } from 'vitest';
import { DEADLINES } from '../../src/domain/limits.ts';
import { onEachBackend } from '../support/backends.ts';
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
});
