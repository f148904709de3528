import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createEnvelope, sealedSchema, type Sealed } from '../../src/domain/envelope.ts';
import { parseKeyRing } from '../../src/domain/key-ring.ts';
import { countForgotten, purgedYetToForget } from '../../src/domain/purges.ts';
import { KEYS, otelSchema, parseRecord, put } from '../../src/domain/records.ts';
import { systemDraw } from '../../src/domain/secrets.ts';
import { ABSENT, DIRECTORY_PREFIX, type Store } from '../../src/store/port.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { entriesOf } from '../support/accounts.ts';
import { findEtcd, NO_ETCD } from '../support/etcd-binary.ts';
import { EtcdCluster } from '../support/etcd.ts';
import { FakeClock } from '../support/fake-clock.ts';
import {
  call,
  KEY_FILE_TEXT,
  Muster,
  OPERATOR_TOKEN,
  tenant,
  type MusterOptions,
  type Tenant,
} from '../support/muster.ts';
import { filesWith, rawFiles } from '../support/raw-files.ts';
import { unluckyStore, type UnluckyStore } from '../support/unlucky-store.ts';
import { until } from '../support/until.ts';

const SECRETS = ['Bearer first-collector-secret-4711', 'Bearer second-collector-secret-0815'] as const;
const NEXT_KEY = Buffer.alloc(32, 8).toString('base64');

