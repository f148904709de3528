import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { Secret } from '../../../src/domain/credentials/secret.ts';
import { createFleet } from '../../../src/domain/fleet/fleet.ts';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { keysLacking } from '../../../src/domain/key-rotation/keys-in-use.ts';
import { createRewrap } from '../../../src/domain/key-rotation/rewrap.ts';
import { createEnvelope, type Envelope } from '../../../src/domain/keys/envelope.ts';
import { parseKeyRing } from '../../../src/domain/keys/key-ring.ts';
import { answerContext } from '../../../src/domain/mutation/idempotency.ts';
import { headerContext } from '../../../src/domain/otel-config/otel-config.ts';
import { parseRecord, put } from '../../../src/domain/records/codec.ts';
import { CACHED_GROUPS, KEYS } from '../../../src/domain/records/keys.ts';
import type { OtelRecord } from '../../../src/domain/records/otel-records.ts';
import type { RewrappedRecord } from '../../../src/domain/records/replica-records.ts';
import { createLog } from '../../../src/log.ts';
import { createMetrics } from '../../../src/metrics/service-metrics.ts';
import { expectRevision } from '../../../src/store/entry.ts';
import {
  ABSENT,
  COMMIT_OPERATIONS_MAX,
  expectAbsent,
  type Expectation,
  expectUnchanged,
  type Put,
  type Store,
  StoreUnavailable,
} from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { WatchCache } from '../../../src/store/watch-cache/watch-cache.ts';
import { keyLine } from '../../support/records/key-lines.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { faultyStore, type FaultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { countedTurns } from '../../support/time/event-loop-turns.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

const ringOf = (...numbers: number[]) => parseKeyRing(numbers.map((number) => keyLine(number)).join(''));
const envelopeOf = (...numbers: number[]): Envelope => createEnvelope(ringOf(...numbers), systemRandom());

const accountId = (n: number): string => `account${String(n).padStart(9, '0')}`;
const headerText = (n: number): string => `Bearer secret of ${n}`;

function otelPut(n: number, keyNumber: number): Put {
  const header = envelopeOf(1, 2).seal(new Secret(headerText(n)), headerContext(accountId(n)), keyNumber);
  const config = { enabled: true, endpoint: 'https://c.example.com', evidenceLevel: 'hashes' as const, header };
  const record: OtelRecord = { revision: 7, tag: 'tag', at: 1, config };
  return put(KEYS.otel(accountId(n)), record);
}

function answerPut(account: number, n: number, keyNumber: number): Put {
  const context = answerContext(accountId(account), `name${n}`);
  const answer = envelopeOf(1, 2).seal(new Secret(`answer ${n}`), context, keyNumber);
  return put(KEYS.idempotencyRecord(accountId(account), `name${n}`), { at: 1, slot: n, question: 'q', answer });
}

async function commitAll(store: Store, writes: readonly Put[]): Promise<void> {
  for (let at = 0; at < writes.length; at += 100) {
    const write = writes.slice(at, at + 100);
    await store.commit({ expect: [expectAbsent('never')], write });
  }
}

const accountPut = (n: number) =>
  put(KEYS.account(accountId(n)), { name: 'a', entitlement: 'enterprise', disabled: false, createdAt: 1 });
const writing = (number: number) =>
  put(KEYS.activeKey(), { number, fingerprint: ringOf(number).fingerprint(number) ?? '' });

/** The leader's part over a store: its rounds, and what they did. */
async function leading(
  store: Store,
  known: readonly number[] = [1, 2],
  fence: readonly Expectation[] = [],
  onUnreadable: (error: unknown) => void = (error) => expect.unreachable(String(error)),
  storeMs = 60_000,
  from: 'filled' | 'filling' = 'filled',
) {
  const memory = new FleetMemory({ onUnreadable });
  const log = createLog('silent');
  const [clock, metrics] = [new FakeClock(), createMetrics('test')];
  const watchCache = new WatchCache({ store, sink: memory, clock, log, metrics, groups: CACHED_GROUPS });
  watchCache.start();
  if (from === 'filled') await until(() => watchCache.ready);
  const fleet = createFleet(store, watchCache, memory, { storeMs });
  const counted = { rewrapped: 0 };
  const rewrapped = (count: number): void => void (counted.rewrapped += count);
  const round = createRewrap({ store, fleet, envelope: envelopeOf(...known), clock, log, rewrapped }, fence);
  return { round, counted, clock, watchCache, [Symbol.asyncDispose]: () => watchCache[Symbol.asyncDispose]() };
}

async function noted(store: Store): Promise<RewrappedRecord | undefined> {
  const entry = await store.get(KEYS.rewrapped());
  return entry && parseRecord(KEYS.rewrapped, entry).record;
}

