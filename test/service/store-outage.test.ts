import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { DEADLINES } from '../../src/domain/limits.ts';
import { TcpProxy } from '../support/etcd/tcp-proxy.ts';
import { acknowledgesMore, load, readiness, started } from '../support/service/loaded-muster.ts';
import { call, createApp, enroll, Muster, poll, tenant } from '../support/service/muster.ts';
import { simulatedTimers } from '../support/time/simulated-timers.ts';
import { until } from '../support/time/until.ts';

const url = inject('etcd');

/* An etcd that is killed, stopped and frozen under load, in real time, is in test/system/store-outage.test.ts. */
test.skipIf(url === undefined)('an etcd out of reach: 502 and not ready, then all is well by itself', async () => {
  using timers = simulatedTimers();
  await using proxy = await TcpProxy.before(Number(new URL(url ?? '').port));
  const env = { MUSTER_ETCD_PREFIX: `/${randomUUID()}/` };
  await using muster = await Muster.start({ store: `etcd:${proxy.url}`, env, deadlines: DEADLINES });
  const { apiKey } = await tenant(muster);
  const credential = await enroll(muster, await createApp(muster, apiKey));

  await proxy.refuse();
  let answers: Awaited<ReturnType<typeof call>>[] | undefined;
  const asked = Promise.all([
    call(`${muster.api}/v1/apps`, { token: apiKey }),
    call(`${muster.api}/v1/apps`, { token: apiKey, method: 'POST' }),
    call(`${muster.device}/device/v1/config`, { token: credential }),
  ]).then((all) => (answers = all));
  // None can succeed, however fast time passes.
  await until(async () => {
    await timers.advance(100);
    return answers !== undefined;
  });
  for (const answer of await asked) {
    expect(answer).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
  }
  await timers.advance(5000);
  expect(await readiness(muster)).toBe(503);
  expect((await call(`${muster.ops}/livez`)).status).toBe(200);

  await proxy.accept();
  // gRPC tries to connect again after a second at the latest, and a fifth of it.
  await timers.advance(1200);
  // A request asks the store what the pulse would ask within a second.
  await until(async () => (await poll(muster, credential)).status === 200);
  await muster.ready();
  expect((await call(`${muster.api}/v1/apps`, { token: apiKey })).status).toBe(200);
});

describe('a full disk', () => {
  const disk = tinyDisk();

  test.skipIf(!disk)(
    `under load: 502, nothing acknowledged lost, and it recovers [needs to mount a tmpfs]`,
    async () => {
      await using mounted = disk?.() ?? { path: '', [Symbol.asyncDispose]: () => Promise.resolve() };
      await using running = await started({ dataDir: mounted.path });
      const { muster, store } = running;
      const { ledger, stop } = await load(muster);
      await acknowledgesMore(ledger);
      const filler = join(mounted.path, 'filler');
      fillUp(filler);
      await until(() => ledger.unavailable >= 20);
      // The replica serves from memory, and the store answers: it stays ready.
      expect(await readiness(muster)).toBe(200);
      rmSync(filler);
      await acknowledgesMore(ledger);
      await stop();
      expect(ledger.surprises).toEqual([]);
      expect(await ledger.faults(store)).toEqual([]);
    },
  );

  test('a stop while nothing can be written ends', async () => {
    const { muster, store } = await started({});
    const { apiKey } = await tenant(muster);
    expect((await call(`${muster.api}/v1/apps`, { token: apiKey })).status).toBe(200);
    store.down.add('commit');
    await muster[Symbol.asyncDispose]();
    expect(store.watching).toBe(0);
    await expect(store.head()).rejects.toMatchObject({ reason: 'closed' });
  });
});

/** A file system of 8 MiB, where this process may mount one. */
function tinyDisk(): (() => { path: string } & AsyncDisposable) | undefined {
  const mount = (path: string): void =>
    void execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', path], { stdio: 'ignore' });
  const unmount = (path: string): void => {
    execFileSync('umount', [path], { stdio: 'ignore' });
    rmSync(path, { recursive: true });
  };
  const mounted = (): { path: string } & AsyncDisposable => {
    const path = mkdtempSync(join(tmpdir(), 'muster-disk-'));
    mount(path);
    return {
      path,
      async [Symbol.asyncDispose]() {
        unmount(path);
      },
    };
  };
  try {
    unmount(mounted().path);
    return mounted;
  } catch {
    return undefined;
  }
}

/** Leaves no free block. */
function fillUp(file: string): void {
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(file, block, { flag: 'a' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
