import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest';
import { ConfigError } from '../../../src/config/config.ts';
import { parseRecord } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectUnchanged, type Store } from '../../../src/store/port.ts';
import {
  keyLine,
  keysOf,
  rotate,
  untilJoined,
  untilKeys,
  writeKeys,
  type KeysShown,
} from '../../support/records/key-lines.ts';
import { call, createApp, enroll, Muster, poll, tenant, type Tenant } from '../../support/service/muster.ts';
import { faultyForRequests, type FaultyStore } from '../../support/store/faulty-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const url = inject('etcd');

interface Replica {
  readonly muster: Muster;
  readonly store: FaultyStore;
  readonly keyFile: string;
}

let dir: string;
let clock: FakeClock;
let env: Record<string, string>;
let running: Muster[];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'muster-'));
  clock = new FakeClock();
  env = { MUSTER_ETCD_PREFIX: `/${randomUUID()}/`, MUSTER_DEVICE_RATE_PER_MINUTE: '100000' };
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((muster) => muster[Symbol.asyncDispose]()));
  rmSync(dir, { recursive: true });
});

/** A replica of the fleet, with a key file of its own; `prepare` brings trouble to its start. */
async function replica(
  name: string,
  numbers: readonly number[],
  prepare: (store: FaultyStore) => void = () => undefined,
): Promise<Replica> {
  const keyFile = writeKeys(join(dir, name), ...numbers);
  let store: FaultyStore | undefined;
  const muster = await Muster.start({
    store: `etcd:${url}`,
    env: { ...env, MUSTER_KEY_FILE: keyFile },
    clock,
    wrapStore: (opened: Store) => {
      store = faultyForRequests(opened);
      prepare(store);
      return store;
    },
  });
  if (!store) throw new Error('the store was not wrapped');
  running.push(muster);
  return { muster, store, keyFile };
}

const everybodyKnows =
  (number: number) =>
  ({ replicas }: KeysShown): boolean =>
    replicas.every(({ keyNumbers }) => keyNumbers.includes(number));

/** The first replica of the fleet, on which key 1 is active. Key 2 comes to its file later. */
async function first(): Promise<Replica> {
  const one = await replica('one', [1]);
  await untilJoined(one.store, clock, async () => {
    writeKeys(one.keyFile, 1, 2);
    await untilKeys(one.muster, clock, everybodyKnows(2));
  });
  return one;
}

const header = (n: number): string => `Bearer collector-secret-${n}-`;

const putHeader = ({ muster }: Replica, { apiKey }: Tenant, authHeader: string) =>
  call(`${muster.api}/v1/otel-config`, {
    method: 'PUT',
    token: apiKey,
    body: { enabled: true, endpoint: 'https://otel.example.com', authHeader },
  });

const createKept = ({ muster }: Replica, { apiKey }: Tenant, key: string) =>
  call(`${muster.api}/v1/apps`, {
    method: 'POST',
    token: apiKey,
    body: { name: key },
    headers: { 'idempotency-key': key },
  });

async function sealedBy({ store }: Replica, { accountId }: Tenant): Promise<number | undefined> {
  const entry = await store.get(KEYS.otel(accountId));
  return entry && parseRecord(KEYS.otel, entry).record.config?.header?.keyNumber;
}

