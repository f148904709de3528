import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createEnvelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { headerContext } from '../../../src/domain/otel-config/otel-config.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectUnchanged, type Store } from '../../../src/store/port.ts';
import { keyLine, keysOf, rotate, untilJoined, untilKeys, writeKeys } from '../../support/records/key-lines.ts';
import { metric } from '../../support/service/daemon.ts';
import {
  call,
  createApp,
  enroll,
  OPERATOR_TOKEN,
  poll,
  tenant,
  type Muster,
  type Tenant,
} from '../../support/service/muster.ts';
import { onEachBackend, type Backend } from '../../support/store/backends.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const SECRET = 'Bearer collector-secret-4711';

interface Started extends AsyncDisposable {
  readonly muster: Muster;
  readonly clock: FakeClock;
  readonly store: FaultyStore;
  readonly keyFile: string;
  readonly account: Tenant;
}

async function start(backend: Backend): Promise<Started> {
  const clock = new FakeClock();
  let store: FaultyStore | undefined;
  const muster = await backend.fresh({ clock, wrapStore: (opened: Store) => (store = faultyForRequests(opened)) });
  if (!store) throw new Error('the store was not wrapped');
  const account = await tenant(muster);
  const keyFile = join(muster.dataDir, 'keys');
  return { muster, clock, store, keyFile, account, [Symbol.asyncDispose]: () => muster[Symbol.asyncDispose]() };
}

async function putHeader({ muster, account }: Started, authHeader: string): Promise<void> {
  const body = { enabled: true, endpoint: 'https://otel.example.com', authHeader };
  const put = await call(`${muster.api}/v1/otel-config`, { method: 'PUT', token: account.apiKey, body });
  expect(put.status).toBe(200);
}

const createKept = ({ muster, account }: Started, key: string) =>
  call(`${muster.api}/v1/apps`, {
    method: 'POST',
    token: account.apiKey,
    body: { name: key },
    headers: { 'idempotency-key': key },
  });

/** What the operator made once: an account, and an API key of the account of the test. */
const createKeptByOperator = ({ muster, account }: Started) =>
  Promise.all(
    [
      ['/accounts', { name: 'once', entitlement: 'standard' }] as const,
      [`/accounts/${account.accountId}/api-keys`, { name: 'once' }] as const,
    ].map(([path, body]) =>
      call(`${muster.ops}/operator/v1${path}`, {
        method: 'POST',
        token: OPERATOR_TOKEN,
        body,
        headers: { 'idempotency-key': 'once' },
      }),
    ),
  );

async function otelOf({ store, account }: Started): Promise<ReturnType<typeof KEYS.otel.schema.parse>> {
  const entry = await store.get(KEYS.otel(account.accountId));
  if (!entry) throw new Error('no configuration is stored');
  return parseRecord(KEYS.otel, entry).record;
}

/** The key file has these from now on, and the replica has announced that it knows them, and joined with them. */
async function announceKeys({ muster, clock, store, keyFile }: Started, ...numbers: readonly number[]): Promise<void> {
  await untilJoined(store, clock, async () => {
    writeKeys(keyFile, ...numbers);
    await untilKeys(muster, clock, ({ replicas }) =>
      replicas.every(({ keyNumbers }) => String(keyNumbers) === String(numbers)),
    );
  });
}

/** The rotation of docs/OPERATIONS.md, up to where the old line may go. */
async function rotateTo(started: Started, from: number, to: number): Promise<void> {
  const { muster, clock } = started;
  await announceKeys(started, from, to);
  expect((await rotate(muster)).body).toEqual({ writing: to, before: from });
  await untilKeys(muster, clock, ({ removable }) => removable.includes(from));
}

async function forget({ muster, clock, keyFile }: Started, ...rest: number[]): Promise<void> {
  writeKeys(keyFile, ...rest);
  await untilKeys(muster, clock, ({ known }) => String(known) === String(rest));
}

