import { describe, expect, expectTypeOf, test } from 'vitest';
import { FleetMemory } from '../../../src/domain/fleet/memory.ts';
import { PlanReader } from '../../../src/domain/fleet/plan-reader.ts';
import type { AccountReader, FleetReader } from '../../../src/domain/fleet/reader.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { type Entry, type Expectation, expectUnchanged, type Put, type Snapshot } from '../../../src/store/port.ts';

/*
 * What a plan reads is a snapshot, and its commit expects that snapshot: memory moves on while a plan waits, and a
 * revision that is read later belongs to a record which nobody has judged.
 */

const [ACCOUNT, APP, USER, SESSION, KEY_ID] = ['account', 'app', 'user', 'session', 'key-id'];

/** Each record of the cached range as it is at a revision; `text` is a field in which two of them differ. */
const RECORDS: readonly ((text: string) => Put)[] = [
  (name) => put(KEYS.account(ACCOUNT), { name, entitlement: 'standard', disabled: false, createdAt: 1 }),
  (name) => put(KEYS.apiKey(ACCOUNT, KEY_ID), { name, hash: 'hash', createdAt: 1 }),
  (name) =>
    put(KEYS.app(ACCOUNT, APP), {
      name,
      status: 'active',
      statusAt: 1,
      createdAt: 1,
      slot: 0,
      platform: '',
      agentVersion: '',
      connection: 'cloud',
      enrolledAt: 1,
      credential: 'credential',
      codes: [],
      spent: [],
    }),
  (tag) => put(KEYS.otel(ACCOUNT), { revision: 1, tag, at: 1 }),
  (text) => put(KEYS.counters(ACCOUNT), { apps: 1, nextSlot: 1, idempotencyNext: 0, text }),
  (text) => put(KEYS.members(ACCOUNT), { members: [{ userId: USER, role: 'owner', since: 1 }], text }),
  (text) => put(KEYS.lastSeen(ACCOUNT), { packed: '', text }),
  (name) =>
    put(KEYS.user(USER), { name, login: '', createdAt: 1, disabled: false, identities: [], passkeys: [], rolesAt: 1 }),
  (browser) => put(KEYS.session(SESSION), { userId: USER, createdAt: 1, expiresAt: 9, method: 'password', browser }),
  (text) => put(KEYS.operators(), { members: [USER], text }),
  (userId) => put(KEYS.newcomer(), { userId }),
  (since) => put(KEYS.day(), { day: '2026-01-02', since: `2026-01-01${since}`.slice(0, 10) }),
  (fingerprint) => put(KEYS.activeKey(), { number: 1, fingerprint }),
];

const entriesAt = (revision: number): readonly Entry[] =>
  RECORDS.map((record) => record(`r${revision}`)).map(({ put: key, value }) => ({ key, value, revision }));

function memoryAt(revision: number): FleetMemory {
  const memory = new FleetMemory({ onUnreadable: (error) => expect.unreachable(String(error)) });
  for (const entry of entriesAt(revision)) memory.put(entry);
  memory.settled();
  return memory;
}

function moveOn(memory: FleetMemory, revision: number): void {
  for (const entry of entriesAt(revision)) memory.put(entry);
}

type Read = (reader: FleetReader) => Promise<Snapshot | undefined>;

const one = async <T extends Snapshot>(reads: Iterable<T>): Promise<T | undefined> => [...reads][0];
const ofAccount =
  (read: (account: AccountReader) => Promise<Snapshot | undefined>): Read =>
  async (reader) => {
    const account = await reader.account(ACCOUNT);
    return account && (await read(account));
  };

