import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import type { OperatorRole } from '../../../src/config/operator-tokens.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { readActiveKey } from '../../../src/domain/keys/active-key.ts';
import { derivedKey } from '../../../src/domain/keys/derived-key.ts';
import { LiveKeyRing, parseKeyRing, type KeyRing } from '../../../src/domain/keys/key-ring.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { FORMAT } from '../../../src/domain/records/store-records.ts';
import { createReplicas, type Replicas } from '../../../src/domain/replicas/replicas.ts';
import { createLog } from '../../../src/log.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { rawPut } from '../../support/store/raw-key.ts';

const line = (number: number, fill = number): string => `${number}:${Buffer.alloc(32, fill).toString('base64')}\n`;
const ringOf = (...lines: string[]): KeyRing => parseKeyRing(lines.join(''));

interface Told {
  live: number;
  skewSeconds: number;
  otherTokens: number;
  logged: { level: string; msg: string; replicas?: string[] }[];
}

function replica(
  store: Store,
  replicaId: string,
  {
    clock = new FakeClock(),
    keyRing = ringOf(line(1)),
    knows,
    tokens = ['token'],
    role = 'operator',
  }: {
    clock?: FakeClock;
    keyRing?: KeyRing;
    knows?: readonly string[];
    tokens?: readonly string[];
    role?: OperatorRole;
  } = {},
): Replicas & { clock: FakeClock; told: Told } {
  const told: Told = { live: 0, skewSeconds: 0, otherTokens: 0, logged: [] };
  const metrics = {
    replicaRegistered: () => undefined,
    replicasLive: (count: number) => void (told.live = count),
    operatorTokensDiffer: (count: number) => void (told.otherTokens = count),
    clockSkew: (seconds: number) => void (told.skewSeconds = seconds),
  };
  const replicas = createReplicas({
    store,
    clock,
    log: createLog('info', { write: (line) => void told.logged.push(JSON.parse(line) as Told['logged'][number]) }),
    metrics,
    replicaId,
    version: '0.0.0',
    keyRing,
    operatorTokens: () => tokens.map((token) => ({ name: undefined, role, secret: new Secret(token) })),
    ...(knows && { knows }),
  });
  return {
    announce: () => replicas.announce(),
    announceAtStart: () => replicas.announceAtStart(),
    round: () => replicas.round(),
    live: () => replicas.live(),
    everyReplicaKnows: (change) => replicas.everyReplicaKnows(change),
    registration: () => replicas.registration(),
    unregistered: () => replicas.unregistered(),
    othersDisagree: () => replicas.othersDisagree(),
    isAlone: () => replicas.isAlone(),
    publish: (observed) => replicas.publish(observed),
    clockHeard: (other, skewMs) => replicas.clockHeard(other, skewMs),
    skewOf: (other) => replicas.skewOf(other),
    release: () => replicas.release(),
    clock,
    told,
  };
}

const idsOf = async (replicas: Replicas): Promise<string[]> => (await replicas.live()).map((one) => one.replicaId);

