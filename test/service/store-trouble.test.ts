import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { StoreUnavailable, type Store, type StoreTrouble } from '../../src/store/port.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { until } from '../support/time/until.ts';

/* A store that a person must mend, seen through the doors; test/system/store-lost.test.ts has a lost etcd. */

const errorsOf = ({ logged }: Muster): string[] => logged.filter((line) => line.includes('"level":"error"'));

test('the file of the embedded store is removed: no write is acknowledged, and not ready within seconds', async () => {
  await using muster = await Muster.start();
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));
  rmSync(join(muster.dataDir, 'muster.db'));
  expect(await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey })).toMatchObject({ status: 502 });
  const ready = await call(`${muster.ops}/readyz`);
  expect([ready.status, ready.text]).toEqual([503, expect.stringContaining('gone or another one than before')]);
  expect(await call(`${muster.api}/v1/apps`, { token: apiKey })).toMatchObject({ status: 502 });
  expect(await poll(muster, credential)).toMatchObject({ status: 502 });
  expect(errorsOf(muster)).toHaveLength(1);
});

test('the same without a request', async () => {
  await using muster = await Muster.start();
  rmSync(join(muster.dataDir, 'muster.db'));
  await until(async () => (await call(`${muster.ops}/readyz`)).text.includes('gone or another one than before'));
  expect(errorsOf(muster)).toHaveLength(1);
});

test.each<[StoreTrouble, 'not ready' | 'degraded', RegExp]>([
  ['readonly', 'not ready', /the store is read-only/],
  ['corrupt', 'not ready', /the store is corrupt: restore a backup/],
  ['divided', 'degraded', /"degraded":"the members of etcd do not agree \(alarm CORRUPT\)/],
])(
  'a commit that finds the store %s makes the replica %s, with a sentence of its own',
  async (reason, state, words) => {
    let broken = false;
    const wrapStore = (store: Store): Store =>
      wrappedStore(store, {
        ...(store.headNow && { headNow: store.headNow.bind(store) }),
        async commit(change) {
          if (broken) throw new StoreUnavailable(reason, 'commit: it is');
          return store.commit(change);
        },
        async hold(...request) {
          const held = await store.hold(...request);
          if (held === 'taken') return held;
          return {
            revision: held.revision,
            lost: held.lost,
            release: () => held.release(),
            async rewrite(value) {
              if (broken) throw new StoreUnavailable(reason, 'hold: it is');
              return held.rewrite(value);
            },
          };
        },
      });
    await using muster = await Muster.start({ wrapStore });
    const { apiKey } = await tenant(muster);
    broken = true;
    expect(await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey })).toMatchObject({ status: 502 });
    const ready = await call(`${muster.ops}/readyz`);
    expect([ready.status, ready.text]).toEqual([state === 'degraded' ? 200 : 503, expect.stringMatching(words)]);
    broken = false;
    expect(await call(`${muster.api}/v1/apps`, { method: 'POST', token: apiKey })).toMatchObject({ status: 201 });
    // A damaged file takes writes as well: only a start that has checked it trusts it again.
    const mended = await call(`${muster.ops}/readyz`);
    expect(mended.status).toBe(reason === 'corrupt' ? 503 : 200);
    if (reason !== 'corrupt') expect(mended.body).toEqual({ status: 'ready' });
  },
);
