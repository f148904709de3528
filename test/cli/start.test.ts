import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ROOT } from '../support/repository/source-tree.ts';

/* What a start of the command loads, and where it keeps what Node has compiled; `npm run bench:start` has its time. */

const PROGRAM = join(ROOT, 'bin/muster.mjs');

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'muster-home-'));
});
afterEach(() => rmSync(home, { recursive: true }));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const run = (env: Readonly<Record<string, string>>, flags: readonly string[] = [], args = ['--help']): Ended =>
  spawnSync(process.execPath, [...flags, PROGRAM, ...args], { env, encoding: 'utf8' });

const help = { status: 0, stdout: expect.stringMatching(/^Usage: muster /) as string, stderr: '' };
const kept = (...path: string[]): number => readdirSync(join(home, ...path), { recursive: true }).length;

describe('what Node has compiled', () => {
  test('is kept in the cache of the user, who alone may enter it', () => {
    expect(run({ HOME: home })).toMatchObject(help);
    expect(kept('.cache/muster/compile-cache')).toBeGreaterThan(10);
    for (const folder of ['.cache', '.cache/muster', '.cache/muster/compile-cache']) {
      expect(statSync(join(home, folder)).mode & 0o777).toBe(0o700);
    }
    expect(run({ HOME: home })).toMatchObject(help);
  });

  test('is kept where XDG_CACHE_HOME says, unless that is a relative path', () => {
    expect(run({ HOME: home, XDG_CACHE_HOME: join(home, 'elsewhere') })).toMatchObject(help);
    expect(kept('elsewhere/muster/compile-cache')).toBeGreaterThan(10);
    expect(existsSync(join(home, '.cache'))).toBe(false);
    expect(run({ HOME: home, XDG_CACHE_HOME: 'relative' })).toMatchObject(help);
    expect(kept('.cache/muster/compile-cache')).toBeGreaterThan(10);
  });

  test('is kept where NODE_COMPILE_CACHE says, and with NODE_DISABLE_COMPILE_CACHE nowhere', () => {
    expect(run({ HOME: home, NODE_COMPILE_CACHE: join(home, 'of-node') })).toMatchObject(help);
    expect(kept('of-node')).toBeGreaterThan(10);
    expect(run({ HOME: home, NODE_DISABLE_COMPILE_CACHE: '1' })).toMatchObject(help);
    expect(existsSync(join(home, '.cache'))).toBe(false);
  });

  test.each([
    ['a home into which others may write', () => chmodSync(home, 0o777)],
    ['a cache into which others may write', () => open('.cache/muster/compile-cache')],
    ['a cache into which the group may write', () => open('.cache', 0o770)],
  ])('is not kept in %s: they could put code there', (_, make) => {
    make();
    expect(run({ HOME: home })).toMatchObject(help);
    expect(readdirSync(home, { recursive: true }).filter((path) => /-x64-|-arm64-/.test(String(path)))).toEqual([]);
  });

  test.each([
    ['no folder', () => join(home, 'file')],
    ['below no folder', () => join(home, 'file', 'home')],
    // Nobody may make a folder there.
    ['read-only', () => '/proc'],
  ])('is not needed: a home that is %s', (_, where) => {
    writeFileSync(join(home, 'file'), '');
    expect(run({ HOME: where() })).toMatchObject(help);
  });

  const open = (path: string, mode = 0o777): void => {
    mkdirSync(join(home, path), { recursive: true, mode: 0o700 });
    chmodSync(join(home, path), mode);
  };
});

/** Prints each module that is loaded. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load(url, context, next) { writeSync(2, url + '\\n'); return next(url, context); } });
`)}`;

test('help, a version and wrong usage load commander and the declarations, and nothing of what commands do', () => {
  for (const args of [['--help'], ['usage', '--help'], ['--version'], ['nonsense']]) {
    const { stderr } = run({ HOME: home }, ['--import', LISTING], args);
    const loaded = stderr.split('\n').filter((line) => line.startsWith('file:'));
    const others = loaded.filter(
      (url) =>
        !/\/node_modules\/commander\/|\/bin\/|\/src\/(?:version|time\/(?:clock|duration)|cli\/[^/]+|cli\/declarations\/[^/]+)\.ts$/.test(
          url,
        ),
    );
    // Node strips the types of each file at each start: a few small ones are cheap, zod and the domain are not.
    expect(
      others
        .map((url) => url.split('/src/').at(-1) ?? '')
        .toSorted((one, other) => (one ?? '').localeCompare(other ?? '')),
    ).toEqual([
      'cli/output/manifests.ts',
      'cli/terminal/exit-codes.ts',
      'cli/terminal/globals.ts',
      'cli/terminal/invocation.ts',
      'cli/terminal/moment.ts',
      'cli/terminal/printable.ts',
      'cli/terminal/terminal.ts',
      'domain/records/key-access.ts',
      'service/start-deadline.ts',
      'time/rfc3339.ts',
      'time/utc-days.ts',
    ]);
  }
});