onEachStore('the registry of replicas', (stores) => {
  test('shows what each knows, until it is released', async () => {
    await using store = await stores.open();
    const [one, other] = [replica(store, 'one'), replica(store, 'other', { keyRing: ringOf(line(1), line(2)) })];
    expect([await one.announce(), await other.announce()]).toEqual([undefined, undefined]);
    await one.round();
    expect(one.told.live).toBe(2);
    expect(await one.live()).toMatchObject([
      { replicaId: 'one', keyNumbers: [1], version: '0.0.0', startedAt: one.clock.now(), clock: one.clock.now() },
      { replicaId: 'other', keyNumbers: [1, 2] },
    ]);
    await other.release();
    await one.round();
    expect([await idsOf(one), one.told.live]).toEqual([['one'], 1]);
  });

  test('shows what each publishes beside that, as of its last announcement', async () => {
    await using store = await stores.open();
    const one = replica(store, 'one');
    let seen = 1;
    one.publish(() => ({ seen, replicaId: 'not this' }));
    one.publish(() => ({ heard: 2 }));
    await one.announce();
    seen = 3;
    expect(await one.live()).toMatchObject([{ replicaId: 'one', seen: 1, heard: 2 }]);
    await one.announce();
    expect(await one.live()).toMatchObject([{ replicaId: 'one', seen: 3, heard: 2 }]);
  });

  test('announces what builds from before 0.1.0 ask of every replica before they write it', async () => {
    await using store = await stores.open();
    const one = replica(store, 'one');
    await one.announce();
    for (const name of [
      'provisional-bindings',
      'rate-window-ages',
      'api-key-expiry',
      'resource-adoption',
      'opamp-agents',
    ])
      expect(await one.everyReplicaKnows(name)).toBe(true);
  });

  test('a change of records is known when every live replica says so, and an older version says nothing', async () => {
    await using store = await stores.open();
    const one = replica(store, 'one', { knows: ['labels', 'colours'] });
    const other = replica(store, 'other', { knows: ['labels'] });
    for (const each of [one, other]) await each.announce();
    expect(await one.everyReplicaKnows('labels')).toBe(true);
    expect(await one.everyReplicaKnows('colours')).toBe(false);
    expect((await one.live()).map(({ format }) => format)).toEqual([FORMAT, FORMAT]);
    // A version from before this field writes the record without it.
    const { format: _format, knows: _knows, ...old } = (await other.live())[1] ?? { format: 0, knows: [] };
    const joined = await store.hold(KEYS.replica('old'), JSON.stringify({ ...old, replicaId: 'old' }), 15_000);
    expect(await one.everyReplicaKnows('labels')).toBe(false);
    expect(await one.live()).toMatchObject([{ replicaId: 'old', format: 1, knows: [] }, {}, {}]);
    if (joined !== 'taken') await joined.release();
    expect(await one.everyReplicaKnows('labels')).toBe(true);
  });

  test('never holds a byte of a key', async () => {
    await using store = await stores.open();
    await replica(store, 'one', { keyRing: ringOf(line(1), line(2)) }).announce();
    const values = [await store.get(KEYS.replica('one')), await store.get(KEYS.activeKey())].map((one) => one?.value);
    for (const value of values) {
      for (const fill of [1, 2]) {
        expect(value).not.toContain(Buffer.alloc(32, fill).toString('base64').slice(0, 12));
        expect(value).not.toContain(Buffer.alloc(32, fill).toString('hex').slice(0, 12));
      }
    }
  });

  test('a key that comes to the ring is announced with the next round', async () => {
    await using store = await stores.open();
    const ring = new LiveKeyRing(ringOf(line(1)));
    const one = replica(store, 'one', { keyRing: ring });
    await one.round();
    ring.replace(ringOf(line(1), line(2)));
    await one.round();
    expect(await one.live()).toMatchObject([{ keyNumbers: [1, 2] }]);
  });

  test.each([
    ['comes', [1], [1, 2]],
    ['goes', [1, 2], [1]],
  ])('joins with the keys that it announces, also where one %s while it reads the active one', async (_, from, to) => {
    await using store = faultyStore(await stores.open());
    const ring = new LiveKeyRing(ringOf(line(1)));
    const one = replica(store, 'one', { keyRing: ring });
    // Key 1 is active from here on.
    await one.round();
    ring.replace(ringOf(...from.map((number) => line(number))));
    await one.round();
    const joined = await readActiveKey(store);
    store.intercept('get', 'after', async () => ring.replace(ringOf(...to.map((number) => line(number)))));
    await one.round();
    expect(await one.live()).toMatchObject([{ keyNumbers: to }]);
    expect((await readActiveKey(store))?.revision).toBeGreaterThan(joined?.revision ?? Number.MAX_SAFE_INTEGER);
  });

  test('announces and joins again after its record was removed', async () => {
    await using store = await stores.open();
    const one = replica(store, 'one');
    await one.announce();
    const entry = await store.get(KEYS.replica('one'));
    const joined = await readActiveKey(store);
    await store.commit({
      expect: [expectRevision(KEYS.replica('one'), entry?.revision ?? -1)],
      write: [{ remove: KEYS.replica('one') }],
    });
    await one.round();
    expect(await idsOf(one)).toEqual(['one']);
    expect((await readActiveKey(store))?.revision).toBeGreaterThan(joined?.revision ?? Number.MAX_SAFE_INTEGER);
    // It joins once only: later commits do not conflict with it.
    const again = await readActiveKey(store);
    await one.round();
    expect((await readActiveKey(store))?.revision).toBe(again?.revision);
  });

  test('an outage ends one round, and the next one is well', async () => {
    await using store = faultyStore(await stores.open());
    const one = replica(store, 'one');
    store.down.add('hold');
    await expect(one.round()).rejects.toThrow('down');
    store.down.delete('hold');
    store.fates.push('lost before commit');
    await expect(one.round()).rejects.toThrow('lost');
    await one.round();
    expect(await idsOf(one)).toEqual(['one']);
    expect(await readActiveKey(store)).toMatchObject({ record: { number: 1 } });
  });
});