/** Every secret in the store with the ring of key 2 alone: what does not open is undefined. */
async function opened(store: Store): Promise<(string | undefined)[]> {
  const envelope = envelopeOf(2);
  const found: (string | undefined)[] = [];
  for (const entry of await entriesOf(store, KEYS.account.under())) {
    if (!entry.key.endsWith('/otel')) continue;
    const { record } = parseRecord(KEYS.otel, entry);
    const account = entry.key.slice(KEYS.account.under().length).split('/')[0] ?? '';
    const header = record.config?.header;
    found.push(header && envelope.open(header, headerContext(account))?.reveal());
  }
  for (const entry of await entriesOf(store, KEYS.idempotencySlot.under())) {
    const [, account = '', , name = ''] = entry.key.split('/');
    const { record } = parseRecord(KEYS.idempotencyRecord, entry);
    found.push(envelope.open(record.answer, answerContext(account, name))?.reveal());
  }
  return found;
}

async function seeded(store: Store, headers: number, answers: number): Promise<void> {
  const all = Array.from({ length: headers }, (_, n) => n);
  await commitAll(store, [
    ...all.map(accountPut),
    ...all.map((n) => otelPut(n, 1)),
    ...Array.from({ length: answers }, (_, n) => answerPut(0, n, 1)),
    writing(2),
  ]);
}

const changesOf = (store: FaultyStore) => store.changes.filter(({ write }) => write.length > 0);

