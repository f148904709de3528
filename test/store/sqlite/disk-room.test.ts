import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { StoreUnavailable } from '../../../src/store/port.ts';
import { Database } from '../../../src/store/sqlite/database.ts';
import { DiskRoom } from '../../../src/store/sqlite/disk-room.ts';
import { FileWatch } from '../../../src/store/sqlite/file-watch.ts';

/* The trouble of a commit is judged outside of any call: whatever the disk answers then, the process goes on. */

let directory: string;
let opened: DisposableStack;
let room: DiskRoom;
beforeEach(() => {
  opened = new DisposableStack();
  directory = opened.adopt(mkdtempSync(join(tmpdir(), 'muster-room-')), (path) => {
    rmSync(path, { recursive: true, force: true });
  });
  const path = join(directory, 'muster.db');
  const database = opened.adopt(new Database(path, undefined, false), (one) => one.close());
  const file = opened.adopt(new FileWatch(path), (one) => one.close());
  room = opened.use(new DiskRoom(path, database, file));
});
afterEach(() => opened[Symbol.dispose]());

test('a reserve that cannot be given up leaves the disk full', () => {
  const reserve = join(directory, 'muster.db-reserve');
  rmSync(reserve);
  mkdirSync(reserve);
  expect(room.full(new StoreUnavailable('full', 'commit: the disk is full'), true).reason).toBe('full');
});

test('a disk that does not tell its room is not called full', () => {
  rmSync(directory, { recursive: true });
  const trouble = new StoreUnavailable('failed', 'commit: disk I/O error');
  expect(room.full(trouble, true)).toBe(trouble);
});