onEachStore('who may join', (stores) => {
  test('the first one of all makes its newest key the active one; later ones change nothing', async () => {
    await using store = await stores.open();
    await replica(store, 'one', { keyRing: ringOf(line(3), line(5)) }).announce();
    await replica(store, 'other', { keyRing: ringOf(line(5), line(7)) }).announce();
    expect((await readActiveKey(store))?.record).toEqual({
      number: 5,
      fingerprint: ringOf(line(5)).fingerprint(5),
    });
  });

  test.each<[string, KeyRing, RegExp | undefined]>([
    ['the active key, and a newer one', ringOf(line(5), line(7)), undefined],
    ['only the active key', ringOf(line(5)), undefined],
    ['an older one alone', ringOf(line(3)), /key 5 is the active key and is not in the key file: .*backup/],
    ['a newer one alone', ringOf(line(7)), /key 5 is the active key and is not in the key file/],
    [
      'another key under its number',
      ringOf(line(5, 9)),
      /another one than the active key 5: .*backup.*replica.*Secret/,
    ],
  ])('%s', async (_, keyRing, words) => {
    await using store = await stores.open();
    await replica(store, 'one', { keyRing: ringOf(line(5)) }).announce();
    const refused = await replica(store, 'other', { keyRing }).announce();
    if (words) expect(refused).toMatch(words);
    else expect(refused).toBeUndefined();
  });

  test('joins again when its keys change: a rotation that relied on its former announcement checks again', async () => {
    await using store = await stores.open();
    const ring = new LiveKeyRing(ringOf(line(1), line(2)));
    const one = replica(store, 'one', { keyRing: ring });
    await replica(store, 'first', { keyRing: ringOf(line(1)) }).announce();
    await one.round();
    const looked = await readActiveKey(store);
    ring.replace(ringOf(line(1)));
    await one.round();
    const { outcome } = await store.commit({
      expect: [expectRevision(KEYS.activeKey(), looked?.revision ?? -1)],
      write: [put(KEYS.activeKey(), { number: 2, fingerprint: '' })],
    });
    expect(outcome).toBe('conflict');
  });

  test('says so when it loses the active key, and is well once the key is back', async () => {
    await using store = await stores.open();
    const ring = new LiveKeyRing(ringOf(line(1), line(2)));
    const one = replica(store, 'one', { keyRing: ring });
    expect(await one.announce()).toBeUndefined();
    ring.replace(ringOf(line(1)));
    for (let n = 0; n < 2; n += 1)
      expect(await one.announce()).toMatch(/key 2 is the active key and is not in the key file/);
    ring.replace(ringOf(line(2)));
    expect(await one.announce()).toBeUndefined();
  });

  test('many at once on an empty store all join', async () => {
    await using store = await stores.open();
    const all = Array.from({ length: 8 }, (_, n) => replica(store, `r${n}`, { keyRing: ringOf(line(1), line(2)) }));
    expect(new Set(await Promise.all(all.map((one) => one.announce())))).toEqual(new Set([undefined]));
    expect((await readActiveKey(store))?.record.number).toBe(2);
  });
});

