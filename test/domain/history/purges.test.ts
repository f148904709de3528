import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createEnvelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { type Sealed, sealedSchema } from '../../../src/domain/records/shapes.ts';
import { CACHED_PREFIX, type Store } from '../../../src/store/port.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { filesWith, rawFiles } from '../../support/records/raw-files.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import {
  call,
  KEY_FILE_TEXT,
  Muster,
  OPERATOR_TOKEN,
  tenant,
  type MusterOptions,
  type Tenant,
} from '../../support/service/muster.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const SECRETS = ['Bearer first-collector-secret-4711', 'Bearer second-collector-secret-0815'] as const;
const NEXT_KEY = Buffer.alloc(32, 8).toString('base64');

/** A Muster on its own store, on a clock that the test moves, with access to both. */
async function start(
  options: MusterOptions,
): Promise<{ muster: Muster; store: FaultyStore; clock: FakeClock; account: Tenant } & AsyncDisposable> {
  const clock = new FakeClock();
  let store: FaultyStore | undefined;
  const muster = await Muster.start({
    ...options,
    clock,
    wrapStore: (opened: Store) => (store = faultyStore(opened)),
  });
  if (!store) throw new Error('the store was not wrapped');
  const account = await tenant(muster);
  return { muster, store, clock, account, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}
type Started = Awaited<ReturnType<typeof start>>;

async function configure({ muster, account }: Started, authHeader: string): Promise<void> {
  const body = { enabled: true, endpoint: 'https://otel.example.com', authHeader };
  const { status } = await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: account.apiKey, body });
  expect(status).toBe(200);
}

/** Stores a configuration of this endpoint, and so a revision. */
async function pointTo({ muster, account }: Started, endpoint: string): Promise<void> {
  const body = { enabled: true, endpoint };
  const { status } = await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: account.apiKey, body });
  expect(status).toBe(200);
}

/** More than are kept, so that some lie in slots that were written again. */
const ENDPOINTS = Array.from({ length: 60 }, (_, index) => `https://former-${index}.example.com/of-the-history`);

async function revisionsOf({ store, account }: Started): Promise<number> {
  return (await entriesOf(store, KEYS.otelRevision.under(account.accountId))).length;
}

async function purge({ muster, account }: Started): Promise<void> {
  const purged = await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: account.apiKey });
  expect(purged).toMatchObject({ status: 200, body: { deleted: true } });
}

async function sealedNow({ store, account }: Started): Promise<Sealed> {
  const entry = await store.get(KEYS.otel(account.accountId));
  const sealed = entry && parseRecord(KEYS.otel, entry).record.config?.header;
  if (!sealed) throw new Error('no header is stored');
  return sealed;
}

/** The purge loop's next round, and what it leaves. */
async function roundOfPurges({ store, clock }: Started): Promise<void> {
  await until(async () => {
    clock.advance(60_000);
    return (await entriesOf(store, KEYS.purge.under())).length === 0;
  });
}

async function awaiting({ muster, clock }: Started): Promise<number> {
  clock.advance(5000);
  const { text } = await call(`${muster.ops}/metrics`);
  return Number(/^muster_purges_awaiting_key_retirement (\d+)$/m.exec(text)?.[1]);
}

/** The newest key is active from now on, and seals all that there is. */
async function rotate({ muster, clock }: Started): Promise<void> {
  const keys = `${muster.ops}/operator/v1/keys`;
  const rotated = await call(`${keys}/rotation`, { method: 'POST', token: OPERATOR_TOKEN });
  expect(rotated.status).toBe(200);
  await until(async () => {
    clock.advance(2000);
    return String((await call(keys, { token: OPERATOR_TOKEN })).body['removable']) === '1';
  });
}

/** Three ways in which a secret goes; each begins with the first one stored. */
const WAYS: readonly (readonly [string, (started: Started) => Promise<void>])[] = [
  ['the configuration is purged', purge],
  ['only the header is replaced', (started) => configure(started, SECRETS[1])],
  ['only the header is deleted', (started) => configure(started, '')],
];

