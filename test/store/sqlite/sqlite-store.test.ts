import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { expectRevision } from '../../../src/store/entry.ts';
import { expectAbsent, type Store } from '../../../src/store/port.ts';
import { openSqliteStore, type SqliteOptions } from '../../../src/store/sqlite/sqlite-store.ts';
import { runs } from '../../support/run/effort.ts';
import { storeConformance, type StoreUnderTest, type Unkept } from '../conformance/conformance.ts';
import {
  absent,
  committed,
  everything,
  inParallel,
  put,
  remove,
  removeAll,
  writes,
  writing,
} from '../conformance/harness.ts';
import { record, Recorder } from '../conformance/recorder.ts';

const NO_STREAM = 'a watch within the process has no stream that could break';
const ONE_PROCESS = 'one process holds the file for itself';
const UNKEPT: Unkept = {
  'nothing is lost or repeated when a watch is severed and resumed under concurrent writers': NO_STREAM,
  'a severed watch ends as disconnected, and only then': NO_STREAM,
  'what one handle committed, another sees at once': ONE_PROCESS,
  'what one handle holds is taken for another': ONE_PROCESS,
};
const NOTHING_TO_REOPEN = 'it ends with its disposal';

async function openInMemory(): Promise<StoreUnderTest> {
  const store = await openSqliteStore(':memory:');
  return { store, [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose]() };
}

async function openOnDisk(): Promise<StoreUnderTest> {
  const directory = await temporaryDirectory();
  let store = await openSqliteStore(directory.file);
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await openSqliteStore(directory.file);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await directory[Symbol.asyncDispose]();
    },
  };
}

storeConformance('sqlite on disk', openOnDisk, UNKEPT);
storeConformance('sqlite in memory', openInMemory, {
  ...UNKEPT,
  'what was committed is there after a reopening, and revisions go on growing': NOTHING_TO_REOPEN,
  'a watch goes on from the newest revision after a reopening': NOTHING_TO_REOPEN,
  'a store that is closed ends its holds, and tells the holders': NOTHING_TO_REOPEN,
});

interface TemporaryDirectory extends AsyncDisposable {
  readonly path: string;
  readonly file: string;
}

async function temporaryDirectory(): Promise<TemporaryDirectory> {
  const path = await mkdtemp(join(tmpdir(), 'muster-sqlite-'));
  return {
    path,
    file: join(path, 'store.db'),
    [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true }),
  };
}

/** Every byte of every file beside the store, one character each. */
async function rawBytes(directory: TemporaryDirectory): Promise<string> {
  const names = await readdir(directory.path);
  const files = await Promise.all(names.map(async (name) => readFile(join(directory.path, name), 'latin1')));
  return files.join('\n');
}

describe('the file', () => {
  test('only its owner may read it, the log beside it included', async () => {
    await using directory = await temporaryDirectory();
    await writeFile(directory.file, '', { mode: 0o644 });
    await chmod(directory.file, 0o644);
    await using store = await openSqliteStore(directory.file);
    await writes(store, put('t/a'));
    const names = await readdir(directory.path);
    expect(names.toSorted()).toEqual(['store.db', 'store.db-reserve', 'store.db-wal']);
    const modes = await Promise.all(names.map(async (name) => (await stat(join(directory.path, name))).mode & 0o777));
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });

  test('a second opener is refused in words, in this process and in another, and harms nothing', async () => {
    await using directory = await temporaryDirectory();
    await using store = await openSqliteStore(directory.file);
    await writes(store, put('t/a'));
    const other = spawn(process.execPath, [COMMIT_LOOP, directory.file], { stdio: ['ignore', 'pipe', 'pipe'] });
    const said = await Promise.all([other.stdout.toArray(), other.stderr.toArray(), once(other, 'exit')]);
    expect(said[0].join('')).toBe('');
    expect(said[1].join('')).toContain(`the store ${directory.file} is in use by another process`);
    await expect(openSqliteStore(directory.file)).rejects.toMatchObject({
      reason: 'refused',
      message: `the store ${directory.file} is in use by another process`,
    });
    await writes(store, put('t/b'));
    expect(await everything(store, 't/')).toHaveLength(2);
  });

  test('what is not a store, and where none can be, is refused in words', async () => {
    await using directory = await temporaryDirectory();
    await writeFile(directory.file, 'no database '.repeat(500));
    await expect(openSqliteStore(directory.file)).rejects.toMatchObject({
      reason: 'refused',
      message: `${directory.file} is no SQLite file, and is left as it is: set MUSTER_STORE to another path`,
    });
    const nowhere = join(directory.path, 'none', 'store.db');
    await expect(openSqliteStore(nowhere)).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'failed' });
  });
});

