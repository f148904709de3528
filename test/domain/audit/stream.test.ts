import { expect, test } from 'vitest';
import { listInOrder } from '../../../src/domain/audit/following/store-order.ts';
import { createAuditNews } from '../../../src/domain/audit/following/news.ts';
import { createAuditStream, type AuditStream, type StreamedEntry } from '../../../src/domain/audit/following/stream.ts';
import { LIMITS } from '../../../src/domain/limits.ts';
import { KEYS } from '../../../src/domain/records/keys.ts';
import type { Store } from '../../../src/store/port.ts';
import { ACCOUNT, OTHER_ACCOUNT, entryAt, writeAll, writeEntries, writeEntry } from '../../support/records/audit.ts';
import { entriesOf } from '../../support/service/accounts.ts';
import { DuringReads } from '../../support/store/during-reads.ts';
import { faultyStore } from '../../support/store/faulty-store.ts';
import { onEachStore, onEachStoreAlone } from '../../support/store/stores.ts';
import { wrappedStore } from '../../support/store/wrapped-store.ts';
import { FakeClock } from '../../support/time/fake-clock.ts';
import { until } from '../../support/time/until.ts';

/* The entries of all audits in the order of the store: none is lost, and each one comes once. */

const BEGIN = { revision: 0, key: '' };
const PREFIX = KEYS.audit.under();

const streamOf = (store: Store, clock: FakeClock, after = BEGIN): AuditStream =>
  createAuditStream(store, createAuditNews(store, clock), after);

async function inStoreOrder(store: Store): Promise<string[]> {
  const entries = await entriesOf(store, PREFIX);
  return entries
    .toSorted((a, b) => a.revision - b.revision || (a.key < b.key ? -1 : 1))
    .map(({ key }) => key.slice(PREFIX.length));
}

/** Reads until so many entries are there. */
async function readAll(stream: AuditStream, count: number): Promise<StreamedEntry[]> {
  const read: StreamedEntry[] = [];
  await until(async () => {
    read.push(...(await stream.next()));
    return read.length >= count;
  });
  return read;
}

const keysOf = (entries: readonly StreamedEntry[]): readonly string[] => entries.map(({ key }) => key);

onEachStore('the stream of all audits', (stores) => {
  test('has each entry once, in the order of the commits, while several write at once', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    using stream = streamOf(store, clock);
    const read: StreamedEntry[] = [];
    const accounts = [ACCOUNT, OTHER_ACCOUNT, 'c'.repeat(16)];
    let isWritten = false;
    const write = async (accountId: string): Promise<void> => {
      // The instants of their keys go to and fro.
      for (let n = 0; n < 30; n += 1) await writeEntry(store, clock.now() + ((n * 7919) % 9000), accountId);
    };
    const writing = Promise.all(accounts.flatMap((one) => [write(one), write(one)])).finally(() => (isWritten = true));
    await until(async () => {
      read.push(...(await stream.next()));
      return isWritten;
    });
    await writing;
    read.push(...(await readAll(stream, 180 - read.length)));
    expect(keysOf(read)).toEqual(await inStoreOrder(store));
    expect(await stream.next()).toEqual([]);
  });

  test('goes on after any of its entries, also between two of one commit', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const at = clock.now();
    await writeEntries(store, [at + 3, at + 1, at + 2]);
    await writeEntry(store, at - 5000, OTHER_ACCOUNT);
    await writeEntries(store, [at + 2, at + 1], OTHER_ACCOUNT);
    using whole = streamOf(store, clock);
    const read = await readAll(whole, 6);
    expect(keysOf(read)).toEqual(await inStoreOrder(store));
    for (const [index, place] of read.entries()) {
      using rest = streamOf(store, clock, place);
      expect(keysOf(await rest.next())).toEqual(keysOf(read.slice(index + 1)));
    }
  });

  test('reads what is much in portions, and the entries of each in order', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    using stream = streamOf(store, clock);
    const detail = { much: 'x'.repeat(20_000) };
    const bytes = (entries: readonly StreamedEntry[]): number =>
      entries.reduce((sum, { stored }) => sum + stored.value.length, 0);
    for (let n = 0; n < 6; n += 1) {
      const instants = Array.from({ length: 40 }, (_, index) => clock.now() + n * 1000 + index);
      await writeEntries(store, instants, n % 2 === 0 ? ACCOUNT : OTHER_ACCOUNT, { detail });
    }
    // More of one account than is read at once.
    for (let n = 0; n < 11; n += 1) {
      const instants = Array.from({ length: 60 }, (_, index) => clock.now() + 100_000 - n * 1000 + index);
      await writeEntries(store, instants, 'c'.repeat(16));
    }
    const portions: (readonly StreamedEntry[])[] = [];
    await until(async () => {
      portions.push(await stream.next());
      return portions.flat().length >= 900;
    });
    expect(keysOf(portions.flat())).toEqual(await inStoreOrder(store));
    // A portion ends with the commit that goes beyond the bound.
    const most = LIMITS.auditPortionBytesMax + 40 * 21_000;
    expect(portions.map(bytes).filter((size) => size > most)).toEqual([]);
    expect(portions.length).toBeGreaterThanOrEqual(3);
  });

  test('has the entries of a commit for several accounts in one row, also where a portion ends in it', async () => {
    await using store = await stores.open();
    const clock = new FakeClock();
    const detail = { much: 'x'.repeat(5000) };
    const accounts = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => letter.repeat(16));
    for (let n = 0; n < 40; n += 1) {
      const entries = accounts.flatMap((accountId, index) =>
        Array.from({ length: index === 0 ? 30 : 3 }, () => entryAt(clock.now() - n, accountId, { detail })),
      );
      await writeAll(store, entries);
    }
    using stream = streamOf(store, clock);
    expect(keysOf(await readAll(stream, 40 * 48))).toEqual(await inStoreOrder(store));
  });

  test('reads an account again only where a portion may have something of it', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    const detail = { much: 'x'.repeat(40_000) };
    const accounts = Array.from({ length: 60 }, (_, n) => `a${String(n).padStart(15, '0')}`);
    // Each account has its entries in a stretch of its own: 24 MB, six portions.
    for (const accountId of accounts) {
      await writeAll(
        opened,
        Array.from({ length: 10 }, () => entryAt(clock.now(), accountId, { detail })),
      );
    }
    let reads = 0;
    const store = wrappedStore(opened, {
      async list(request) {
        if (request.keysOnly !== true) reads += 1;
        return await opened.list(request);
      },
    });
    using stream = streamOf(store, clock);
    const read = await readAll(stream, 600);
    expect(keysOf(read)).toEqual(await inStoreOrder(opened));
    // All once, and then those of the portion, with those that are under way when it is full.
    expect(reads).toBeLessThan(60 + 60 + 6 * 20);
  });

  test.each([1, 2, 3, 4, 5])('loses nothing where read number %i fails', async (failing) => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    using stream = streamOf(store, clock);
    const read: StreamedEntry[] = [];
    await writeEntry(opened, clock.now());
    await writeEntry(opened, clock.now() - 1000, OTHER_ACCOUNT);
    for (let n = 1; n < failing; n += 1) store.intercept('list', 'before', async () => undefined);
    store.intercept('list', 'before', async () => {
      throw new Error('this read fails');
    });
    let [written, hasFailed] = [2, false];
    await until(async () => {
      if (read.length === written && !hasFailed) {
        await writeEntry(opened, clock.now());
        written += 1;
      }
      const failed = (): [] => {
        hasFailed = true;
        return [];
      };
      read.push(...(await stream.next().catch(failed)));
      return hasFailed && read.length === written;
    });
    expect(keysOf(read)).toEqual(await inStoreOrder(opened));
  });
});