/** An account of its own for each of the ways, with the secret that goes. */
async function configuredForEachWay(
  started: Started,
): Promise<{ way: string; goes: () => Promise<void>; account: Tenant; sealed: Sealed }[]> {
  const configured = [];
  for (const [way, goes] of WAYS) {
    const own = { ...started, account: await tenant(started.muster) };
    await configure(own, SECRETS[0]);
    configured.push({ way, goes: () => goes(own), account: own.account, sealed: await sealedNow(own) });
  }
  return configured;
}

describe('a purge on sqlite', () => {
  test('no byte of the ciphertext is left, whichever way it goes, and the plaintext never was', async () => {
    await using started = await start({});
    const { dataDir } = started.muster;
    const configured = await configuredForEachWay(started);
    const before = rawFiles(dataDir);
    for (const { sealed, way } of configured)
      expect(filesWith(before, sealed.box).length, `before ${way}`).toBeGreaterThan(0);
    for (const { goes } of configured) await goes();
    await roundOfPurges(started);
    const after = rawFiles(dataDir);
    for (const secret of SECRETS) {
      for (const files of [before, after]) expect(filesWith(files, secret)).toEqual([]);
    }
    for (const { sealed, way } of configured) {
      for (const piece of [sealed.box, sealed.wrappedKey]) expect(filesWith(after, piece), `after ${way}`).toEqual([]);
    }
    expect([...after.keys()]).toContain('muster.db');
    await until(async () => (await awaiting(started)) === WAYS.length);
  });

  test('no byte of a former revision is left either', async () => {
    await using started = await start({});
    for (const endpoint of ENDPOINTS) await pointTo(started, endpoint);
    expect(await revisionsOf(started)).toBe(50);
    const last = ENDPOINTS.at(-1) ?? '';
    expect(filesWith(rawFiles(started.muster.dataDir), last).length).toBeGreaterThan(0);
    await purge(started);
    expect(await revisionsOf(started), 'from the answer on').toBe(0);
    await roundOfPurges(started);
    const after = rawFiles(started.muster.dataDir);
    expect(ENDPOINTS.filter((endpoint) => filesWith(after, endpoint).length > 0)).toEqual([]);
  });

  test('the same for many accounts at once, whose records split and merge pages', async () => {
    await using started = await start({});
    const accounts = await Promise.all(Array.from({ length: 40 }, () => tenant(started.muster)));
    const gone: Sealed[] = [];
    for (const [n, account] of accounts.entries()) {
      await configure({ ...started, account }, `${SECRETS[0]} x${'x'.repeat(n * 150)}`);
      gone.push(await sealedNow({ ...started, account }));
    }
    await Promise.all(accounts.map((account) => purge({ ...started, account })));
    await roundOfPurges(started);
    const after = rawFiles(started.muster.dataDir);
    for (const { box, wrappedKey } of gone) {
      // It searches for any piece of the text, so that a remainder of a page is found as well.
      for (const piece of [wrappedKey, box.slice(0, 40), box.slice(-40)]) expect(filesWith(after, piece)).toEqual([]);
    }
    await until(async () => (await awaiting(started)) === 40);
  });
});

const binary = findEtcd();