describe('commits of one turn', () => {
  test('share a disk transaction, each with a revision of its own, and are watched as one batch', async () => {
    await using store = await openSqliteStore(':memory:');
    const start = await writes(store, put('t/a'));
    using recording = await record(store, 't/', start + 1);
    const revisions = await inParallel(20, async (index) => writes(store, put(`t/${index}`)));
    expect(revisions).toEqual(revisions.map((_, index) => start + 1 + index));
    expect(recording.recorder.batches.map(({ revision }) => revision)).toEqual([start + 20]);
  });

  test('see what the earlier ones of the turn left', async () => {
    await using store = await openSqliteStore(':memory:');
    const chain = await Promise.all([
      store.commit({ expect: [absent('t/a')], write: [put('t/a', 'first')] }),
      store.commit({ expect: [expectRevision('t/a', 1)], write: [put('t/a', 'second'), put('t/b')] }),
      store.commit({ expect: [expectRevision('d/head', 2)], write: [removeAll('t/b')] }),
      store.commit({ expect: [absent('t/b')], write: [put('t/b', 'again')] }),
      store.commit({ expect: [absent('d/head')], write: [put('t/never')] }),
    ]);
    expect(chain.map((result) => (result.outcome === 'committed' ? result.revision : result.outcome))).toEqual([
      1,
      2,
      3,
      4,
      'conflict',
    ]);
    expect((await everything(store, 't/')).map(({ value }) => value)).toEqual(['second', 'again']);
  });

  test('reach the watches before they are answered', async () => {
    await using store = await openSqliteStore(':memory:');
    using recording = await record(store, 't/', 1);
    const watched: (number | undefined)[] = [];
    await inParallel(5, async (index) => {
      const revision = await writes(store, put(`t/${index}`));
      watched.push(recording.recorder.changes.find((change) => change.revision === revision)?.revision);
    });
    expect(watched).toEqual([1, 2, 3, 4, 5]);
  });

  test('are divided into transactions of at most 512 commits and about 4 MiB', async () => {
    await using store = await openSqliteStore(':memory:');
    using recording = await record(store, 't/', 1);
    const { batches } = recording.recorder;
    await inParallel(1200, async (index) => writes(store, put(`t/${index}`)));
    expect(batches.map(({ changes }) => changes.length)).toEqual([512, 512, 176]);
    const large = 'x'.repeat(1_500_000);
    await inParallel(5, async (index) => writes(store, put(`t/${index}`, large)));
    await writes(store, put('t/larger', large.repeat(4)), put('t/small'));
    expect(batches.slice(3).map(({ changes }) => changes.length)).toEqual([2, 2, 1, 2]);
  });

  test('fail together when one cannot even be tried, and the store goes on', async () => {
    await using store = await openSqliteStore(':memory:');
    // SQLite rolls some errors back by itself; one that it never saw, like this, it does not.
    const untyped = expectAbsent(undefined as unknown as string);
    const failed = [store.commit(writing(put('t/a'))), store.commit({ expect: [untyped], write: [put('t/b')] })];
    const refusal = { name: 'StoreUnavailable', reason: 'failed' };
    await Promise.all(failed.map(async (commit) => expect(commit).rejects.toMatchObject(refusal)));
    const revision = await writes(store, put('t/c'));
    expect(await everything(store, 't/')).toEqual([{ key: 't/c', value: 'v', revision }]);
  });

  test('are all written before the store closes, however many', async () => {
    await using directory = await temporaryDirectory();
    const store = await openSqliteStore(directory.file);
    const pending = inParallel(1500, async (index) => writes(store, put(`t/${index}`)));
    await store[Symbol.asyncDispose]();
    expect(await pending).toHaveLength(1500);
    await using reopened = await openSqliteStore(directory.file);
    expect(await everything(reopened, 't/')).toHaveLength(1500);
  });
});

