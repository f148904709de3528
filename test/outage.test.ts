import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEADLINES } from '../src/domain/limits.ts';
import type { Store } from '../src/store/port.ts';
import { findEtcd, NO_ETCD } from './support/etcd-binary.ts';
import { EtcdCluster, type EtcdMember } from './support/etcd.ts';
import { Ledger } from './support/ledger.ts';
import { call, createApp, enroll, Muster, poll, tenant } from './support/muster.ts';
import { unluckyStore, type UnluckyStore } from './support/unlucky-store.ts';
import { until } from './support/until.ts';

const binary = findEtcd();
/** No answer may take so long; the service's own deadline is a fraction of it. */
const SAFETY_MS = 15_000;
const unavailable = { status: 502, body: { error: { code: 'upstream_unavailable' } } };

async function started(
  options: Parameters<typeof Muster.start>[0],
): Promise<{ muster: Muster; store: UnluckyStore } & AsyncDisposable> {
  let store: UnluckyStore | undefined;
  const muster = await Muster.start({
    deadlines: DEADLINES,
    ...options,
    wrapStore: (opened: Store) => (store = unluckyStore(opened)),
  });
  if (!store) throw new Error('the store was not wrapped');
  return { muster, store, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

const readiness = async (muster: Muster): Promise<number> => (await call(`${muster.ops}/readyz`)).status;

/** Load on several accounts, from before the trouble until after it. */
async function load(muster: Muster): Promise<{ ledger: Ledger; stop: () => Promise<void> }> {
  const ledger = new Ledger();
  const stopping = new AbortController();
  const accounts = await Promise.all(Array.from({ length: 4 }, () => tenant(muster)));
  const addresses = { api: muster.api, device: muster.device, ops: muster.ops };
  const work = accounts.flatMap((account) =>
    Array.from({ length: 3 }, () => ledger.work(addresses, account, stopping.signal)),
  );
  return {
    ledger,
    stop: async () => {
      stopping.abort();
      await Promise.all(work);
    },
  };
}

const acknowledgesMore = async (ledger: Ledger): Promise<void> => {
  const enough = ledger.acknowledgements + 100;
  await until(() => ledger.acknowledgements >= enough);
};

const title = `etcd under load${binary ? '' : ` [skipped: ${NO_ETCD}]`}`;

describe.skipIf(binary === undefined)(title, { timeout: 240_000 }, () => {
  type Act = (member: EtcdMember) => void | Promise<void>;
  test.each<[string, Act, Act]>([
    ['is killed', (member) => member.kill(), (member) => member.start()],
    ['is stopped', (member) => member.stop(), (member) => member.start()],
    ['is frozen', (member) => member.freeze(), (member) => member.thaw()],
  ])('%s: 502 and not ready, then all is well by itself and nothing is lost', async (_, breaks, mends) => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '' });
    await using running = await started({ store: `etcd:${etcd.member.url}` });
    const { muster, store } = running;
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    const { ledger, stop } = await load(muster);
    await acknowledgesMore(ledger);

    await breaks(etcd.member);
    const answers = await Promise.all([
      call(`${muster.api}/v1/apps`, { token: apiKey, signal: AbortSignal.timeout(SAFETY_MS) }),
      call(`${muster.api}/v1/apps`, { token: apiKey, method: 'POST', signal: AbortSignal.timeout(SAFETY_MS) }),
      call(`${muster.device}/device/v1/config`, { token: credential, signal: AbortSignal.timeout(SAFETY_MS) }),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject(unavailable);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    await until(() => ledger.unavailable >= 20);
    await until(async () => (await readiness(muster)) === 503);
    expect((await call(`${muster.ops}/livez`)).status).toBe(200);

    await mends(etcd.member);
    await acknowledgesMore(ledger);
    await muster.ready();
    await until(async () => (await poll(muster, credential)).status === 200);
    await stop();
    expect(ledger.surprises).toEqual([]);
    expect(await ledger.faults(store)).toEqual([]);
  });

  test('without any request the outage is seen as well, and the end of it', async () => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    await using muster = await Muster.start({ store: `etcd:${etcd.member.url}`, deadlines: DEADLINES });
    await etcd.member.kill();
    await until(async () => (await readiness(muster)) === 503);
    await etcd.member.start();
    await muster.ready();
  });

  test('a stop while etcd is away ends', async () => {
    await using etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
    const muster = await Muster.start({ store: `etcd:${etcd.member.url}`, deadlines: DEADLINES });
    const { apiKey } = await tenant(muster);
    const credential = await enroll(muster, await createApp(muster, apiKey));
    expect((await poll(muster, credential)).status).toBe(200);
    await etcd.member.kill();
    await muster[Symbol.asyncDispose]();
  });
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
      // What is in memory is served on, and the store answers: the replica stays.
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