describe.skipIf(url === undefined)('a rotation over two replicas on one etcd', { timeout: 240_000 }, () => {
  test('under load no request fails, every header is delivered, every repeated create is replayed', async () => {
    const [one, other] = [await replica('one', [1]), await replica('other', [1])];
    const owners = await Promise.all(Array.from({ length: 4 }, () => tenant(one.muster)));
    const ended = new AbortController();
    let answers = 0;
    /** Time goes on with the load, in steps that no request mistakes for its deadline. */
    const counted = <T>(answer: T): T => {
      answers += 1;
      clock.advance(200);
      return answer;
    };

    async function own(owner: Tenant): Promise<void> {
      const app = await createApp(one.muster, owner.apiKey);
      const credential = await enroll(other.muster, app);
      for (let n = 1; !ended.signal.aborted; n += 1) {
        const [here, there] = n % 2 === 0 ? [one, other] : [other, one];
        expect(counted(await putHeader(here, owner, header(n))).status).toBe(200);
        for (const { muster } of [there, here]) {
          const polled = counted(await poll(muster, credential));
          expect(polled).toMatchObject({ status: 200, text: expect.stringContaining(header(n)) as string });
        }
        if (n % 4 !== 0) continue;
        const created = counted(await createKept(here, owner, `app-${n}`));
        expect(created.status).toBe(201);
        for (const back of [0, 4]) {
          const again = counted(await createKept(there, owner, `app-${Math.max(4, n - back)}`));
          expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
          if (back === 0) expect(again.text).toBe(created.text);
        }
      }
    }

    async function watchKeys(wanted: (keys: KeysShown) => boolean): Promise<void> {
      while (!ended.signal.aborted && !wanted(await keysOf(one.muster))) {
        const before = answers;
        await until(() => answers > before + 5 || ended.signal.aborted);
      }
    }

    const load = Promise.all(owners.map((owner) => own(owner))).finally(() => ended.abort());
    for (const { keyFile } of [one, other]) writeKeys(keyFile, 1, 2);
    await watchKeys(everybodyKnows(2));
    expect((await rotate(other.muster)).status).toBe(200);
    await watchKeys(({ removable }) => removable.includes(1));
    for (const { keyFile } of [one, other]) writeKeys(keyFile, 2);
    await watchKeys(({ replicas }) => replicas.every(({ keyNumbers }) => String(keyNumbers) === '2'));
    const more = answers + 50;
    await until(() => answers > more || ended.signal.aborted);
    ended.abort();
    await load;
    const keys = await keysOf(one.muster);
    expect(Object.keys(keys.sealedUnder)).toEqual(['2']);
    expect(keys.known).toEqual([2]);
  });

  test('refused while one has not read its file again, and then it passes', async () => {
    const [one, other] = [await first(), await replica('other', [1])];
    const refused = await rotate(one.muster);
    expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_request' } } });
    expect(refused.text).toContain('1 of 2 replicas do not know key 2 yet');
    // Its own newest is the one that writes: asked there, there is nothing to do.
    expect((await rotate(other.muster)).body).toEqual({ writing: 1, before: 1 });
    expect((await keysOf(one.muster)).writing).toBe(1);
    writeKeys(other.keyFile, 1, 2);
    await untilKeys(one.muster, clock, everybodyKnows(2));
    expect((await rotate(one.muster)).body).toEqual({ writing: 2, before: 1 });
    expect((await keysOf(other.muster)).writing).toBe(2);
  });

  test('refused where two have made a key of their own under the number', async () => {
    const [one, other] = [await first(), await replica('other', [1])];
    writeFileSync(other.keyFile, keyLine(1) + keyLine(2, 99));
    await untilKeys(one.muster, clock, everybodyKnows(2));
    const refused = await rotate(one.muster);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('1 of 2 replicas have another key under the number 2');
  });

  test('a replica that was stopped is not waited for', async () => {
    const [one, other] = [await first(), await replica('other', [1])];
    await other.muster.service.stop();
    expect((await rotate(one.muster)).status).toBe(200);
  });

  describe('a replica without the new key that starts meanwhile', () => {
    test('after the check of the registry: the rotation sees it, and is refused', async () => {
      const one = await first();
      let other: Replica | undefined;
      one.store.intercept('commit', 'before', async () => (other = await replica('other', [1])));
      const refused = await rotate(one.muster);
      expect(refused.text).toContain('1 of 2 replicas do not know key 2 yet');
      expect(other?.muster).toBeDefined();
      expect((await keysOf(one.muster)).writing).toBe(1);
    });

    test('after the rotation is through: it refuses to start, in words', async () => {
      const one = await first();
      // Its start is under way, and nothing tells of it yet: the rotation does not see it.
      const starts = replica('other', [1], (store) => {
        store.intercept('hold', 'before', async () => expect((await rotate(one.muster)).status).toBe(200));
      });
      await expect(starts).rejects.toThrow(ConfigError);
      await expect(starts).rejects.toThrow(/MUSTER_KEY_FILE: key 2 is the active key and is not in the key file/);
      expect((await keysOf(one.muster)).replicas).toHaveLength(1);
    });

    test('announced and not yet joined: the rotation sees it, and is refused', async () => {
      const one = await first();
      const other = await replica('other', [1], (store) => {
        store.intercept('hold', 'after', async () => expect((await rotate(one.muster)).status).toBe(400));
      });
      expect((await keysOf(other.muster)).writing).toBe(1);
    });
  });

  test('a header that one planned under the old key, and sent after all was rewrapped, is sealed anew', async () => {
    const [one, other] = [await first(), await replica('other', [1, 2])];
    const owner = await tenant(one.muster);
    expect((await putHeader(other, owner, header(1))).status).toBe(200);
    const sent = other.store.changes.length;
    const release = other.store.stall('commit');
    const late = putHeader(other, owner, header(2));
    while (other.store.changes.length === sent) await new Promise((resolve) => setImmediate(resolve));
    expect((await rotate(one.muster)).status).toBe(200);
    let keys = await keysOf(one.muster);
    // All in all not as much as the request that hangs has time.
    for (; !keys.removable.includes(1); keys = await keysOf(one.muster)) clock.advance(100);
    release();
    expect((await late).status).toBe(200);
    expect(await sealedBy(one, owner)).toBe(2);
    expect((await keysOf(one.muster)).sealedUnder).toEqual({ 2: 1 });
  });

  test('a header whose key is gone does not hold up others, and its key is not listed as removable', async () => {
    const one = await first();
    const [owner, faulty] = [await tenant(one.muster), await tenant(one.muster)];
    for (const each of [owner, faulty]) expect((await putHeader(one, each, header(1))).status).toBe(200);
    const entry = await one.store.get(KEYS.otel(faulty.accountId));
    if (!entry) throw new Error('nothing is stored');
    const { key, value } = entry;
    const damaged = value.replace(/"wrappedKey":"...../, '"wrappedKey":"AAAAA');
    await one.store.commit({ expect: [expectUnchanged(entry)], write: [{ put: key, value: damaged }] });
    expect((await rotate(one.muster)).status).toBe(200);
    await untilKeys(one.muster, clock, ({ sealedUnder }) => sealedUnder['2'] === 1);
    for (let n = 0; n < 10; n += 1) {
      clock.advance(1000);
      expect(await keysOf(one.muster)).toMatchObject({ sealedUnder: { 1: 1, 2: 1 }, removable: [] });
    }
    expect((await putHeader(one, faulty, header(2))).status).toBe(200);
    // A record that could not be opened is tried again.
    clock.advance(600_000);
    await untilKeys(one.muster, clock, ({ removable }) => removable.includes(1));
  });
});
