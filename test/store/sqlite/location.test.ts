import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test, vi } from 'vitest';
import { expectAbsent, type Change } from '../../../src/store/port.ts';
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { rawKey } from '../../support/store/raw-key.ts';

const root = scratchDirectory('location');
afterAll(() => rmSync(root, { recursive: true }));
afterEach(() => void vi.useRealTimers());

let made = 0;
/** A folder with a link to a file in another one. */
function linked(): { readonly path: string; readonly beside: string; readonly file: string } {
  const [here, there] = [join(root, `here-${(made += 1)}`), join(root, `there-${made}`)];
  mkdirSync(here);
  mkdirSync(there);
  const [path, file] = [join(here, 'muster.db'), join(there, 'real.db')];
  symlinkSync(file, path);
  return { path, beside: here, file };
}

const create = (key: string): Change => ({ expect: [expectAbsent(key)], write: [{ put: rawKey(key), value: 'v' }] });

describe('a store behind a link', () => {
  test('is the file that the link leads to: for the mode, the log and the reserve', async () => {
    const { path, beside, file } = linked();
    writeFileSync(file, '', { mode: 0o644 });
    await using store = await openSqliteStore(path);
    expect(await store.commit(create('k'))).toMatchObject({ outcome: 'committed' });
    expect(readdirSync(beside)).toEqual(['muster.db']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test.each<[string, (place: ReturnType<typeof linked>) => void]>([
    ['its log is removed', ({ file }) => rmSync(`${file}-wal`)],
    ['its file is replaced', ({ file }) => renameSync(`${file}.other`, file)],
    [
      'the link leads to another file',
      ({ path, file }) => {
        rmSync(path);
        symlinkSync(`${file}.other`, path);
      },
    ],
  ])('is not the store any more where %s', async (_what, act) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const place = linked();
    writeFileSync(place.file, '');
    writeFileSync(`${place.file}.other`, '');
    await using store = await openSqliteStore(place.path);
    await store.commit(create('before'));
    act(place);
    await expect(store.commit(create('after'))).rejects.toMatchObject({ reason: 'replaced' });
  });

  test('is refused in words where the link leads to nothing', async () => {
    const { path } = linked();
    await expect(openSqliteStore(path)).rejects.toMatchObject({
      reason: 'failed',
      message: `open: ${path} is a link that leads to no file (ENOENT): remove it, or name the file itself`,
    });
  });
});

test.each(['file:muster.db?mode=memory', 'muster.db', './muster.db', ''])(
  'SQLite is never given %j, which is no path from / on',
  async (path) => {
    await expect(openSqliteStore(path)).rejects.toThrow('open: the path of a store begins with /');
  },
);
