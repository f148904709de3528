import { createHash } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

/* What is installed is what this repository names: each package by its checksum, and the Node that all runs on. */

const ROOT = resolve(import.meta.dirname, '../..');
const entry = z.looseObject({
  version: z.string(),
  integrity: z.string().optional(),
  optional: z.boolean().optional(),
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
  const others = Object.entries(packages).filter(([place]) => place !== '');

  test('has the checksum of every package, but for the lint tools of other platforms', () => {
    expect(others.length).toBeGreaterThan(200);
    const without = others.filter(([, { integrity }]) => !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''));
    expect(without.filter(([place]) => !WITHOUT_CHECKSUM.test(place)).map(([place]) => place)).toEqual([]);
    expect(without.filter(([, { optional }]) => optional !== true).map(([place]) => place)).toEqual([]);
  });

  test('leaves out no checksum of what is there on this project’s own platforms', () => {
    for (const name of ['binding-linux-x64-gnu', 'binding-linux-arm64-gnu']) {
      expect(WITHOUT_CHECKSUM.test(`node_modules/@oxlint/${name}`)).toBe(false);
    }
    expect(WITHOUT_CHECKSUM.test('node_modules/@oxlint/binding-darwin-arm64')).toBe(true);
    expect(WITHOUT_CHECKSUM.test('node_modules/express')).toBe(false);
  });
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
});
