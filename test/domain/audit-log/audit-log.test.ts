import { expect, test } from 'vitest';
import { createAuditLog, type AuditLog, type AuditSink } from '../../../src/domain/audit-log/audit-log.ts';
import { newCounters, placementOf } from '../../../src/domain/backup/restore-rules.ts';
import { systemRandom } from '../../../src/domain/credentials/random-ids.ts';
import { createAuditNews } from '../../../src/domain/audit/following/news.ts';
import { createAuditStream, type AuditStream, type StreamPlace } from '../../../src/domain/audit/following/stream.ts';
import { auditKey } from '../../../src/domain/records/audit-records.ts';
import { put } from '../../../src/domain/records/codec.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import { expectAbsent, expectHeld, StoreUnavailable, type Expectation, type Store } from '../../../src/store/port.ts';
import { ACCOUNT, OTHER_ACCOUNT, tamper, writeEntries, writeEntry } from '../../support/records/audit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* The audit as lines: each entry at least once, in the order of the store, whatever ends a leader. */

const PREFIX = KEYS.audit.under();

/** A place for lines in memory. */
class Lines implements AuditSink {
  readonly lines: string[] = [];
  /** Whether the last line can be read, as in a file. */
  readonly #isFile: boolean;
  fails = false;

  constructor(isFile = false) {
    this.#isFile = isFile;
  }

  async lastLines(): Promise<readonly string[]> {
    return this.#isFile ? this.lines : [];
  }

  async write(text: string): Promise<void> {
    if (this.fails) throw new Error('no space left');
    this.lines.push(...text.trimEnd().split('\n'));
  }

  get entries(): readonly string[] {
    return this.lines.map((line) => (JSON.parse(line) as { unmapped: { entry: string } }).unmapped.entry);
  }
}

interface Leader extends AsyncDisposable {
  readonly log: AuditLog;
  readonly count: () => number;
  /** Does rounds until so many lines are there. */
  until(lines: number): Promise<void>;
  round(): Promise<void>;
}

function leaderOf(store: Store, clock: FakeClock, sink: Lines, fence: readonly Expectation[] = []): Leader {
  let count = 0;
  const metrics = { auditLinesWritten: (lines = 1) => void (count += lines) };
  const news = createAuditNews(store, clock);
  const streamAfter = (place: StreamPlace): AuditStream => createAuditStream(store, news, place);
  const log = createAuditLog({ store, accountName: () => 'Harbour', clock, streamAfter, sink, metrics, fence });
  const ending = new AbortController();
  const round = (): Promise<void> => log.round(ending.signal);
  return {
    log,
    count: () => count,
    round,
    until: (lines) =>
      until(async () => {
        await round();
        return sink.lines.length >= lines;
      }),
    async [Symbol.asyncDispose]() {
      ending.abort();
      log[Symbol.dispose]();
    },
  };
}

async function inStoreOrder(store: Store): Promise<string[]> {
  const entries = await entriesOf(store, PREFIX);
  return entries
    .toSorted((a, b) => a.revision - b.revision || (a.key < b.key ? -1 : 1))
    .map(({ key }) => key.slice(PREFIX.length));
}

async function withStoreId(store: Store, storeId: string): Promise<void> {
  await tamper(store, KEYS.format(), JSON.stringify({ format: 1, storeId }));
}