describe('history', () => {
  const listAll = { prefix: 't/', limit: 10 };

  async function storeWithHistory(options: SqliteOptions): Promise<{ store: Store; revisions: number[] }> {
    const store = await openSqliteStore(':memory:', options);
    const revisions: number[] = [];
    for (let index = 0; index < 200; index += 1) revisions.push(await writes(store, put('t/a', `${index}`)));
    return { store, revisions };
  }

  test('is bounded by its size: the newest is remembered, the rest compacted', async () => {
    const { store, revisions } = await storeWithHistory({ historyBytesMax: 20_000 });
    await using _ = store;
    const pages = await Promise.all(revisions.map(async (revision) => store.listAt(listAll, revision)));
    const remembered = pages.findIndex((page) => page !== 'compacted');
    expect(remembered).toBeGreaterThan(100);
    expect(remembered).toBeLessThan(190);
    expect(pages.slice(remembered).map((page) => page !== 'compacted' && page.entries[0]?.value)).toEqual(
      revisions.map((_, index) => `${index}`).slice(remembered),
    );
    const forgotten = new Recorder();
    store.watch('t/', revisions[remembered] ?? 0, forgotten);
    await forgotten.untilEnd();
    expect(forgotten.ends).toEqual(['compacted']);
    using recording = await record(store, 't/', revisions[remembered + 1] ?? 0);
    await recording.recorder.untilChanges(199 - remembered);
  });

  test('a change larger than all of history is seen by the watch that is open', async () => {
    const { store } = await storeWithHistory({ historyBytesMax: 5000 });
    await using _ = store;
    using recording = await record(store, 't/', 201);
    await writes(store, put('t/a', 'x'.repeat(10_000)));
    expect(recording.recorder.changes).toHaveLength(1);
    expect(await store.headAt(201)).toEqual(await store.head());
    expect(await store.headAt(200)).toBe('compacted');
  });

  test('begins anew with each opening', async () => {
    await using directory = await temporaryDirectory();
    const before = await openSqliteStore(directory.file);
    const first = await writes(before, put('t/a'));
    const last = await writes(before, put('t/b'));
    await before[Symbol.asyncDispose]();
    await using store = await openSqliteStore(directory.file);
    expect(await store.listAt(listAll, first)).toBe('compacted');
    expect(await store.headAt(first)).toBe('compacted');
    expect(await store.listAt(listAll, last)).toEqual(await store.list(listAll));
    expect(await store.headAt(last)).toEqual(await store.head());
    const tooOld = new Recorder();
    store.watch('t/', last, tooOld);
    await tooOld.untilEnd();
    expect(tooOld.ends).toEqual(['compacted']);
  });
});

