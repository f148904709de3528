import { describe, expect, test } from 'vitest';
import { parseRecord, put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import { FORMAT } from '../../src/domain/records/store-records.ts';
import { FORMAT_CHECK_EVERY_MS } from '../../src/domain/replicas/format.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { CACHED_PREFIX, type Store } from '../../src/store/port.ts';
import { metric } from '../support/service/daemon.ts';
import { call, createApp, OPERATOR_TOKEN, tenant } from '../support/service/muster.ts';
import { onEachBackend } from '../support/store/backends.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { wrappedStore } from '../support/store/wrapped-store.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { until } from '../support/time/until.ts';

/* A running Muster, and one that starts, whose store a newer Muster takes over. test/system has whole processes. */

/** Raises the format, as a newer Muster does before it changes any record. */
async function raise(store: Store): Promise<void> {
  const entry = await store.get(KEYS.format());
  if (!entry) throw new Error('the store has no format');
  const { record, revision } = parseRecord(KEYS.format, entry);
  const { outcome } = await store.commit({
    expect: [expectRevision(KEYS.format(), revision)],
    write: [put(KEYS.format(), { ...record, format: FORMAT + 1 })],
  });
  expect(outcome).toBe('committed');
}

onEachBackend('a format that becomes newer', (backend) => {
  describe.each(['api,device', 'controller', 'api,device,controller'])('with the roles %s', (roles) => {
    test('is noticed by the first check after an outage', async () => {
      const clock = new FakeClock();
      let store: FaultyStore | undefined;
      await using muster = await backend.fresh({
        clock,
        env: { MUSTER_ROLES: roles },
        wrapStore: (real) => (store = faultyStore(real)),
      });
      if (!store) throw new Error('the store was not opened');
      let outdated: number | undefined;
      void muster.service.outdated.then((format) => (outdated = format));
      const checks = (): number => muster.logged.filter((line) => line.includes('"loop":"format"')).length;
      const passed = (): boolean => {
        clock.advance(FORMAT_CHECK_EVERY_MS);
        return true;
      };
      store.down.add('get');
      await until(() => passed() && checks() > 0);
      expect(outdated).toBeUndefined();
      store.down.delete('get');
      await raise(store);
      await until(() => passed() && outdated !== undefined);
      expect(outdated).toBe(FORMAT + 1);
    });
  });

  test('between the first check of a start and its announcement is refused, as before the first check', async () => {
    const { store: choice, env } = backend.place();
    let isRaised = false;
    const start = backend.fresh({
      ...(choice !== undefined && { store: choice }),
      ...(env && { env }),
      wrapStore(real) {
        const late = faultyStore(real);
        late.intercept('hold', 'before', async () => {
          isRaised = true;
          await raise(real);
        });
        return late;
      },
    });
    await expect(start).rejects.toThrow(`written by a newer Muster (format ${FORMAT + 1}`);
    expect(isRaised).toBe(true);
  });

  test('is read before a commit while the replica is away from the registry, and no commit goes through', async () => {
    const { store: choice, env } = backend.place();
    const lost = new AbortController();
    let store: Store | undefined;
    // Time stands still, so that no round of the replica's own notices.
    await using muster = await backend.fresh({
      ...(choice !== undefined && { store: choice }),
      ...(env && { env }),
      clock: new FakeClock(),
      wrapStore: (real) => (store = losingReplicas(real, lost.signal)),
    });
    if (!store) throw new Error('the store was not opened');
    const { apiKey } = await tenant(muster);
    const app = await createApp(muster, apiKey);
    const created = async (): Promise<number> => {
      const account = { name: 'away', entitlement: 'standard' };
      return (
        await call(`${muster.ops}/operator/v1/accounts`, { method: 'POST', token: OPERATOR_TOKEN, body: account })
      ).status;
    };
    lost.abort();
    expect(await created(), 'away, and nobody has raised the format').toBe(201);
    await raise(store);
    // A leader that has lost its place lets its lock go meanwhile, which is none of these records.
    const records = async () => (await store?.list({ prefix: CACHED_PREFIX, limit: 1000 }))?.entries;
    const before = await records();
    expect(before?.length).toBeGreaterThan(2);
    expect(await created()).toBe(502);
    for (const path of ['/v1/apps', `/v1/apps/${app.appId}/revoke`]) {
      expect(await call(`${muster.api}${path}`, { method: 'POST', token: apiKey })).toMatchObject({ status: 502 });
    }
    expect(await records()).toEqual(before);
  });

  test('keeps a replica that was away off the registry', async () => {
    let store: Store | undefined;
    // Time stands still, so that no check of the format's own notices.
    await using muster = await backend.fresh({ clock: new FakeClock(), wrapStore: (real) => (store = real) });
    if (!store) throw new Error('the store was not opened');
    const opened = store;
    const registered = async () => (await opened.list({ prefix: KEYS.replica.under(), limit: 10 })).entries;
    const rounds = (result: string) =>
      metric(muster, `muster_loop_duration_seconds_count{loop="replicas",result="${result}"}`);
    await until(async () => (await rounds('ok')) === 1);
    await raise(store);
    const joined = await opened.get(KEYS.activeKey());
    const [own = expect.unreachable()] = await registered();
    await opened.commit({ expect: [expectRevision(own.key, own.revision)], write: [{ remove: own.key }], quiet: true });
    await until(async () => (await rounds('failed')) === 1);
    expect(await registered()).toEqual([]);
    expect(await opened.get(KEYS.activeKey())).toEqual(joined);
    expect(await metric(muster, 'muster_replica_registered')).toBe(0);
  });
});

/** A store on which every announcement of a replica is lost for its holder once the signal aborts. */
const losingReplicas = (store: Store, lost: AbortSignal): Store =>
  wrappedStore(store, {
    async hold(key, value, ttlMs) {
      const isReplica = key.startsWith(KEYS.replica.under());
      if (isReplica && lost.aborted) return 'taken';
      const held = await store.hold(key, value, ttlMs);
      if (held === 'taken' || !isReplica) return held;
      const { revision } = held;
      return { revision, lost, rewrite: (next) => held.rewrite(next), release: () => held.release() };
    },
  });
