import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Reconciler } from '../../src/controller/loop.ts';
import { sweepReconciler } from '../../src/controller/sweeper.ts';
import { systemRandom } from '../../src/domain/credentials/random-ids.ts';
import { newApp } from '../../src/domain/apps/app-state.ts';
import { verifyAudit } from '../../src/domain/audit/verify.ts';
import { FleetMemory } from '../../src/domain/fleet/memory.ts';
import { parseRecord, put } from '../../src/domain/records/codec.ts';
import { KEYS } from '../../src/domain/records/keys.ts';
import type { AppRecord } from '../../src/domain/records/app-records.ts';
import { createClockWatch } from '../../src/domain/status-history/clock-trust.ts';
import { createLog } from '../../src/log.ts';
import { expectRevision } from '../../src/store/entry.ts';
import { ABSENT, type Expectation, type Put, type Store } from '../../src/store/port.ts';
import { write as writeAll } from '../support/metering/metering.ts';
import { ACCOUNT, OTHER_ACCOUNT, sealNow, writeEntry } from '../support/records/audit.ts';
import { entriesOf } from '../support/service/accounts.ts';
import { faultyStore, type FaultyStore } from '../support/store/faulty-store.ts';
import { onEachStore } from '../support/store/stores.ts';
import { FakeClock } from '../support/time/fake-clock.ts';
import { rawPut } from '../support/store/raw-key.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const APP = 'app_00000000000000000000';