describe('a full store', () => {
  const BYTES_MAX = 1024 * 1024;

  async function fill(store: Store): Promise<number> {
    for (let count = 0; ; count += 1) {
      const result = await store.commit(writing(put(`t/${count}`, 'x'.repeat(10_000)))).catch((err: unknown) => err);
      if (!(result instanceof Error)) continue;
      expect(result).toMatchObject({ name: 'StoreUnavailable', reason: 'full' });
      return count;
    }
  }

  test('refuses what does not fit, keeps the rest, and goes on when there is room', async () => {
    await using directory = await temporaryDirectory();
    await using store = await openSqliteStore(directory.file, { bytesMax: BYTES_MAX });
    const count = await fill(store);
    expect(store.fullness()).toBeGreaterThan(0.95);
    expect(await everything(store, 't/')).toHaveLength(count);
    await writes(store, removeAll('t/1'));
    expect(store.fullness()).toBeLessThan(0.95);
    await writes(store, put('t/1', 'x'.repeat(10_000)));
  });

  test('fails every commit of the transaction, and none of them leaves a trace', async () => {
    await using store = await openSqliteStore(':memory:', { bytesMax: BYTES_MAX });
    const count = await fill(store);
    const before = { head: await store.head(), entries: await everything(store, '') };
    using recording = await record(store, 't/', (await store.list({ prefix: '', limit: 1 })).revision + 1);
    const small = Array.from({ length: 4 }, async (_, index) => store.commit(writing(put(`t/small${index}`))));
    const large = store.commit(writing(put('t/large', 'x'.repeat(100_000))));
    const refusal = { name: 'StoreUnavailable', reason: 'full' };
    await Promise.all([...small, large].map(async (commit) => expect(commit).rejects.toMatchObject(refusal)));
    expect({ head: await store.head(), entries: await everything(store, '') }).toEqual(before);
    const next = await writes(store, remove(`t/${count - 1}`));
    expect(recording.recorder.changes).toEqual([{ key: `t/${count - 1}`, revision: next, value: undefined }]);
  });

  test('where no bound is set, fullness is not told', async () => {
    await using store = await openSqliteStore(':memory:');
    await writes(store, put('t/a'));
    expect(store.fullness()).toBeNaN();
  });
});

describe('what was removed or overwritten', () => {
  /** `;<16 hex digits>;<16 hex digits>;…`: a remainder, wherever it was cut, still has pieces unlike any other. */
  function valueOf(seed: number, index: number, lines: number): string {
    const digits = Array.from({ length: lines }, (_, line) => hash('sha512', `${seed}/${index}/${line}`, 'hex'));
    return digits.join('').replaceAll(/.{16}/g, ';$&').concat(';');
  }

  const piecesOf = (text: string): string[] => text.match(/[0-9a-f]{16}/g) ?? [];

  async function expectForgotten(
    directory: TemporaryDirectory,
    gone: readonly string[],
    kept: readonly string[],
  ): Promise<void> {
    const found = new Set(piecesOf(await rawBytes(directory)));
    expect(gone.flatMap(piecesOf).filter((piece) => found.has(piece))).toEqual([]);
    // The search itself works: what is still there is found, save where an overflow page begins within a piece.
    const pieces = kept.flatMap(piecesOf);
    expect(pieces.filter((piece) => found.has(piece)).length).toBeGreaterThanOrEqual(pieces.length * 0.98);
  }

  test('is nowhere in the files after a compaction, whatever was moved about', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer(), async (seed) => {
        await using directory = await temporaryDirectory();
        await using store = await openSqliteStore(directory.file);
        const { gone, kept } = await shuffle(store, seed);
        await store.compact((await store.head()).revision);
        await expectForgotten(directory, gone, kept);
      }),
      { numRuns: runs(1) },
    );
  });

  /** Values from empty to several pages, written, overwritten and removed at random. */
  async function shuffle(store: Store, seed: number): Promise<{ gone: string[]; kept: string[] }> {
    const live = new Map<string, string>();
    const gone: string[] = [];
    const random = (index: number, below: number) =>
      Number.parseInt(hash('sha256', `${seed}#${index}#${below}`, 'hex').slice(0, 8), 16) % below;
    await inParallel(4000, async (index) => {
      const key = `t/${random(index, 400)}`;
      const previous = live.get(key);
      if (previous !== undefined) gone.push(previous);
      if (previous !== undefined && random(index, 3) === 0) {
        live.delete(key);
        return writes(store, remove(key));
      }
      const value = valueOf(seed, index, [0, 1, 2, 6, 20, 100][random(index, 6)] ?? 0);
      live.set(key, value);
      return writes(store, put(key, value));
    });
    return { gone, kept: [...live.values()] };
  }

  /**
   * Values grow where they lie, so that pages split and the cells beside them move: found by trial to leave dozens of
   * copies behind that secure_delete does not reach, and that are no longer live once those neighbours are removed.
   */
  async function splitPages(store: Store): Promise<{ gone: string[]; kept: string[] }> {
    const numbers = Array.from({ length: 2000 }, (_, index) => index);
    const [grown, beside] = [numbers.filter((n) => n % 5 === 0), numbers.filter((n) => n % 5 !== 0 && n % 2 !== 0)];
    const small = numbers.map((n) => valueOf(1, n, 2));
    await inParallel(2000, async (n) => writes(store, put(`t/${n}`, small[n])));
    await Promise.all(grown.map(async (n) => writes(store, put(`t/${n}`, valueOf(2, n, 5)))));
    await Promise.all(beside.map(async (n) => writes(store, remove(`t/${n}`))));
    const gone = small.filter((_, n) => n % 5 === 0 || n % 2 !== 0);
    return { gone, kept: (await everything(store, 't/')).map(({ value }) => value) };
  }

  test('is nowhere either where splitting a page had left a copy behind', async () => {
    await using directory = await temporaryDirectory();
    await using store = await openSqliteStore(directory.file);
    const { gone, kept } = await splitPages(store);
    await store.compact((await store.head()).revision);
    await expectForgotten(directory, gone, kept);
  });

  test('is gone from the pages it filled as soon as they are written back, compaction or not', async () => {
    await using directory = await temporaryDirectory();
    const value = valueOf(3, 0, 500);
    const store = await openSqliteStore(directory.file);
    await writes(store, put('t/a', value), put('t/b', 'kept'));
    await writes(store, remove('t/a'));
    await store[Symbol.asyncDispose]();
    expect((await readdir(directory.path)).toSorted()).toEqual(['store.db', 'store.db-reserve']);
    await expectForgotten(directory, [value], []);
  });

  test('is forgotten also when the process that removed it ended before it could compact', async () => {
    await using directory = await temporaryDirectory();
    const before = await openSqliteStore(directory.file);
    const { gone, kept } = await splitPages(before);
    await before[Symbol.asyncDispose]();
    await using store = await openSqliteStore(directory.file);
    await store.compact((await store.head()).revision);
    await expectForgotten(directory, gone, kept);
  });
});