onEachStore('the clocks of replicas', (stores) => {
  /** Every replica announces itself and reads the others, `rounds` times, 5 s apart. */
  async function rounds(all: readonly ReturnType<typeof replica>[], count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      for (const { clock } of all) clock.advance(5000);
      for (const one of all) await one.round();
    }
  }

  test('that agree raise no alarm', async () => {
    await using store = await stores.open();
    const all = ['a', 'b', 'c'].map((id) => replica(store, id));
    await rounds(all, 3);
    expect(all.map((one) => [one.othersDisagree(), one.told.skewSeconds])).toEqual(all.map(() => [false, 0]));
  });

  test('one of three that is an hour ahead is outvoted, also where it was so from its start', async () => {
    await using store = await stores.open();
    const wrong = replica(store, 'c', { clock: new FakeClock(Date.UTC(2026, 5, 1, 13)) });
    const all = [replica(store, 'a'), replica(store, 'b'), wrong];
    for (const one of all) await one.announce();
    await wrong.round();
    expect(wrong.othersDisagree()).toBe(true);
    await rounds(all, 2);
    expect(all.map((one) => one.othersDisagree())).toEqual([false, false, true]);
    for (const one of all) expect(one.told.skewSeconds).toBeGreaterThan(3500);
  });

  test('two replicas do not know which clock is wrong; set right, both are trusted again', async () => {
    await using store = await stores.open();
    const all = [replica(store, 'a'), replica(store, 'b')];
    const [, second] = all;
    await rounds(all, 2);
    second?.clock.jump(40_000);
    await rounds(all, 2);
    expect(all.map((one) => one.othersDisagree())).toEqual([true, true]);
    second?.clock.jump(-40_000);
    await rounds(all, 2);
    expect(all.map((one) => one.othersDisagree())).toEqual([false, false]);
  });

  test('an answer about a clock tells smaller differences than announcements can, for a minute', async () => {
    await using store = await stores.open();
    const one = replica(store, 'a');
    one.clockHeard('b', -990);
    await one.round();
    expect([one.told.skewSeconds, one.othersDisagree()]).toEqual([0.99, false]);
    one.clock.advance(60_001);
    await one.round();
    expect(one.told.skewSeconds).toBe(0);
  });

  test('a silent replica does not count as one with a slow clock', async () => {
    await using store = await stores.open();
    const [silent, looking] = [replica(store, 'a'), replica(store, 'b')];
    await silent.round();
    for (let n = 0; n < 40; n += 1) {
      looking.clock.advance(5000);
      await looking.round();
      expect(looking.othersDisagree()).toBe(false);
    }
  });

  test('a read that was slow for minutes raises no alarm', async () => {
    await using store = faultyStore(await stores.open());
    const [one, other] = [replica(store, 'a'), replica(store, 'b')];
    for (const each of [one, other, one]) await each.round();
    for (const each of [one, other]) each.clock.advance(5000);
    await other.round();
    store.intercept('list', 'after', async () => one.clock.advance(300_000));
    await one.round();
    expect([one.othersDisagree(), one.told.skewSeconds]).toEqual([false, 0]);
  });

  test('tells of other operator tokens once, by replicas and never by tokens, until they are the same again', async () => {
    await using store = await stores.open();
    const [one, same] = [
      replica(store, 'one', { tokens: ['a', 'b'] }),
      replica(store, 'same', { tokens: ['b', 'a', 'a'] }),
    ];
    const other = replica(store, 'other', { tokens: ['a', 'withdrawn'] });
    for (const each of [one, same, other]) await each.announce();
    for (let time = 0; time < 2; time += 1) for (const each of [one, same, other]) await each.round();
    expect([one.told.otherTokens, same.told.otherTokens, other.told.otherTokens]).toEqual([1, 1, 2]);
    const warned = one.told.logged.filter(({ msg }) => msg.includes('operator tokens'));
    expect(warned).toMatchObject([{ level: 'warn', replicas: ['other'] }]);
    const stored = (await store.list({ prefix: KEYS.replica.under(), limit: 10 })).entries
      .map(({ value }) => value)
      .join();
    expect(stored + JSON.stringify(one.told.logged)).not.toContain('withdrawn');
    await other.release();
    await one.round();
    expect([one.told.otherTokens, one.told.logged.at(-1)?.msg]).toEqual([0, expect.stringContaining('the same again')]);
  });

  test('takes a token of another role for another token, and announces those of the role operator as ever', async () => {
    await using store = await stores.open();
    const one = replica(store, 'one', { tokens: ['a'] });
    const other = replica(store, 'other', { tokens: ['a'], role: 'auditor' });
    for (const each of [one, other]) await each.announce();
    for (const each of [one, other]) await each.round();
    expect([one.told.otherTokens, other.told.otherTokens]).toEqual([1, 1]);
    const key = derivedKey(ringOf(line(1)).key(1) ?? Buffer.alloc(0), 'operator tokens');
    const live = await one.live();
    expect(live.find(({ replicaId }) => replicaId === 'one')?.operatorTokens).toEqual({
      keyNumber: 1,
      mac: createHmac('sha256', key).update('a').digest('hex'),
    });
  });

  test('compares no operator tokens under two keys, nor those of a replica that announces none', async () => {
    await using store = await stores.open();
    const keyRing = ringOf(line(1), line(2));
    const [one, other] = [replica(store, 'one', { keyRing }), replica(store, 'other', { keyRing, tokens: ['b'] })];
    await one.announce();
    await other.announce();
    await store.commit({
      expect: [expectAbsent('never')],
      write: [put(KEYS.activeKey(), { number: 1, fingerprint: keyRing.fingerprint(1) ?? '' })],
    });
    // It has announced itself under key 2, and this replica has seen the other key become active.
    await one.round();
    expect(one.told.otherTokens).toBe(0);
    await other.round();
    await one.round();
    expect(one.told.otherTokens).toBe(1);
    await store.commit({
      expect: [expectAbsent('never')],
      write: [put(KEYS.activeKey(), { number: 2, fingerprint: keyRing.fingerprint(2) ?? '' })],
    });
    for (const each of [one, other, one]) await each.round();
    // In between they could not be compared, and so were not the same again.
    const told = one.told.logged.filter(({ msg }) => msg.includes('operator tokens'));
    expect([one.told.otherTokens, told]).toMatchObject([1, [{ level: 'warn', replicas: ['other'] }]]);
    await other.release();
    const silent = { replicaId: 'silent', startedAt: 1, version: '0', keyNumbers: [1], fingerprints: {}, clock: 1 };
    await store.commit({ expect: [expectAbsent('never')], write: [rawPut(KEYS.replica('silent'), silent)] });
    await one.round();
    expect([one.told.live, one.told.otherTokens]).toEqual([2, 0]);
  });
});