onEachStore('the clean-up', (stores) => {
  let opened: Store;
  let store: FaultyStore;
  let clock: FakeClock;
  let memory: FleetMemory;
  let gone: Map<string, number>;
  let sweeper: Reconciler;
  let logged: string[];
  const signal = new AbortController().signal;

  const started = (fence: readonly Expectation[] = []): Reconciler => {
    const log = createLog('info', { write: (line: string) => void logged.push(line) });
    return sweepReconciler(
      {
        store,
        fleet: { memory },
        clock,
        clockWatch: createClockWatch({ clock, log }),
        random: systemRandom(),
        log,
        metrics: { cleaned: (what, count = 1) => void gone.set(what, (gone.get(what) ?? 0) + count) },
        auditRetentionDays: 10,
      },
      { fence, signal },
    );
  };

  beforeEach(async () => {
    opened = await stores.open();
    store = faultyStore(opened);
    clock = new FakeClock();
    memory = new FleetMemory({ onUnreadable: () => expect.unreachable('all can be read') });
    gone = new Map();
    logged = [];
    sweeper = started();
    await write(KEYS.account(ACCOUNT), { name: '', entitlement: 'standard', disabled: false, createdAt: 1 });
  });
  afterEach(() => opened[Symbol.asyncDispose]());

  async function write(key: string, record: object): Promise<void> {
    const entry = await opened.get(key);
    const expected = expectRevision(key, entry?.revision ?? ABSENT);
    await opened.commit({ expect: [expected], write: [rawPut(key, record)] });
    const written = await opened.get(key);
    if (key.startsWith('d/') && written) memory.put(written);
  }
  /** Many at once, each at a key that nobody has yet. */
  async function writeMany(records: readonly Put[]): Promise<void> {
    await writeAll(opened, records);
    const prefix = records[0]?.put.slice(0, records[0].put.lastIndexOf('/') + 1) ?? '';
    if (!prefix.startsWith('d/')) return;
    for (const entry of await entriesOf(opened, prefix)) memory.put(entry);
  }
  const left = async (prefix: string): Promise<string[]> => (await entriesOf(opened, prefix)).map(({ key }) => key);
  const readApp = async (id: string): Promise<AppRecord> => {
    const entry = await opened.get(KEYS.app(ACCOUNT, id));
    return parseRecord(KEYS.app, entry ?? expect.unreachable('the app is there')).record;
  };
  const withCodes = (...expiries: number[]): AppRecord => ({
    ...newApp('', 0, 1, { hash: 'none', issuedAt: 1 }),
    codes: expiries.map((expiresAt) => ({ hash: `code-${expiresAt}`, issuedAt: 1, expiresAt })),
  });

  /** Expired by the clock of every replica. */
  const expired = (): number => clock.now() - 5 * MINUTE_MS;

  test('expired codes become spent ones; a code that a replica may still take stays', async () => {
    const now = expired();
    await write(KEYS.app(ACCOUNT, 'both'), withCodes(now, now + 1));
    await write(KEYS.app(ACCOUNT, 'valid'), withCodes(now + 1));
    await sweeper.reconcile(signal);
    expect(await readApp('both')).toMatchObject({
      codes: [{ hash: `code-${now + 1}` }],
      spent: [{ hash: `code-${now}`, why: 'expired' }],
      status: 'pending',
    });
    expect(await readApp('valid')).toEqual(withCodes(now + 1));
    expect([...gone]).toEqual([['codes', 1]]);
    // Replicas must see it.
    expect(store.changes.map(({ quiet }) => quiet)).toEqual([undefined]);
  });

  test('an app that changed since memory saw it is left to a later pass', async () => {
    const now = expired();
    await write(KEYS.app(ACCOUNT, APP), withCodes(now));
    const changed = { ...withCodes(now), name: 'renamed' };
    const entry = await opened.get(KEYS.app(ACCOUNT, APP));
    const expected = expectRevision(KEYS.app(ACCOUNT, APP), entry?.revision ?? ABSENT);
    await opened.commit({ expect: [expected], write: [rawPut(expected.key, changed)] });
    await sweeper.reconcile(signal);
    expect(await readApp(APP)).toEqual(changed);
    const newer = await opened.get(expected.key);
    if (newer) memory.put(newer);
    clock.advance(HOUR_MS);
    await sweeper.reconcile(signal);
    expect(await readApp(APP)).toMatchObject({ name: 'renamed', codes: [] });
  });

  test('many apps go sixty in a commit and three hundred in a round', async () => {
    await writeMany(Array.from({ length: 310 }, (_, n) => put(KEYS.app(ACCOUNT, `many${n}`), withCodes(expired()))));
    await sweeper.reconcile(signal);
    expect(gone.get('codes')).toBe(300);
    expect(Math.max(...store.changes.map((change) => change.write.length))).toBe(60);
    for (const entry of await entriesOf(opened, KEYS.app.under(ACCOUNT))) memory.put(entry);
    clock.advance(10 * SECOND_MS);
    await sweeper.reconcile(signal);
    expect(gone.get('codes')).toBe(310);
  });

  const keep = async (name: string, slot: number, at: number): Promise<void> => {
    const answer = { keyNumber: 1, wrappedKey: 'x', box: 'x' };
    await write(KEYS.idempotencyRecord(ACCOUNT, name), { at, slot, question: 'q', answer });
    await write(KEYS.idempotencySlot(ACCOUNT, slot), { key: name });
  };

  test('idempotency records of more than a day ago go with their slots; younger ones stay with theirs', async () => {
    const day = clock.now() - DAY_MS - 5 * MINUTE_MS;
    await keep('old', 0, day);
    await keep('young', 1, day + 1);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.idempotencySlot.under())).toEqual([
      KEYS.idempotencyRecord(ACCOUNT, 'young'),
      KEYS.idempotencySlot(ACCOUNT, 1),
    ]);
    expect(gone.get('idempotency_records')).toBe(1);
  });

  test('the ring of a restricted key goes a day after its last answer; rings without an instant stay', async () => {
    const day = clock.now() - DAY_MS - 5 * MINUTE_MS;
    const [old, young, ofOperator] = [`key-${ACCOUNT}-old`, `key-${ACCOUNT}-young`, 'operator'];
    await write(KEYS.idempotencyRing(old), { next: 7, at: day });
    await write(KEYS.idempotencyRing(young), { next: 7, at: day + 1 });
    await write(KEYS.idempotencyRing(ofOperator), { next: 7 });
    await sweeper.reconcile(signal);
    expect((await left(KEYS.idempotencySlot.under())).toSorted()).toEqual([
      KEYS.idempotencyRing(young),
      KEYS.idempotencyRing(ofOperator),
    ]);
    expect(gone.get('idempotency_rings')).toBe(1);
  });

  test("those of the operator's creates go likewise, and their numbers go on", async () => {
    const answer = { keyNumber: 1, wrappedKey: 'x', box: 'x' };
    const scopes = ['operator', `operator-${ACCOUNT}`];
    for (const scope of scopes) {
      const at = clock.now() - DAY_MS - 5 * MINUTE_MS;
      for (const [name, slot, later] of [
        ['old', 0, 0],
        ['young', 1, 1],
      ] as const) {
        await write(KEYS.idempotencyRecord(scope, name), { at: at + later, slot, question: 'q', answer });
        await write(KEYS.idempotencySlot(scope, slot), { key: name });
      }
      await write(KEYS.idempotencyRing(scope), { next: 2 });
    }
    await sweeper.reconcile(signal);
    expect((await left(KEYS.idempotencySlot.under())).toSorted()).toEqual(
      scopes
        .flatMap((scope) => [
          KEYS.idempotencyRecord(scope, 'young'),
          KEYS.idempotencySlot(scope, 1),
          KEYS.idempotencyRing(scope),
        ])
        .toSorted(),
    );
    expect(gone.get('idempotency_records')).toBe(2);
  });

  test('a slot that another record has taken stays with that one', async () => {
    const old = clock.now() - 2 * DAY_MS;
    await keep('old', 0, old);
    await keep('new', 0, clock.now());
    await sweeper.reconcile(signal);
    expect(await left(KEYS.idempotencySlot.under())).toEqual([
      KEYS.idempotencyRecord(ACCOUNT, 'new'),
      KEYS.idempotencySlot(ACCOUNT, 0),
    ]);
    expect((await opened.get(KEYS.idempotencySlot(ACCOUNT, 0)))?.value).toBe('{"key":"new"}');
  });

  test('a slot that is taken at that moment stays with its new record', async () => {
    await keep('old', 0, clock.now() - 2 * DAY_MS);
    store.intercept('commit', 'before', () => keep('taker', 0, clock.now()));
    await sweeper.reconcile(signal);
    expect((await opened.get(KEYS.idempotencySlot(ACCOUNT, 0)))?.value).toBe('{"key":"taker"}');
  });

  test('a record that is written anew at that moment stays', async () => {
    await keep('again', 0, clock.now() - 2 * DAY_MS);
    store.intercept('commit', 'before', () => keep('again', 1, clock.now()));
    await sweeper.reconcile(signal);
    expect(await opened.get(KEYS.idempotencyRecord(ACCOUNT, 'again'))).toBeDefined();
    expect(gone.get('idempotency_records') ?? 0).toBe(0);
  });

  const bind = async (appId: string, hash: string, to = appId): Promise<void> => {
    await write(KEYS.pastCredential(appId, hash), {});
    await write(KEYS.credential(hash), { accountId: ACCOUNT, appId: to });
  };

  test('a record that cannot be read stays, and the others are removed', async () => {
    await keep('unreadable', 0, clock.now() - 2 * DAY_MS);
    await write(KEYS.idempotencySlot(ACCOUNT, 0), { damaged: true });
    await keep('old', 1, clock.now() - 2 * DAY_MS);
    await bind('unreadable', 'h1');
    await write(KEYS.credential('h1'), { damaged: true });
    await bind('zzz', 'h2');
    await sweeper.reconcile(signal);
    expect(await left(KEYS.idempotencySlot.under())).toEqual([
      KEYS.idempotencyRecord(ACCOUNT, 'unreadable'),
      KEYS.idempotencySlot(ACCOUNT, 0),
    ]);
    expect(await left(KEYS.pastCredential.under())).toEqual([KEYS.pastCredential('unreadable', 'h1')]);
  });

  test('a clock that jumped removes nothing; once it is right, every expired record is removed', async () => {
    await write(KEYS.app(ACCOUNT, APP), withCodes(clock.now() + DAY_MS));
    await keep('young', 0, clock.now());
    await writeEntry(opened, clock.now() - 8 * DAY_MS);
    await sealNow(opened, clock);
    await write(KEYS.refusalNote(ACCOUNT, 'old'), { at: 1 });
    const before = await entriesOf(opened, '');
    clock.jump(3 * DAY_MS);
    await sweeper.reconcile(signal);
    expect(await entriesOf(opened, '')).toEqual(before);
    clock.jump(-3 * DAY_MS);
    await sweeper.reconcile(signal);
    expect([...gone]).toEqual([['refusal_notes', 1]]);
  });

  test('notes of refusals that no enrollment reads any more are removed', async () => {
    const over = clock.now() - HOUR_MS - 5 * MINUTE_MS;
    await write(KEYS.refusalNote(ACCOUNT, 'old'), { at: over });
    await write(KEYS.refusalNote(ACCOUNT, 'young'), { at: over + 1 });
    await sweeper.reconcile(signal);
    expect(await left(KEYS.refusalNote.under())).toEqual([KEYS.refusalNote(ACCOUNT, 'young')]);
    expect(gone.get('refusal_notes')).toBe(1);
  });

  test('past credentials that a deletion left are removed; those of an app that exists stay', async () => {
    await write(KEYS.app(ACCOUNT, 'here'), withCodes());
    const hashes = Array.from({ length: 100 }, (_, n) => `d${n}`);
    await writeMany(hashes.map((hash) => put(KEYS.pastCredential('deleted', hash), {})));
    await writeMany(hashes.map((hash) => put(KEYS.credential(hash), { accountId: ACCOUNT, appId: 'deleted' })));
    await bind('here', 'h1');
    // Another app has bound one of them since.
    await bind('deleted', 'taken', 'here');
    await sweeper.reconcile(signal);
    expect(await left(KEYS.pastCredential.under())).toEqual([KEYS.pastCredential('here', 'h1')]);
    expect(await left('cred/')).toEqual([KEYS.credential('h1'), KEYS.credential('taken')]);
    expect(gone.get('past_credentials')).toBe(101);
  });

  test('an app that memory does not know, and the store does, keeps its past credentials', async () => {
    await write(KEYS.app(ACCOUNT, 'unknown'), withCodes());
    await bind('unknown', 'h1');
    memory.remove(KEYS.app(ACCOUNT, 'unknown'));
    await sweeper.reconcile(signal);
    expect(await left('cred/')).toEqual([KEYS.credential('h1')]);
    expect(await left(KEYS.pastCredential.under())).toHaveLength(1);
  });

  test('the audit is kept for as many days as configured', async () => {
    const over = clock.now() - 10 * DAY_MS;
    await writeEntry(opened, over - 1);
    await sealNow(opened, clock);
    const young = await writeEntry(opened, over);
    await sealNow(opened, clock);
    const unsealed = await writeEntry(opened, over - 1, OTHER_ACCOUNT);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.audit.under())).toEqual([young, unsealed]);
    expect((await verifyAudit(opened, ACCOUNT)).faults).toEqual([]);
    expect(gone.get('audit_entries')).toBe(1);
    expect(logged.filter((line) => line.includes('audit cut'))).toEqual([expect.stringContaining(ACCOUNT)]);
  });

  test('a pass continues where it stopped, and the next one begins an hour later', async () => {
    const notes = Array.from({ length: 501 }, (_, n) => KEYS.refusalNote(ACCOUNT, String(n).padStart(4, '0')));
    await writeMany(notes.map((key) => put(key, { at: 1 })));
    await sweeper.reconcile(signal);
    expect(await left(KEYS.refusalNote.under())).toHaveLength(1);
    clock.advance(10 * SECOND_MS);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.refusalNote.under())).toEqual([]);
    await write(KEYS.refusalNote(ACCOUNT, 'later'), { at: 1 });
    clock.advance(HOUR_MS - 1);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.refusalNote.under())).toHaveLength(1);
    clock.advance(1);
    await sweeper.reconcile(signal);
    expect(await left(KEYS.refusalNote.under())).toEqual([]);
  });

  test('a failure of one sweep does not stop the others, and is repeated', async () => {
    await write(KEYS.app(ACCOUNT, APP), withCodes(expired()));
    await write(KEYS.refusalNote(ACCOUNT, 'old'), { at: 1 });
    store.fates.push('lost before commit');
    await expect(sweeper.reconcile(signal)).rejects.toThrow('lost before it happened');
    expect([await left(KEYS.refusalNote.under()), (await readApp(APP)).codes.length]).toEqual([[], 1]);
    await sweeper.reconcile(signal);
    expect((await readApp(APP)).codes).toEqual([]);
  });

  test('a former leader removes nothing', async () => {
    await write(KEYS.app(ACCOUNT, APP), withCodes(expired()));
    await keep('old', 0, 1);
    await write(KEYS.refusalNote(ACCOUNT, 'old'), { at: 1 });
    await bind('deleted', 'd1');
    await writeEntry(opened, 1);
    await sealNow(opened, clock);
    const before = await entriesOf(opened, '');
    await started([expectRevision(KEYS.leader(), 1)]).reconcile(signal);
    expect(await entriesOf(opened, '')).toEqual(before);
    expect([...gone.values()].every((count) => count === 0)).toBe(true);
  });
});