onEachBackend('key rotation', (backend) => {
  test('a replica that an outage took off the registry is on it again one pace after the outage', async () => {
    await using started = await start(backend);
    const { muster, clock, store } = started;
    const [before] = (await keysOf(muster)).replicas;
    // The replica may be rewriting it.
    await until(async () => {
      const entry = await store.get(KEYS.replica(before?.replicaId ?? ''));
      if (!entry) throw new Error('it is not on the registry');
      const removed = await store.commit({ expect: [expectUnchanged(entry)], write: [{ remove: entry.key }] });
      return removed.outcome === 'committed';
    });
    store.down.add('hold');
    // The clock stands still until a round has ended: the pause to the next one begins then.
    const rounds = (result: 'ok' | 'failed') =>
      metric(muster, `muster_loop_duration_seconds_count{loop="replicas",result="${result}"}`);
    await until(async () => (await rounds('ok')) > 0);
    while (store.calls.hold < 8) {
      const before = await rounds('failed');
      clock.advance(5000);
      await until(async () => (await rounds('failed')) > before);
    }
    store.down.delete('hold');
    expect((await keysOf(muster)).replicas).toEqual([]);
    clock.advance(5000);
    await until(async () => (await keysOf(muster)).replicas.length === 1);
  });

  test('the walk: add, rotate, wait, remove; nothing that lives is lost, and no daemon is told anything', async () => {
    await using started = await start(backend);
    const { muster, account } = started;
    await putHeader(started, SECRET);
    const first = await createKept(started, 'one');
    const made = await createKeptByOperator(started);
    const app = await createApp(muster, account.apiKey);
    const credential = await enroll(muster, app);
    const before = await poll(muster, credential);
    expect(before.text).toContain('collector-secret-4711');
    expect(await keysOf(muster)).toMatchObject({ writing: 1, known: [1], sealedUnder: { 1: 4 }, removable: [] });
    const { config: _, ...was } = await otelOf(started);

    await rotateTo(started, 1, 2);
    expect(await keysOf(muster)).toMatchObject({ writing: 2, known: [1, 2], sealedUnder: { 2: 4 }, removable: [1] });
    await forget(started, 2);

    const { config, ...is } = await otelOf(started);
    expect(is).toEqual(was);
    expect(config?.header?.keyNumber).toBe(2);
    const after = await poll(muster, credential);
    expect([after.text, after.headers.get('etag')]).toEqual([before.text, before.headers.get('etag')]);
    const still = await poll(muster, credential, { 'if-none-match': before.headers.get('etag') ?? '' });
    expect(still.status).toBe(304);
    const again = await createKept(started, 'one');
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect([again.status, again.text]).toEqual([first.status, first.text]);
    const madeAgain = await createKeptByOperator(started);
    expect(madeAgain.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true', 'true']);
    expect(madeAgain.map(({ text }) => text)).toEqual(made.map(({ text }) => text));
  });

  test('a purged secret is beyond recovery once the old line is gone, and is counted until then', async () => {
    await using started = await start(backend);
    const { muster, clock, account } = started;
    await putHeader(started, SECRET);
    const taken = (await otelOf(started)).config?.header;
    const purged = await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: account.apiKey });
    expect(purged.status).toBe(200);
    const opens = (...numbers: number[]): string | undefined =>
      taken &&
      createEnvelope(parseKeyRing(numbers.map((number) => keyLine(number)).join('')), systemRandom())
        .open(taken, headerContext(account.accountId))
        ?.reveal();

    await rotateTo(started, 1, 2);
    expect((await keysOf(muster)).awaitingRetirement).toEqual({ 1: 1 });
    expect(opens(1, 2)).toBe(SECRET);
    await forget(started, 2);
    const { awaitingRetirement, known } = await keysOf(muster);
    expect(awaitingRetirement).toEqual({});
    expect(opens(...known)).toBeUndefined();
    await until(async () => {
      clock.advance(5000);
      const { text } = await call(`${muster.ops}/metrics`);
      return text.includes('muster_purges_awaiting_key_retirement 0');
    });
  });

  test('purged after the rotation, it waits for both keys that have wrapped it', async () => {
    await using started = await start(backend);
    const { muster, account } = started;
    await putHeader(started, SECRET);
    await rotateTo(started, 1, 2);
    await call(`${muster.api}/v1/otel-config`, { method: 'DELETE', token: account.apiKey });
    expect((await keysOf(muster)).awaitingRetirement).toEqual({ 2: 1 });
    await announceKeys(started, 1, 2, 3);
    expect((await rotate(muster)).status).toBe(200);
    await untilKeys(muster, started.clock, ({ removable }) => String(removable) === '1,2');
    await forget(started, 1, 3);
    expect((await keysOf(muster)).awaitingRetirement).toEqual({ 2: 1 });
    await forget(started, 3);
    expect((await keysOf(muster)).awaitingRetirement).toEqual({});
  });

  test('a new line alone writes nothing; a rotation without one changes nothing', async () => {
    await using started = await start(backend);
    const { muster } = started;
    expect((await rotate(muster)).body).toEqual({ writing: 1, before: 1 });
    await announceKeys(started, 1, 2);
    await putHeader(started, SECRET);
    expect((await otelOf(started)).config?.header?.keyNumber).toBe(1);
    expect((await rotate(muster)).status).toBe(200);
    const joined = (await started.store.get(KEYS.activeKey()))?.revision;
    expect((await rotate(muster)).body).toEqual({ writing: 2, before: 2 });
    expect((await started.store.get(KEYS.activeKey()))?.revision).toBe(joined);
    await putHeader(started, `${SECRET}-2`);
    expect((await otelOf(started)).config?.header?.keyNumber).toBe(2);
  });

  test('a rotation whose answer was lost is asked for again', async () => {
    await using started = await start(backend);
    await announceKeys(started, 1, 2);
    started.store.fates.push('answer lost after commit');
    expect((await rotate(started.muster)).status).toBe(502);
    expect((await rotate(started.muster)).body).toEqual({ writing: 2, before: 2 });
  });

  test('a header set before the rotation and committed after it conflicts, and is sealed anew', async () => {
    await using started = await start(backend);
    await announceKeys(started, 1, 2);
    const { muster, store } = started;
    store.changes.length = 0;
    store.intercept('commit', 'before', async () => expect((await rotate(muster)).status).toBe(200));
    await putHeader(started, SECRET);
    const sealed = store.changes.flatMap(({ write }) =>
      write.flatMap((one) =>
        'put' in one && one.value.includes('"box"') ? [/"keyNumber":(\d)/.exec(one.value)?.[1]] : [],
      ),
    );
    expect(sealed).toEqual(['1', '2']);
    expect((await otelOf(started)).config?.header?.keyNumber).toBe(2);
  });

  test('an answer kept before the rotation and committed after it, too', async () => {
    await using started = await start(backend);
    await announceKeys(started, 1, 2);
    const { muster, store } = started;
    store.intercept('commit', 'before', async () => expect((await rotate(muster)).status).toBe(200));
    const created = await createKept(started, 'one');
    expect(created.status).toBe(201);
    expect((await keysOf(muster)).sealedUnder).toEqual({ 2: 1 });
    expect((await createKept(started, 'one')).text).toBe(created.text);
  });

  test('a header that changes while it is rewrapped is not overwritten', async () => {
    await using started = await start(backend);
    const { muster, clock, store } = started;
    await putHeader(started, SECRET);
    await announceKeys(started, 1, 2);
    // The next commit of the header is the rewrap; before it gets there, the owner sets another one.
    const header = KEYS.otel(started.account.accountId);
    store.isPlanned = ({ write }) => write.some((one) => 'put' in one && one.put === header);
    store.intercept('commit', 'before', async () => putHeader(started, `${SECRET}-other`));
    expect((await rotate(muster)).status).toBe(200);
    await untilKeys(muster, clock, ({ removable }) => removable.includes(1));
    const record = await otelOf(started);
    expect([record.revision, record.config?.header?.keyNumber]).toEqual([2, 2]);
    const app = await createApp(muster, started.account.apiKey);
    expect((await poll(muster, await enroll(muster, app))).text).toContain('collector-secret-4711-other');
  });

  test('a file without the key that writes is not taken: all goes on, and it is told until the line is back', async () => {
    await using started = await start(backend);
    const { muster, clock, account } = started;
    await putHeader(started, SECRET);
    const app = await createApp(muster, account.apiKey);
    const credential = await enroll(muster, app);
    await rotateTo(started, 1, 2);
    expect((await poll(muster, credential)).text).toContain('collector-secret-4711');
    writeKeys(started.keyFile, 1);
    const readyz = () => call(`${muster.ops}/readyz`);
    // While time runs ahead of the store it may be not ready for a store that seems silent.
    await until(async () => {
      clock.advance(1000);
      const { status, body } = await readyz();
      return status === 200 && String(body['degraded']).startsWith('MUSTER_KEY_FILE: key 2 is in use and not in it: ');
    });
    expect((await poll(muster, credential)).text).toContain('collector-secret-4711');
    expect((await call(`${muster.api}/v1/otel-config`, { token: account.apiKey })).status).toBe(200);
    expect((await keysOf(muster)).known).toEqual([1, 2]);
    writeKeys(started.keyFile, 1, 2);
    await until(async () => {
      clock.advance(1000);
      const { status, body } = await readyz();
      return status === 200 && body['degraded'] === undefined;
    });
    expect((await poll(muster, credential)).text).toContain('collector-secret-4711');
  });

  test('a key file that broke changes nothing but the log', async () => {
    await using started = await start(backend);
    const { muster, clock, keyFile } = started;
    await putHeader(started, SECRET);
    for (const breaks of [() => writeFileSync(keyFile, '2:hunter2\n'), () => rmSync(keyFile)]) {
      const before = muster.logged.length;
      breaks();
      await until(() => {
        clock.advance(1000);
        return muster.logged.slice(before).some((line) => line.includes('a file of the configuration cannot be used'));
      });
      expect(await keysOf(muster)).toMatchObject({ writing: 1, known: [1] });
    }
    expect(muster.logged.join('')).not.toContain('hunter2');
    await until(async () => (await call(`${muster.ops}/readyz`)).status === 200);
  });

  test('both operations are the operator’s alone, and answer no key', async () => {
    await using started = await start(backend);
    const { muster, account } = started;
    for (const [method, path] of [
      ['GET', 'keys'],
      ['POST', 'keys/rotation'],
    ] as const) {
      for (const token of [undefined, account.apiKey]) {
        expect((await call(`${muster.ops}/operator/v1/${path}`, { method, token })).status).toBe(401);
      }
      const { text } = await call(`${muster.ops}/operator/v1/${path}`, { method, token: OPERATOR_TOKEN });
      expect(text).not.toContain(Buffer.alloc(32, 7).toString('base64').slice(0, 10));
      expect(text).not.toContain(parseKeyRing(keyLine(1)).fingerprint(1));
    }
  });
});