/** By the key of a record, every way in which a plan comes to it. */
const WAYS: Readonly<Record<string, readonly Read[]>> = {
  [KEYS.account(ACCOUNT)]: [
    async (reader) => await reader.account(ACCOUNT),
    async (reader) => (await reader.accountOfKey(KEY_ID))?.account,
    async (reader) => (await reader.appById(APP))?.account,
    async (reader) => (await reader.appOfCredential('credential'))?.account,
    async (reader) => await one(await reader.accountsOfMember(USER)),
  ],
  [KEYS.apiKey(ACCOUNT, KEY_ID)]: [
    async (reader) => (await reader.accountOfKey(KEY_ID))?.key,
    ofAccount(async (account) => await account.apiKey(KEY_ID)),
    ofAccount(async (account) => await one(await account.apiKeys())),
  ],
  [KEYS.app(ACCOUNT, APP)]: [
    async (reader) => (await reader.appById(APP))?.app,
    async (reader) => (await reader.appOfCredential('credential'))?.app,
    ofAccount(async (account) => await account.app(APP)),
    ofAccount(async (account) => await one(await account.apps())),
  ],
  [KEYS.otel(ACCOUNT)]: [ofAccount(async (account) => await account.otel())],
  [KEYS.counters(ACCOUNT)]: [ofAccount(async (account) => await account.counters())],
  [KEYS.members(ACCOUNT)]: [ofAccount(async (account) => await account.members())],
  [KEYS.lastSeen(ACCOUNT)]: [ofAccount(async (account) => await account.lastSeen())],
  [KEYS.user(USER)]: [async (reader) => await reader.user(USER), async (reader) => await one(await reader.users())],
  [KEYS.session(SESSION)]: [
    async (reader) => await reader.session(SESSION),
    async (reader) => await one(await reader.sessionsOf(USER)),
  ],
  [KEYS.operators()]: [async (reader) => await reader.operators()],
  [KEYS.newcomer()]: [async (reader) => await reader.newcomer()],
  [KEYS.day()]: [async (reader) => await reader.day()],
  [KEYS.activeKey()]: [async (reader) => await reader.activeKey()],
};
const PAIRS = Object.entries(WAYS).flatMap(([key, ways]) =>
  ways.flatMap((first, i) => ways.map((second, j) => ({ key, from: i + 1, to: j + 1, first, second }))),
);

describe('a plan', () => {
  test('is tried with every record of the cached range', () => {
    expect(new Set(Object.keys(WAYS))).toEqual(new Set(RECORDS.map((record) => record('').put)));
  });

  test.each(PAIRS)('reads $key once, whatever becomes of it meanwhile (way $from, then $to)', async (pair) => {
    const memory = memoryAt(4);
    const reader = new PlanReader(memory);
    const before = await pair.first(reader);
    moveOn(memory, 7);
    const after = await pair.second(reader);
    expect(before).toMatchObject({ key: pair.key, revision: 4 });
    expect(after).toMatchObject({ key: pair.key, revision: 4 });
    expect(JSON.stringify(after)).toBe(JSON.stringify(before));
    expect(await pair.second(new PlanReader(memory))).toMatchObject({ key: pair.key, revision: 7 });
  });

  test.each(Object.entries(WAYS).flatMap(([key, ways]) => ways.map((read, i) => ({ key, way: i + 1, read }))))(
    'that holds $key by way $way holds a snapshot, also without the reader of a plan',
    async ({ key, read }) => {
      const memory = memoryAt(4);
      const held = await read(memory);
      const spelled = JSON.stringify([held, held && expectUnchanged(held)]);
      moveOn(memory, 7);
      expect(held).toMatchObject({ key, revision: 4 });
      expect(JSON.stringify([held, held && expectUnchanged(held)])).toBe(spelled);
    },
  );

  test('reads a record that comes or goes as it was at first', async () => {
    const memory = memoryAt(4);
    const reader = new PlanReader(memory);
    expect(await reader.session(SESSION)).toBeDefined();
    expect(await (await reader.account(ACCOUNT))?.app('new')).toBeUndefined();
    memory.remove(KEYS.session(SESSION));
    const app = entriesAt(9).find(({ key }) => key === KEYS.app(ACCOUNT, APP));
    memory.put({ key: KEYS.app(ACCOUNT, 'new'), value: app?.value ?? '', revision: 9 });
    expect(await reader.session(SESSION)).toBeDefined();
    expect(await (await reader.account(ACCOUNT))?.app('new')).toBeUndefined();
    expect(await reader.appById('new')).toBeUndefined();
    expect(memory.appById('new')).toBeDefined();
  });

  test('can expect only what was read: a revision as a number, and a record of its own making, do not compile', () => {
    expectTypeOf<{ key: string; revision: number }>().not.toExtend<Expectation>();
    expectTypeOf<Snapshot>().not.toExtend<Expectation>();
    expectTypeOf<{ key: string; revision: number }>().not.toExtend<Parameters<typeof expectUnchanged>[0]>();
    expectTypeOf<{ key: string; revision: number; record: object }>().not.toExtend<
      Parameters<typeof expectUnchanged>[0]
    >();
    expectTypeOf<AccountReader>().toExtend<Parameters<typeof expectUnchanged>[0]>();
  });
});