onEachStore('the audit as lines', (stores) => {
  test('has each entry once, in the order of the commits, and the next leader goes on', async () => {
    await using store = await stores.open();
    await withStoreId(store, 'one');
    const clock = new FakeClock();
    const sink = new Lines();
    for (let term = 0; term < 3; term += 1) {
      await using leader = leaderOf(store, clock, sink);
      await writeEntry(store, clock.now() - term * 1000);
      await writeEntry(store, clock.now(), OTHER_ACCOUNT);
      await leader.until(term * 3 + 2);
      await leader.round();
      // This one it does not see any more.
      await writeEntry(store, clock.now() + term, OTHER_ACCOUNT);
    }
    await using last = leaderOf(store, clock, sink);
    await last.until(9);
    expect(sink.entries).toEqual(await inStoreOrder(store));
    expect(JSON.parse(sink.lines[0] ?? '')).toMatchObject({
      class_uid: 3004,
      metadata: { version: '1.3.0', product: { name: 'Muster' }, event_code: 'test' },
      unmapped: { store: 'one', event: { type: 'test', data: { account: { id: ACCOUNT } } } },
    });
  });

  test.each(['lost before commit', 'answer lost after commit'] as const)(
    'loses nothing where it cannot note how far it came (%s)',
    async (fate) => {
      await using opened = await stores.open();
      await withStoreId(opened, 'one');
      const store = faultyStore(opened);
      const clock = new FakeClock();
      const sink = new Lines();
      await using leader = leaderOf(store, clock, sink);
      await writeEntry(opened, clock.now());
      store.fates.push(fate);
      await expect(leader.round()).rejects.toThrow(StoreUnavailable);
      await writeEntry(opened, clock.now());
      await leader.until(2);
      await leader.round();
      const all = await inStoreOrder(opened);
      expect([...new Set(sink.entries)]).toEqual(all);
      expect(sink.entries.at(-1)).toBe(all.at(-1));
    },
  );

  test('waits for its place to take the lines, and tells since when', async () => {
    await using store = await stores.open();
    await withStoreId(store, 'one');
    const clock = new FakeClock();
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await leader.round();
    expect(leader.log.lagMs()).toBe(0);
    await writeEntry(store, clock.now());
    sink.fails = true;
    await until(async () =>
      leader.round().then(
        () => false,
        () => true,
      ),
    );
    clock.advance(5000);
    await writeEntry(store, clock.now());
    await expect(leader.round()).rejects.toThrow('no space left');
    expect(leader.log.lagMs()).toBe(5000);
    sink.fails = false;
    await leader.until(2);
    expect(leader.log.lagMs()).toBe(0);
    expect(sink.entries).toEqual(await inStoreOrder(store));
  });

  test('goes on after the last line of a file, where that was not noted any more', async () => {
    await using opened = await stores.open();
    await withStoreId(opened, 'one');
    const store = faultyStore(opened);
    const clock = new FakeClock();
    const sink = new Lines(true);
    {
      await using leader = leaderOf(store, clock, sink);
      await writeEntries(opened, [clock.now(), clock.now() + 1]);
      store.fates.push('lost before commit');
      await expect(leader.round()).rejects.toThrow(StoreUnavailable);
    }
    await writeEntry(opened, clock.now());
    await using next = leaderOf(opened, clock, sink);
    await next.until(3);
    expect(sink.entries).toEqual(await inStoreOrder(opened));
    // A file of another store tells nothing of this one.
    const foreign = new Lines(true);
    foreign.lines.push((sink.lines.at(-1) ?? '').replace('"store":"one"', '"store":"two"'), 'no line of an audit');
    await tamper(opened, KEYS.auditLog(), undefined);
    await using third = leaderOf(opened, clock, foreign);
    await third.until(5);
    expect(foreign.lines.length).toBe(5);
  });

  test('a leader whose term has ended notes nothing, and the next one writes what it wrote', async () => {
    await using store = await stores.open();
    await withStoreId(store, 'one');
    const clock = new FakeClock();
    const [former, sink] = [new Lines(), new Lines()];
    const held = await store.hold(KEYS.leader(), '{}', 7000);
    if (held === 'taken') expect.unreachable('nobody leads');
    const fence = [expectHeld(KEYS.leader(), held)];
    await using leader = leaderOf(store, clock, former, fence);
    await leader.round();
    await held.release();
    await writeEntry(store, clock.now());
    await until(async () =>
      leader.round().then(
        () => false,
        (error: unknown) => String(error).includes('another leader'),
      ),
    );
    await using next = leaderOf(store, clock, sink);
    await next.until(1);
    expect(sink.entries).toEqual(await inStoreOrder(store));
  });

  test('in a store that was restored only what is newer than the last line is written again', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const noted = { storeId: 'before', revision: 900, key: 'x', at: clock.now() };
    // The order of a restore is not that of the commits.
    const newer = await writeEntry(store, clock.now() + 1);
    await writeEntry(store, clock.now() - 60_000);
    const beside = await writeEntry(store, clock.now() - 5000, OTHER_ACCOUNT);
    await store.commit({
      expect: [expectAbsent(KEYS.auditLog())],
      write: [put(KEYS.auditLog(), noted)],
      writeClass: 'upkeep',
    });
    await withStoreId(store, 'restored');
    const sink = new Lines();
    {
      await using leader = leaderOf(store, clock, sink);
      await leader.until(2);
    }
    await using next = leaderOf(store, clock, sink);
    const later = await writeEntry(store, clock.now());
    await next.until(3);
    expect(sink.entries).toEqual([newer, beside, later].map((key) => key.slice(PREFIX.length)));
  });

  test('goes on after a restore under the same id, whatever the revisions are there', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const noted = { storeId: 'same', revision: 1_000_000, key: `${ACCOUNT}/z`, at: clock.now() };
    const entry = { key: KEYS.auditLog(), value: JSON.stringify(noted), revision: 7 };
    const rules = { random: systemRandom(), keepCodes: false, opens: () => true };
    const placed = placementOf(entry, rules, newCounters());
    if (!(typeof placed === 'object' && 'value' in placed)) expect.unreachable('the record is restored');
    await tamper(store, KEYS.auditLog(), placed.value);
    await withStoreId(store, 'same');
    await writeEntry(store, clock.now() - 60_000);
    const restored = await writeEntry(store, clock.now());
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await leader.until(1);
    // A replica whose clock is behind writes it: it was not there when the restore was.
    const later = await writeEntry(store, clock.now() - 30_000);
    await leader.until(2);
    expect(sink.entries).toEqual([restored, later].map((key) => key.slice(PREFIX.length)));
  });

  test('passes over nothing after a restore because one clock was ahead', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const at = clock.now() + 365 * 86_400_000;
    await tamper(store, KEYS.auditLog(), JSON.stringify({ storeId: 'before', revision: 9, key: 'x', at }));
    await withStoreId(store, 'restored');
    await writeEntry(store, clock.now());
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await leader.until(1);
    expect(sink.lines).toHaveLength(1);
  });

  test('does not believe a line of a file that is ahead of the store', async () => {
    await using store = await stores.open();
    await withStoreId(store, 'one');
    const clock = new FakeClock();
    const sink = new Lines(true);
    const ahead = { metadata: { sequence: 1_000_000 }, unmapped: { store: 'one', entry: `${ACCOUNT}/z` } };
    sink.lines.push(JSON.stringify(ahead));
    await writeEntry(store, clock.now());
    await using leader = leaderOf(store, clock, sink);
    await leader.until(2);
    expect(sink.entries.slice(1)).toEqual(await inStoreOrder(store));
  });

  test('writes each line once where the store is too full to note how far it came', async () => {
    await using opened = await stores.open();
    await withStoreId(opened, 'one');
    const clock = new FakeClock();
    const store = wrappedStore(opened, {
      async commit(change) {
        if (change.write.some((one) => 'put' in one && one.put === KEYS.auditLog())) {
          throw new StoreUnavailable('full', 'The store is full.');
        }
        return await opened.commit(change);
      },
    });
    await writeEntries(
      opened,
      Array.from({ length: 600 }, (_, n) => clock.now() + n),
    );
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await leader.until(600);
    await leader.round();
    expect(sink.entries).toEqual(await inStoreOrder(opened));
  });

  test('lists nothing anew while its place takes no lines', async () => {
    await using opened = await stores.open();
    await withStoreId(opened, 'one');
    const clock = new FakeClock();
    let lists = 0;
    const store = wrappedStore(opened, {
      async list(request) {
        lists += 1;
        return await opened.list(request);
      },
    });
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await writeEntry(opened, clock.now());
    await leader.until(1);
    sink.fails = true;
    await writeEntry(opened, clock.now());
    const failed = (): Promise<boolean> =>
      leader.round().then(
        () => false,
        () => true,
      );
    await until(failed);
    const before = lists;
    for (let n = 0; n < 10; n += 1) expect(await failed()).toBe(true);
    expect(lists).toBe(before);
  });

  test('leaves no watch behind where its term ends while it begins', async () => {
    await using opened = await stores.open();
    await withStoreId(opened, 'one');
    const clock = new FakeClock();
    const gate = Promise.withResolvers<void>();
    const watched = faultyStore(opened);
    const store = wrappedStore(watched, {
      async get(key) {
        if (key === KEYS.auditLog()) await gate.promise;
        return await watched.get(key);
      },
    });
    const leader = leaderOf(store, clock, new Lines());
    const round = leader.round();
    await leader[Symbol.asyncDispose]();
    gate.resolve();
    await round;
    expect(watched.watching).toBe(0);
  });

  test('an entry that cannot be read is told, and holds up none', async () => {
    await using store = await stores.open();
    await withStoreId(store, 'one');
    const clock = new FakeClock();
    const bad = auditKey(ACCOUNT, '0mpv5pc00-xxxxxxxxxxxxxxxxxxxxxx');
    await tamper(store, bad, '{"at":"never"}');
    await writeEntry(store, clock.now());
    const sink = new Lines();
    await using leader = leaderOf(store, clock, sink);
    await leader.until(2);
    expect(sink.entries).toEqual(await inStoreOrder(store));
    expect(sink.lines[0]).toContain('cannot be read');
    expect(sink.lines[0]).not.toContain('never');
    expect(leader.count()).toBe(2);
  });
});