onEachStoreAlone('the stream of all audits while its watch breaks off', (stores) => {
  test.each([
    ['and nothing was compacted', false],
    ['and what it missed is compacted', true],
  ])('%s: what came meanwhile follows', async (_what, compacted) => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    using stream = streamOf(store, clock);
    await writeEntry(opened, clock.now());
    const read = await readAll(stream, 1);
    store.sever();
    await writeEntry(opened, clock.now() - 1000);
    await writeEntry(opened, clock.now() - 2000, OTHER_ACCOUNT);
    const { revision } = await opened.list({ prefix: 'none', limit: 1 });
    if (compacted) await opened.compact(revision);
    await until(async () => {
      // The first call may only learn that the history is gone.
      read.push(...(await stream.next().catch(() => [])));
      return read.length === 3;
    });
    expect(keysOf(read)).toEqual(await inStoreOrder(opened));
  });

  test('the watch is there as long as one follows', async () => {
    await using opened = await stores.open();
    const store = faultyStore(opened);
    const clock = new FakeClock();
    const news = createAuditNews(store, clock);
    const one = createAuditStream(store, news, BEGIN);
    const other = createAuditStream(store, news, BEGIN);
    await Promise.all([one.next(), other.next()]);
    expect(store.watching).toBe(1);
    one[Symbol.dispose]();
    await writeEntry(opened, clock.now());
    expect(await readAll(other, 1)).toHaveLength(1);
    expect(store.watching).toBe(1);
    other[Symbol.dispose]();
    expect(store.watching).toBe(0);
    await expect(other.next()).rejects.toThrow('watch of the audit is closed');
    using third = createAuditStream(store, news, BEGIN);
    expect(await third.next()).toHaveLength(1);
  });
});

onEachStore('a list of an audit in the order of the store', (stores) => {
  test('passes over no entry that is committed between two reads of a page', async () => {
    await using opened = await stores.open();
    const clock = new FakeClock();
    const at = clock.now();
    const prefix = KEYS.audit.under(ACCOUNT);
    await writeEntries(
      opened,
      Array.from({ length: 130 }, (_, n) => at + n),
    );
    const reads = new DuringReads();
    const store = reads.wrapStore(opened);
    let after = (await inStoreOrder(opened))[124]?.split('/')[1];
    // After the read of the cursor's entry and of a first page: an entry before its end, and one that is committed
    // later and is on the second page.
    reads.at(2, async () => {
      await writeEntry(opened, at + 1);
      await writeEntry(opened, at + 5000);
    });
    const listed: string[] = [];
    do {
      const page = await listInOrder(store, prefix, { limit: 20, after });
      listed.push(...page.entries.map(({ key }) => key.slice(PREFIX.length)));
      after = page.next;
    } while (after !== undefined);
    expect(reads.end()).toBe(true);
    expect(listed).toEqual((await inStoreOrder(opened)).slice(125));
  });
});
