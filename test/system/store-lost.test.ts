import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { DEADLINES } from '../../src/domain/limits.ts';
import { FORMAT } from '../../src/domain/records/store-records.ts';
import { openStore } from '../../src/service/open-store.ts';
import { expectAbsent } from '../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd/etcd.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { call, createApp, enroll, Muster, OPERATOR_TOKEN, poll, tenant } from '../support/service/muster.ts';
import { until } from '../support/time/until.ts';
import { rawPrefix } from '../support/store/raw-key.ts';

const binary = findEtcd();
const unavailable = { status: 502, body: { error: { code: 'upstream_unavailable' } } };
/** Loops that write: each has had a round that the store refused. */
const LOOPS = ['replicas', 'format'];

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly loop?: string;
}
const linesOf = ({ logged }: Muster): Line[] => logged.map((line) => JSON.parse(line) as Line);
/** The lines on which somebody must act, but for those of an etcd that takes long to start again. */
const errorsOf = (muster: Muster): Line[] =>
  linesOf(muster).filter(({ level, msg }) => level === 'error' && !msg.includes('does not answer'));
const readyOf = ({ ops }: Muster): ReturnType<typeof call> => call(`${ops}/readyz`);

const title = `an etcd that loses its data${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

describe.skipIf(binary === undefined)(title, { concurrent: true }, () => {
  test.each([
    ['with MUSTER_STORE_ID', true],
    ['without it', false],
  ])('%s: is written by no replica until it is restored, and then serves without a restart', async (_, withId) => {
    await using opened = new AsyncDisposableStack();
    const etcd = opened.use(await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true }));
    let id: string | undefined;
    const start = (): Promise<Muster> =>
      Muster.start({
        store: `etcd:${etcd.member.url}`,
        deadlines: DEADLINES,
        ...(withId && id !== undefined && { env: { MUSTER_STORE_ID: id } }),
      });
    const first = opened.use(await start());
    id = await idOf(etcd);
    const running = [first, opened.use(await start())];
    const restarted = await start();
    const { apiKey } = await tenant(first);
    const credential = await enroll(first, await createApp(first, apiKey));
    await restarted[Symbol.asyncDispose]();

    const data = join(etcd.directory, 'm0');
    const copy = join(etcd.directory, 'copy');
    await etcd.member.kill();
    cpSync(data, copy, { recursive: true });
    await etcd.member.start();
    await first.ready();

    // Its keys alone: the watch tells of each removal, and the credential is no longer in memory.
    const etag = (await poll(first, credential)).headers.get('etag') ?? '';
    const held = poll(first, credential, { 'if-none-match': etag, prefer: 'wait=50' });
    await until(async () => (await call(`${first.ops}/metrics`)).text.includes('\nmuster_held_polls 1\n'));
    await removeKeys(etcd);
    expect(await held).toMatchObject(unavailable);
    expect(await poll(first, credential)).toMatchObject(unavailable);
    expect(await call(`${first.api}/v1/apps`, { token: apiKey })).toMatchObject(unavailable);

    await etcd.member.kill();
    rmSync(data, { recursive: true });
    await etcd.member.start();

    const refuses = async (): Promise<void> => {
      for (const muster of running) {
        // A replica without requests asks the store within a second.
        await until(async () => (await readyOf(muster)).text.includes('must be restored'));
        expect(await readyOf(muster)).toMatchObject({ status: 503 });
        expect(await call(`${muster.api}/v1/apps`, { token: apiKey })).toMatchObject(unavailable);
        expect(await call(`${muster.api}/v1/apps`, { token: apiKey, method: 'POST' })).toMatchObject(unavailable);
        expect(await poll(muster, credential)).toMatchObject({ status: 502 });
        const body = { name: 'new', entitlement: 'standard' };
        const accounts = `${muster.ops}/operator/v1/accounts`;
        expect(await call(accounts, { method: 'POST', token: OPERATOR_TOKEN, body })).toMatchObject({ status: 502 });
        const tried = (): (string | undefined)[] => linesOf(muster).map(({ loop }) => loop);
        await until(() => LOOPS.every((loop) => tried().includes(loop)));
        expect(errorsOf(muster)).toHaveLength(1);
      }
      if (!withId) return;
      // One that is started again, and one more.
      for (let starts = 0; starts < 2; starts += 1) await expect(start()).rejects.toThrow('MUSTER_STORE_ID');
    };
    await refuses();
    expect(await keysOf(etcd)).toEqual([]);
    // As an earlier version does that is started on it.
    await formatIt(etcd);
    await refuses();
    expect(await keysOf(etcd)).toEqual([KEYS.format(), 'd/head']);

    await etcd.member.kill();
    rmSync(data, { recursive: true });
    cpSync(copy, data, { recursive: true });
    await etcd.member.start();
    for (const muster of running) {
      await muster.ready();
      expect((await poll(muster, credential)).status).toBe(200);
      // The registry was lost with the data: what cannot be charged waits until the replica is on it again.
      await until(async () => (await call(`${muster.api}/v1/apps`, { token: apiKey, method: 'POST' })).status === 201);
      expect(errorsOf(muster)).toHaveLength(1);
    }
    const again = opened.use(await start());
    expect((await poll(again, credential)).status).toBe(200);
  });
});

const open = (etcd: EtcdCluster): ReturnType<typeof openStore> =>
  openStore({ kind: 'etcd', endpoints: etcd.urls, prefix: '/muster/' });

async function keysOf(etcd: EtcdCluster): Promise<string[]> {
  await using store = await open(etcd);
  return (await entriesOf(store, '')).map(({ key }) => key).toSorted((a, b) => b.localeCompare(a));
}

async function removeKeys(etcd: EtcdCluster): Promise<void> {
  await using root = await openStore({ kind: 'etcd', endpoints: etcd.urls, prefix: '/' });
  const expect = [expectAbsent('none')] as const;
  await root.commit({ expect, write: [{ removeAll: rawPrefix('muster/') }], quiet: true });
}

async function idOf(etcd: EtcdCluster): Promise<string> {
  await using store = await open(etcd);
  const format = await store.get(KEYS.format());
  return (JSON.parse(format?.value ?? '{}') as { storeId: string }).storeId;
}

async function formatIt(etcd: EtcdCluster): Promise<void> {
  await using store = await open(etcd);
  const expect = [expectAbsent(KEYS.format())] as const;
  await store.commit({ expect, write: [put(KEYS.format(), { format: FORMAT })] });
}
