import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

/* What is installed is what this repository names: each package by its checksum, and the Node that all runs on. */

const ROOT = resolve(import.meta.dirname, '../..');
const entry = z.looseObject({
  version: z.string(),
  integrity: z.string().optional(),
  optional: z.boolean().optional(),
  dev: z.boolean().optional(),
  link: z.boolean().optional(),
});
const { packages } = z
  .looseObject({ packages: z.record(z.string(), entry.partial({ version: true })) })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')));

/**
 * The lint tools for other platforms than 64-bit Linux with glibc, in versions that the registry did not serve when the
 * lock was made: `node scripts/complete-lock.mjs` completes them where it does. Nothing of the product depends on them.
 */
const WITHOUT_CHECKSUM = /^node_modules\/@oxlint(?:-tsgolint)?\/(?!.*linux-(?:x64|arm64)(?:-gnu)?$)/;

describe('package-lock.json', () => {
  // The root and the workspaces lie in this repository; a workspace has a link in node_modules.
  const isFetched = ([place, { link }]: [string, { link?: boolean | undefined }]): boolean =>
    place.startsWith('node_modules/') && link !== true;
  const others = Object.entries(packages).filter(isFetched);

  test('has the checksum of every package, but for the lint tools of other platforms', () => {
    expect(others.length).toBeGreaterThan(200);
    const without = others.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
    expect(without.filter(([place]) => !WITHOUT_CHECKSUM.test(place)).map(([place]) => place)).toEqual([]);
    expect(without.filter(([, { optional }]) => optional !== true).map(([place]) => place)).toEqual([]);
  });

  test('links the workspaces of this repository, and nothing else', () => {
    const links = Object.entries(packages).filter(([, { link }]) => link === true);
    expect(links.map(([place, { resolved }]) => `${place} → ${String(resolved)}`)).toEqual([
      'node_modules/@muster/client → clients/typescript',
    ]);
  });

  test('leaves out no checksum of what is there on this project’s own platforms', () => {
    for (const name of ['binding-linux-x64-gnu', 'binding-linux-arm64-gnu']) {
      expect(WITHOUT_CHECKSUM.test(`node_modules/@oxlint/${name}`)).toBe(false);
    }
    expect(WITHOUT_CHECKSUM.test('node_modules/@oxlint/binding-darwin-arm64')).toBe(true);
    expect(WITHOUT_CHECKSUM.test('node_modules/express')).toBe(false);
  });
});

const { scripts, allowScripts, scarfSettings } = z
  .looseObject({
    scripts: z.record(z.string(), z.string()),
    allowScripts: z.record(z.string(), z.boolean()),
    scarfSettings: z.object({ enabled: z.boolean() }),
  })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

test('an installation runs no script but that of Node, and tells nobody of itself', () => {
  const scripted = Object.entries(packages).filter(
    ([place, entry]) => place !== '' && entry['hasInstallScript'] === true,
  );
  const names = scripted.map(([place]) => place.split('node_modules/').at(-1) ?? '');
  expect(Object.fromEntries(names.map((name) => [name, allowScripts[name]]))).toEqual({
    '@scarf/scarf': false,
    node: true,
    protobufjs: false,
  });
  // Of what the product brings: it shows a warning where it is asked for by a range, and nothing more.
  expect(scripted.flatMap(([place, { dev }]) => (dev === true ? [] : [place]))).toEqual(['node_modules/protobufjs']);
  // An npm without `allowScripts` runs them all.
  expect(scarfSettings.enabled).toBe(false);
});

interface Checksums {
  readonly version: string;
  readonly sha256: Readonly<Record<string, string>>;
}
interface Checker {
  readonly checksums: () => Checksums;
  readonly nodeFault: (
    binary: string,
    platform?: string,
    known?: Checksums,
  ) => { isKnown: boolean; says: string } | undefined;
}
// A script of plain JavaScript, which the machine's own Node runs before anything is installed.
const script: string = '../../scripts/node-checksum.mjs';
const { checksums, nodeFault } = (await import(script)) as Checker;

describe('the Node that npm installs', () => {
  const root = scratchDirectory('node');
  afterAll(() => rmSync(root, { recursive: true }));

  test('has checksums for the version of the lock file', () => {
    const { version, sha256 } = checksums();
    expect(version).toBe(packages['node_modules/node']?.version);
    expect(Object.keys(sha256)).toEqual(expect.arrayContaining(['linux-x64', 'linux-arm64']));
    for (const digest of Object.values(sha256)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
  });

  test('is the one whose checksum is here, or is refused; a platform without one is told of', () => {
    const binary = join(root, 'node');
    writeFileSync(binary, 'x'.repeat(5_000_000));
    const known = {
      version: '1.2.3',
      sha256: { here: createHash('sha256').update('x'.repeat(5_000_000)).digest('hex') },
    };
    expect(nodeFault(binary, 'here', known)).toBeUndefined();
    expect(nodeFault(binary, 'there', known)).toEqual({
      isKnown: false,
      says: 'Node 1.2.3 is not verified: scripts/node-checksums.json lacks there.',
    });
    writeFileSync(binary, `${'x'.repeat(4_999_999)}y`);
    const fault = nodeFault(binary, 'here', known);
    expect(fault).toMatchObject({ isKnown: true, says: expect.stringContaining('is not the Node 1.2.3') as string });
  });

  test.each(['postinstall', 'prestart'])(
    'is not run before it was compared, not even by `npm run %s`, whose path it leads',
    (name) => {
      const project = join(root, name);
      const bin = join(project, 'node_modules/node/bin');
      const [binary, traces] = [join(bin, 'node'), join(project, 'traces')];
      for (const folder of [bin, join(project, 'node_modules/.bin'), join(project, 'scripts')]) {
        mkdirSync(folder, { recursive: true });
      }
      for (const file of ['install.mjs', 'verify-node.mjs', 'node-checksum.mjs']) {
        cpSync(join(ROOT, 'scripts', file), join(project, 'scripts', file));
      }
      const sha256 = { [`${process.platform}-${process.arch}`]: '0'.repeat(64) };
      writeFileSync(join(project, 'scripts/node-checksums.json'), JSON.stringify({ version: '1.2.3', sha256 }));
      writeFileSync(
        join(project, 'package.json'),
        JSON.stringify({ type: 'module', scripts: { [name]: scripts[name] } }),
      );
      for (const lock of ['package-lock.json', 'node_modules/.package-lock.json']) {
        writeFileSync(join(project, lock), '{"packages":{}}');
      }
      writeFileSync(binary, `#!/bin/sh\ntouch '${traces}'\n`, { mode: 0o755 });
      symlinkSync(binary, join(project, 'node_modules/.bin/node'));

      const { status, stderr } = spawnSync('npm', ['run', name], { cwd: project, encoding: 'utf8', env: outside() });
      expect(existsSync(traces)).toBe(false);
      expect(stderr).toContain('is not the Node');
      expect(status).not.toBe(0);
      expect(existsSync(binary)).toBe(false);
    },
  );

  test('is compared before every script that something runs before', () => {
    const before = Object.entries(scripts).filter(([name]) => name.startsWith('pre'));
    expect(before.length).toBeGreaterThan(10);
    expect(new Set(before.map(([, command]) => command))).toEqual(
      new Set(['"$npm_node_execpath" scripts/install.mjs']),
    );
  });
});

/** The environment of a person's shell, and not that of the script of npm that runs these tests. */
function outside(): NodeJS.ProcessEnv {
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const own = Object.entries(process.env).filter(([name]) => !/^npm_|^NODE/.test(name));
  return { ...Object.fromEntries(own), PATH: path.join(delimiter) };
}