describe.skipIf(binary === undefined)(`a purge on etcd${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  let etcd: EtcdCluster;
  beforeAll(async () => {
    etcd = await EtcdCluster.start({ binary: binary ?? '', unsafeNoFsync: true });
  });
  afterAll(() => etcd[Symbol.asyncDispose]());

  /** Under a prefix of its own, or that of another start. */
  const fresh = (env: Record<string, string> = {}) => ({
    store: `etcd:${etcd.member.url}`,
    env: { MUSTER_ETCD_PREFIX: `/${randomUUID()}/`, ...env },
  });

  test('no old revision can be read, whichever way it goes, and what logs keep opens with the old key alone', async () => {
    await using started = await start(fresh());
    const { store } = started;
    const configured = await configuredForEachWay(started);
    const { revision } = await store.head();
    expect(await store.headAt(revision)).toMatchObject({ revision });
    for (const { goes } of configured) await goes();
    await roundOfPurges(started);
    expect(await store.headAt(revision)).toBe('compacted');
    expect(await store.listAt({ prefix: CACHED_PREFIX, limit: 10 }, revision)).toBe('compacted');
    await until(async () => (await awaiting(started)) === WAYS.length);

    const files = rawFiles(etcd.directory);
    for (const secret of SECRETS) expect(filesWith(files, secret)).toEqual([]);
    const kept = sealedIn(files);
    for (const { way, account } of configured) {
      const opened = (keys: string): (string | undefined)[] => {
        const envelope = createEnvelope(parseKeyRing(keys), systemRandom());
        return kept.map((sealed) => envelope.open(sealed, `otel-header:${account.accountId}`)?.reveal());
      };
      // The proof holds only if the old key does open what lies there.
      expect(opened(KEY_FILE_TEXT), `by the old key, ${way}`).toContain(SECRETS[0]);
      expect(
        opened(`2:${NEXT_KEY}\n`).filter((text) => text !== undefined),
        `by another key, ${way}`,
      ).toEqual([]);
    }
  });

  test('no old revision of the store has a former one of the configuration', async () => {
    await using started = await start(fresh());
    const { store, account } = started;
    for (const endpoint of ENDPOINTS) await pointTo(started, endpoint);
    const { revision } = await store.head();
    const former = { prefix: KEYS.otelRevision.under(account.accountId), limit: 100 };
    expect(await store.listAt(former, revision)).toMatchObject({ entries: { length: 50 } });
    await purge(started);
    expect(await revisionsOf(started), 'from the answer on').toBe(0);
    await roundOfPurges(started);
    expect(await store.listAt(former, revision)).toBe('compacted');
  });

  test('MUSTER_ETCD_COMPACT=never: it counts, and leaves the history alone', async () => {
    await using started = await start(fresh({ MUSTER_ETCD_COMPACT: 'never' }));
    await configure(started, SECRETS[0]);
    const { revision } = await started.store.head();
    await purge(started);
    await roundOfPurges(started);
    await until(async () => (await awaiting(started)) === 1);
    expect(started.store.calls.compact).toBe(0);
    expect(await started.store.headAt(revision)).toMatchObject({ revision });
  });

  test('the metric counts the purged secrets that the keys in the file could still open', async () => {
    const { store, env } = fresh();
    const account = await (async () => {
      await using started = await start({ store, env });
      for (const secret of [...SECRETS, SECRETS[0]]) await configure(started, secret);
      await roundOfPurges(started);
      await until(async () => (await awaiting(started)) === 2);
      return started.account;
    })();
    const keysAt = async (text: string, act: (started: Started) => Promise<void>, expected: number): Promise<void> => {
      await using started = await start({ store, env: { ...env, MUSTER_KEY_FILE: keyFile(etcd, text) } });
      await act(started);
      await until(async () => (await awaiting(started)) === expected);
      const read = await call(`${started.muster.api}/v1/otel-config`, { token: account.apiKey });
      expect(read.body['authHeaderSet']).toBe(true);
    };
    await keysAt(`${KEY_FILE_TEXT}2:${NEXT_KEY}\n`, rotate, 2);
    await keysAt(`2:${NEXT_KEY}\n`, async () => undefined, 0);
  });
});

function keyFile(etcd: EtcdCluster, text: string): string {
  const path = join(etcd.directory, `keys-${text.length}`);
  writeFileSync(path, text, { mode: 0o600 });
  return path;
}

/** A sealed header as JSON is shorter. */
const SEALED_BYTES_MAX = 16_384;

/** Every sealed text that lies anywhere in the files. */
function sealedIn(files: ReadonlyMap<string, Buffer>): Sealed[] {
  const found: Sealed[] = [];
  for (const bytes of files.values()) {
    for (let at = bytes.indexOf('{"keyNumber":'); at !== -1; at = bytes.indexOf('{"keyNumber":', at + 1)) {
      const text = bytes.toString('latin1', at, at + SEALED_BYTES_MAX);
      const [json] = /^\{"keyNumber":\d+,"wrappedKey":"[^"]*","box":"[^"]*"\}/.exec(text) ?? [];
      const parsed = json === undefined ? undefined : sealedSchema.safeParse(JSON.parse(json));
      if (parsed?.success === true) found.push(parsed.data);
    }
  }
  return found;
}