onEachStore('the rewrap', (stores) => {
  test('takes more than one commit: each is within the bound, and all opens with the new key alone', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 120, 130);
    store.changes.length = 0;
    await using leader = await leading(store);
    await leader.round();
    const expected = Array.from({ length: 120 }, (_, n) => headerText(n));
    const texts = await opened(store);
    expect(texts).toHaveLength(250);
    expect(texts).toEqual(expect.arrayContaining(expected));
    expect(texts).not.toContain(undefined);
    expect([leader.counted.rewrapped, await noted(store)]).toMatchObject([250, { number: 2, left: [] }]);
    for (const { expect: expects, write } of changesOf(store)) {
      expect(Math.max(expects.length, write.length)).toBeLessThanOrEqual(COMMIT_OPERATIONS_MAX);
    }
  });

  test('touches no box, revision or tag, and what is done is not done again', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 2, 2);
    const before = parseRecord(KEYS.otel, (await store.get(KEYS.otel(accountId(0)))) ?? expect.unreachable()).record;
    await using leader = await leading(store);
    await leader.round();
    const after = parseRecord(KEYS.otel, (await store.get(KEYS.otel(accountId(0)))) ?? expect.unreachable()).record;
    expect(after.config?.header).toEqual({
      ...before.config?.header,
      keyNumber: 2,
      wrappedKey: expect.not.stringContaining(before.config?.header?.wrappedKey ?? '') as string,
    });
    expect({ ...after, config: undefined }).toEqual({ ...before, config: undefined });
    const { commit, list } = { ...store.calls };
    await leader.round();
    expect([store.calls.commit, store.calls.list]).toEqual([commit, list]);
  });

  test('under a fence that is lost nothing is written', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 3, 3);
    const fence = [expectRevision(KEYS.leader(), 1)];
    await using leader = await leading(store, [1, 2], fence);
    await leader.round();
    expect((await opened(store)).filter((text) => text !== undefined)).toEqual([]);
    expect([leader.counted.rewrapped, await noted(store)]).toEqual([0, undefined]);
  });

  test.each([0, 1, 2, 3, 4])('an answer lost at commit %d: the next rounds finish it', async (at) => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 60, 60);
    await using leader = await leading(store);
    store.fates.push(...Array.from({ length: at }, () => 'passes' as const), 'answer lost after commit');
    await expect(leader.round()).rejects.toThrow(StoreUnavailable);
    await leader.round();
    expect(await opened(store)).not.toContain(undefined);
    expect(await noted(store)).toMatchObject({ number: 2, left: [] });
  });

  test('memory that is behind does not count as complete', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 1, 0);
    // The pass waits for memory as long as a call of the store may take; here that is two reads.
    await using leader = await leading(store, [1, 2], [], undefined, 100);
    store.deaf = true;
    await commitAll(store, [accountPut(1), otelPut(1, 1)]);
    await expect(leader.round()).rejects.toThrow('has not caught up');
    expect(await noted(store)).toBeUndefined();
  });

  test('while memory is being filled a round does nothing and is no failure, and a later one is complete', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 2, 0);
    const passOn = store.stall('list');
    await using leader = await leading(store, [1, 2], [], undefined, 100, 'filling');
    store.changes.length = 0;
    await leader.round();
    expect([leader.counted.rewrapped, store.changes, await noted(store)]).toEqual([0, [], undefined]);
    passOn();
    await until(() => leader.watchCache.ready);
    await leader.round();
    expect([leader.counted.rewrapped, await noted(store)]).toMatchObject([2, { number: 2, left: [] }]);
  });

  test('a leader without the old key records what is left, and finishes once the key is back', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 1, 1);
    await using lacking = await leading(store, [2]);
    await lacking.round();
    expect(await noted(store)).toMatchObject({ number: 2, left: [1] });
    await using leader = await leading(store, [1, 2]);
    await leader.round();
    expect(await noted(store)).toMatchObject({ number: 2, left: [] });
    expect(await opened(store)).not.toContain(undefined);
  });

  test.each([
    [[2], 1, 0, [1], 'a header is sealed under key 1'],
    [[2], 0, 1, [1], 'an answer is'],
    [[2], 0, 0, [], 'nothing is'],
    [[1, 2], 1, 1, [], 'nothing is absent'],
  ])(
    'before a whole pass, a replica with keys %j (%i headers, %i answers) lacks what seals',
    async (own, headers, answers, lacking) => {
      await using store = faultyStore(await stores.open());
      await seeded(store, headers, answers);
      expect(await keysLacking(store, ringOf(...own))).toEqual(lacking);
    },
  );

  test('what a whole pass has left is lost already, and keeps no replica from its start', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 1, 0);
    await using leader = await leading(store, [2]);
    await leader.round();
    expect(await keysLacking(store, ringOf(2))).toEqual([]);
    // Nor does it in the next rotation, before its pass.
    await commitAll(store, [writing(3)]);
    expect(await keysLacking(store, ringOf(2, 3))).toEqual([]);
    expect(await keysLacking(store, ringOf(3))).toEqual([]);
  });

  test('a configuration that changes meanwhile and keeps its header is not counted as done', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 1, 0);
    await using leader = await leading(store);
    store.intercept('commit', 'before', async () => {
      const entry = (await store.get(KEYS.otel(accountId(0)))) ?? expect.unreachable();
      const changed = entry.value.replace('https://c.example.com', 'https://d.example.com');
      await store.commit({ expect: [expectUnchanged(entry)], write: [{ put: entry.key, value: changed }] });
    });
    await leader.round();
    expect(await noted(store)).toBeUndefined();
    await leader.round();
    expect(await noted(store)).toMatchObject({ number: 2, left: [] });
    expect(await opened(store)).toEqual([headerText(0)]);
    expect((await store.get(KEYS.otel(accountId(0))))?.value).toContain('https://d.example.com');
  });

  test.each([
    ['configuration', () => ({ ...otelPut(1, 1), value: otelPut(1, 1).value.replace('hashes', 'a-newer-level') })],
    ['account', () => ({ ...accountPut(1), value: '{}' })],
  ])('a record of a %s that cannot be read may be sealed under any key: no key is free', async (_, damaged) => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 2, 1);
    const whole = (await store.get(damaged().put)) ?? expect.unreachable();
    await store.commit({ expect: [expectUnchanged(whole)], write: [damaged()] });
    await using leader = await leading(store, [1, 2], [], () => undefined);
    await expect(leader.round()).rejects.toThrow(`cannot be read: ${accountId(1)}.`);
    expect([leader.counted.rewrapped, await noted(store)]).toEqual([2, undefined]);
    await commitAll(store, [{ put: whole.key, value: whole.value }]);
    await leader.round();
    expect([leader.counted.rewrapped, await noted(store)]).toMatchObject([3, { number: 2, left: [] }]);
  });

  test('another rotation during a pass: nothing is wrapped by a key that is no longer active', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 60, 1);
    await using leader = await leading(store, [1, 2, 3]);
    store.intercept('commit', 'before', async () => {
      const before = await store.get(KEYS.activeKey());
      const expects = [expectRevision(KEYS.activeKey(), before?.revision ?? ABSENT)] as const;
      await store.commit({ expect: expects, write: [writing(3)] });
    });
    await leader.round();
    expect((await opened(store)).filter((text) => text !== undefined)).toEqual([]);
    await leader.round();
    expect(await noted(store)).toMatchObject({ number: 3, left: [] });
  });

  test('two leaders at once, both unfenced, do no harm', async () => {
    await using store = faultyStore(await stores.open());
    await seeded(store, 80, 80);
    await using one = await leading(store);
    await using other = await leading(store);
    for (let n = 0; n < 3; n += 1) await Promise.all([one.round(), other.round()]);
    expect(await opened(store)).not.toContain(undefined);
    expect(await noted(store)).toMatchObject({ number: 2, left: [] });
    expect(one.counted.rewrapped + other.counted.rewrapped).toBe(160);
  });
});

describe('more than a round takes', () => {
  test('is finished by the next ones, each beginning where the one before ended', async () => {
    await using store = faultyStore(await openSqliteStore(':memory:'));
    await seeded(store, 1, 0);
    // All but the last one are sealed under the active key, so that the pages alone take several rounds.
    const sealed = answerPut(0, 0, 2).value;
    const places = Array.from({ length: 21_000 }, (_, n) => ({
      put: KEYS.idempotencyRecord(accountId(0), `n${n}`),
      value: sealed,
    }));
    await commitAll(store, [...places, answerPut(1, 1, 1)]);
    await using leader = await leading(store);
    const turns = countedTurns();
    for (const pages of [20, 2]) {
      expect(await noted(store)).toBeUndefined();
      const before = store.calls.list;
      const turned = turns.count();
      await leader.round();
      expect(store.calls.list - before).toBe(pages);
      // An embedded store answers at once: between two pages others must have had their turn.
      expect(turns.count() - turned).toBeGreaterThanOrEqual(pages - 1);
    }
    turns.end();
    expect([leader.counted.rewrapped, await noted(store)]).toMatchObject([2, { number: 2, left: [] }]);
  });
});
