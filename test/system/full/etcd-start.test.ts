import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { disarm, fill, makeRoom, raiseCorrupt } from '../../chaos/cluster/etcd-admin.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { revoke } from '../../support/service/daemon.ts';
import { call, createApp, enroll, KEY_FILE_TEXT, Muster, poll, tenant } from '../../support/service/muster.ts';
import { until } from '../../support/time/until.ts';

const binary = findEtcd();
const title = `H15, A12: a start on an etcd that refuses every put${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

const start = (): Promise<EtcdCluster> =>
  EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true, flags: ['--quota-backend-bytes=8000000'] });

async function valueOf({ ops }: Muster, series: string): Promise<number> {
  const { text } = await call(`${ops}/metrics`);
  return Number(new RegExp(`^${series} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe.skipIf(binary === undefined)(title, () => {
  test('replicas start and serve daemons, and take up all else once there is room', async () => {
    await using etcd = await start();
    const options = { store: `etcd:${etcd.member.url}` };
    const before = await Muster.start(options);
    const { apiKey } = await tenant(before);
    const app = await createApp(before, apiKey);
    const credential = await enroll(before, app);
    // The last replica is evicted, and nothing of its share of the rate is left that another one could use.
    await before[Symbol.asyncDispose]();
    await fill(etcd.member);

    await using one = await Muster.start(options);
    await using other = await Muster.start(options);
    const replicas = [one, other];
    for (const replica of replicas) {
      const polled = await poll(replica, credential);
      expect(polled.status).toBe(200);
      const ifNoneMatch = { 'if-none-match': polled.headers.get('etag') ?? '' };
      expect((await poll(replica, credential, ifNoneMatch)).status).toBe(304);
      const read = await call(`${replica.api}/v1/apps/${app.appId}`, { token: apiKey });
      expect(read).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
      expect(Number(read.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect((await revoke(replica, apiKey, app.appId)).status).toBe(502);
      expect((await poll(replica, credential)).status).toBe(200);
      expect(await call(`${replica.ops}/readyz`)).toMatchObject({
        status: 200,
        body: { status: 'ready', degraded: expect.stringContaining('not on the registry') as string },
      });
      expect(await valueOf(replica, 'muster_replica_registered')).toBe(0);
      expect(await valueOf(replica, 'muster_controller_leading')).toBe(0);
    }

    await makeRoom(etcd);
    await until(async () => (await call(`${one.api}/v1/apps/${app.appId}`, { token: apiKey })).status === 200);
    await until(async () => {
      const registered = await Promise.all(replicas.map((replica) => valueOf(replica, 'muster_replica_registered')));
      return registered.every((value) => value === 1);
    });
    await until(async () => {
      const leading = await Promise.all(replicas.map((replica) => valueOf(replica, 'muster_controller_leading')));
      return leading.reduce((sum, value) => sum + value, 0) === 1;
    });
    expect((await revoke(one, apiKey, app.appId)).status).toBe(200);
    for (const replica of replicas) {
      expect((await poll(replica, credential)).status).toBe(401);
      await until(async () => !('degraded' in (await call(`${replica.ops}/readyz`)).body));
    }
  });

  test('it refuses what it refuses on any store: a lacking key in words, and a new store, which it would have to make', async () => {
    await using etcd = await start();
    const options = { store: `etcd:${etcd.member.url}` };
    const directory = scratchDirectory('other-key');
    const MUSTER_KEY_FILE = join(directory, 'keys');
    writeFileSync(MUSTER_KEY_FILE, KEY_FILE_TEXT.replace('1:', '2:'), { mode: 0o600 });
    await (await Muster.start(options))[Symbol.asyncDispose]();
    await fill(etcd.member);
    await expect(Muster.start({ ...options, env: { MUSTER_KEY_FILE } })).rejects.toThrow(
      'MUSTER_KEY_FILE: key 1 is the active key and is not in the key file',
    );
    await expect(Muster.start({ ...options, env: { MUSTER_ETCD_PREFIX: 'new/' } })).rejects.toThrow('etcd is full');
    await (await Muster.start(options))[Symbol.asyncDispose]();
  });

  test('no replica starts while members of etcd do not agree, and those that run serve daemons', async () => {
    await using etcd = await start();
    const options = { store: `etcd:${etcd.member.url}` };
    await using running = await Muster.start(options);
    const { apiKey } = await tenant(running);
    const credential = await enroll(running, await createApp(running, apiKey));
    await raiseCorrupt(etcd.member);
    await expect(Muster.start(options)).rejects.toThrow(
      'the members of etcd do not agree, and it takes no writes (etcdserver: corrupt cluster)',
    );
    expect((await poll(running, credential)).status).toBe(200);
    const created = await call(`${running.api}/v1/apps`, { method: 'POST', token: apiKey });
    expect(created).toMatchObject({ status: 502, body: { error: { code: 'upstream_unavailable' } } });
    expect(await call(`${running.ops}/readyz`)).toMatchObject({
      status: 200,
      body: { status: 'ready', degraded: expect.stringContaining('alarm CORRUPT') as string },
    });
  });

  test('a replica that nobody asks learns that members do not agree, and that they do again', async () => {
    await using etcd = await start();
    // Without it, no replica that nobody asks commits.
    const options = { store: `etcd:${etcd.member.url}`, env: { MUSTER_RATE_WINDOW: 'local' } };
    await using one = await Muster.start(options);
    await using other = await Muster.start(options);
    const degraded = (): Promise<boolean[]> =>
      Promise.all([one, other].map(async ({ ops }) => (await call(`${ops}/readyz`)).text.includes('alarm CORRUPT')));
    await raiseCorrupt(etcd.member);
    await until(async () => (await degraded()).every((told) => told));
    await disarm(etcd.member);
    await until(async () => (await degraded()).every((told) => !told));
  });
});