const COMMIT_LOOP = join(import.meta.dirname, 'fixtures', 'commit-loop.ts');

describe('a process killed in the middle', () => {
  /** Lets the process commit until so many commits are acknowledged, kills it, and returns all it acknowledged. */
  async function acknowledgedBeforeKill(path: string, first: number, count: number): Promise<number[]> {
    const child = spawn(process.execPath, [COMMIT_LOOP, path, `${first}`], { stdio: ['ignore', 'pipe', 'inherit'] });
    const acknowledged: number[] = [];
    for await (const line of createInterface(child.stdout)) {
      acknowledged.push(Number(line));
      if (acknowledged.length === count) child.kill('SIGKILL');
    }
    return acknowledged;
  }

  async function expectWholePairs(store: Store, acknowledged: readonly number[]): Promise<number> {
    const [a, b] = [await everything(store, 'a/'), await everything(store, 'b/')];
    expect(b.map(({ value, revision }) => ({ value, revision }))).toEqual(
      a.map(({ value, revision }) => ({ value, revision })),
    );
    const there = new Set<string>(a.map(({ key, value }) => (value.startsWith(`${key.slice(2)}:`) ? key : 'torn')));
    expect(acknowledged.filter((n) => !there.has(`a/${n}`))).toEqual([]);
    expect((await store.get('counter'))?.revision).toBe(Math.max(...a.map(({ revision }) => revision)));
    return a.length;
  }

  test('loses nothing it acknowledged, and leaves nothing half-written', async () => {
    await using directory = await temporaryDirectory();
    const acknowledged: number[] = [];
    for (const [round, count] of [1, 50, 800].entries()) {
      acknowledged.push(...(await acknowledgedBeforeKill(directory.file, round * 1_000_000, count)));
      await using store = await openSqliteStore(directory.file);
      expect(await expectWholePairs(store, acknowledged)).toBeGreaterThanOrEqual(acknowledged.length);
      await committed(store.commit({ expect: [absent('t/never')], write: [put(`t/${round}`)] }));
    }
  });
});