/** A Muster on its own store, on a clock that the test moves, with access to both. */
async function start(
  options: MusterOptions,
): Promise<{ muster: Muster; store: UnluckyStore; clock: FakeClock; account: Tenant } & AsyncDisposable> {
  const clock = new FakeClock();
  let store: UnluckyStore | undefined;
  const muster = await Muster.start({
    ...options,
    clock,
    wrapStore: (opened: Store) => (store = unluckyStore(opened)),
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

async function purge({ muster, account }: Started): Promise<void> {
  const purged = await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: account.apiKey });
  expect(purged).toMatchObject({ status: 200, body: { deleted: true } });
}

async function sealedNow({ store, account }: Started): Promise<Sealed> {
  const entry = await store.get(KEYS.otel(account.accountId));
  const sealed = entry && parseRecord(otelSchema, entry).record.config?.header;
  if (!sealed) throw new Error('no header is stored');
  return sealed;
}

/** The purge loop's next round, and what it leaves. */
async function roundOfPurges({ store, clock }: Started): Promise<void> {
  await until(async () => {
    clock.advance(60_000);
    return (await entriesOf(store, KEYS.purges)).length === 0;
  });
}

async function awaiting({ muster, clock }: Started): Promise<number> {
  clock.advance(5000);
  const { text } = await call(`${muster.ops}/metrics`);
  return Number(/^muster_purges_awaiting_key_retirement (\d+)$/m.exec(text)?.[1]);
}

/** The newest key writes from now on, and seals all that there is. */
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
const WAYS: [string, (started: Started) => Promise<void>][] = [
  ['the configuration is purged', purge],
  ['only the header is replaced', (started) => configure(started, SECRETS[1])],
  ['only the header is deleted', (started) => configure(started, '')],
];

describe('a purge on sqlite', () => {
  test.each(WAYS)('%s: no byte of the ciphertext is left, and the plaintext never was', async (_, goes) => {
    await using started = await start({});
    const { dataDir } = started.muster;
    await configure(started, SECRETS[0]);
    const gone = await sealedNow(started);
    const before = rawFiles(dataDir);
    expect(filesWith(before, gone.box).length).toBeGreaterThan(0);
    await goes(started);
    await roundOfPurges(started);
    const after = rawFiles(dataDir);
    for (const secret of SECRETS) {
      for (const files of [before, after]) expect(filesWith(files, secret)).toEqual([]);
    }
    for (const piece of [gone.box, gone.wrappedKey]) expect(filesWith(after, piece)).toEqual([]);
    expect([...after.keys()]).toContain('muster.db');
    await until(async () => (await awaiting(started)) === 1);
  });

  test('the same for many accounts at once, whose records split and merge pages', async () => {
    await using started = await start({});
    const accounts = await Promise.all(Array.from({ length: 60 }, () => tenant(started.muster)));
    const gone: Sealed[] = [];
    for (const [n, account] of accounts.entries()) {
      await configure({ ...started, account }, `${SECRETS[0]} x${'x'.repeat(n * 97)}`);
      gone.push(await sealedNow({ ...started, account }));
    }
    await Promise.all(accounts.map((account) => purge({ ...started, account })));
    await roundOfPurges(started);
    const after = rawFiles(started.muster.dataDir);
    for (const { box, wrappedKey } of gone) {
      // Any piece of it, so that a remainder of a page is found as well.
      for (const piece of [wrappedKey, box.slice(0, 40), box.slice(-40)]) expect(filesWith(after, piece)).toEqual([]);
    }
    await until(async () => (await awaiting(started)) === 60);
  });
});

test('purges under a hundred different keys are counted in one round, by as many commits as it takes', async () => {
  await using store = await openSqliteStore(':memory:');
  for (let number = 1; number <= 100; number += 1) {
    await store.commit({
      expect: [{ key: 'never', revision: ABSENT }],
      write: [put(KEYS.purge(String(number)), { at: 1, keyNumber: number })],
    });
  }
  const { any, revision } = await purgedYetToForget(store);
  expect(any).toBe(true);
  await countForgotten(store, revision);
  expect(await purgedYetToForget(store)).toMatchObject({ any: false });
  expect(await entriesOf(store, KEYS.purgedAll)).toHaveLength(100);
});

const binary = findEtcd();

describe.skipIf(binary === undefined)(`a purge on etcd${binary ? '' : ` [skipped: ${NO_ETCD}]`}`, () => {
  const cluster = (): Promise<EtcdCluster> => EtcdCluster.start({ binary: binary ?? '' });
  const on = ({ member }: EtcdCluster, env: Record<string, string> = {}): MusterOptions => ({
    store: `etcd:${member.url}`,
    env: { MUSTER_ETCD_PREFIX: '/purge/', ...env },
  });

  test.each(WAYS)(
    '%s: no old revision can be read, and what logs keep opens with the old key alone',
    async (_, goes) => {
      await using etcd = await cluster();
      await using started = await start(on(etcd));
      const { store, account } = started;
      await configure(started, SECRETS[0]);
      const { revision } = await store.head();
      expect(await store.headAt(revision)).toMatchObject({ revision });
      await goes(started);
      await roundOfPurges(started);
      expect(await store.headAt(revision)).toBe('compacted');
      expect(await store.listAt({ prefix: DIRECTORY_PREFIX, limit: 10 }, revision)).toBe('compacted');
      await until(async () => (await awaiting(started)) === 1);

      const files = rawFiles(etcd.directory);
      for (const secret of SECRETS) expect(filesWith(files, secret)).toEqual([]);
      const kept = sealedIn(files);
      const context = `otel-header:${account.accountId}`;
      const opened = (keys: string): (string | undefined)[] => {
        const envelope = createEnvelope(parseKeyRing(keys), systemDraw());
        return kept.map((sealed) => envelope.open(sealed, context)?.reveal());
      };
      // The proof is worth something only if the old key does open what lies there.
      expect(opened(KEY_FILE_TEXT)).toContain(SECRETS[0]);
      expect(opened(`2:${NEXT_KEY}\n`).filter((text) => text !== undefined)).toEqual([]);
    },
  );

  test('MUSTER_ETCD_COMPACT=never: it counts, and leaves the history alone', async () => {
    await using etcd = await cluster();
    await using started = await start(on(etcd, { MUSTER_ETCD_COMPACT: 'never' }));
    await configure(started, SECRETS[0]);
    const { revision } = await started.store.head();
    await purge(started);
    await roundOfPurges(started);
    await until(async () => (await awaiting(started)) === 1);
    expect(started.store.calls.compact).toBe(0);
    expect(await started.store.headAt(revision)).toMatchObject({ revision });
  });

  test('the metric counts what the keys at hand could still open', async () => {
    await using etcd = await cluster();
    const account = await (async () => {
      await using started = await start(on(etcd));
      for (const secret of [...SECRETS, SECRETS[0]]) await configure(started, secret);
      await roundOfPurges(started);
      await until(async () => (await awaiting(started)) === 2);
      return started.account;
    })();
    const keysAt = async (text: string, act: (started: Started) => Promise<void>, expected: number): Promise<void> => {
      await using started = await start(on(etcd, { MUSTER_KEY_FILE: keyFile(etcd, text) }));
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

/** Every sealed text that lies anywhere in the files. */
function sealedIn(files: ReadonlyMap<string, Buffer>): Sealed[] {
  const found: Sealed[] = [];
  for (const bytes of files.values()) {
    for (const [json] of bytes.toString('latin1').matchAll(/\{"keyNumber":\d+,"wrappedKey":"[^"]*","box":"[^"]*"\}/g)) {
      const parsed = sealedSchema.safeParse(JSON.parse(json));
      if (parsed.success) found.push(parsed.data);
    }
  }
  return found;
}
