import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { storeConformance, type StoreUnderTest, type Unkept } from './conformance.ts';

const NO_STREAM = 'a watch within the process has no stream that could break';
const UNKEPT: Unkept = {
  'nothing is lost or repeated when a watch is severed and resumed under concurrent writers': NO_STREAM,
  'a severed watch ends as disconnected, and only then': NO_STREAM,
  'what one handle committed, another sees at once': 'one process holds the file for itself',
};
const NOTHING_TO_REOPEN = 'it ends with its disposal';

async function openInMemory(): Promise<StoreUnderTest> {
  const store = await openSqliteStore(':memory:');
  return { store, [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose]() };
}

async function openOnDisk(): Promise<StoreUnderTest> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-sqlite-'));
  const path = join(directory, 'store.db');
  let store = await openSqliteStore(path);
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]();
      store = await openSqliteStore(path);
      return store;
    },
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

storeConformance('sqlite on disk', openOnDisk, UNKEPT);
storeConformance('sqlite in memory', openInMemory, {
  ...UNKEPT,
  'what was committed is there after a reopening, and revisions go on growing': NOTHING_TO_REOPEN,
  'a watch goes on from the newest revision after a reopening': NOTHING_TO_REOPEN,
});
