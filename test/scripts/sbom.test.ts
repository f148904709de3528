import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { imageBom, packageBom, parseBom, SHIPPED } from '../../scripts/sbom.ts';
import { shrinkwrap } from '../../scripts/shrinkwrap.ts';
import { ROOT } from '../support/repository/source-tree.ts';
import { scratchDirectory } from '../support/run/scratch-directory.ts';

/* The bills of materials of the package and of the image. */

const folder = scratchDirectory('sbom');
afterAll(() => rmSync(folder, { recursive: true }));

const lockText = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
const entries = z.record(
  z.string(),
  z.looseObject({ version: z.string(), integrity: z.string().optional() }).partial(),
);
const packagesOf = (lock: unknown) => z.looseObject({ packages: entries }).parse(lock).packages;

/** The manifest of a package with these dependencies. */
const manifest = (dependencies: Readonly<Record<string, string>>) => ({
  name: '@muster/muster',
  version: '1.2.3',
  engines: { node: '>=24' },
  bin: { muster: 'bin/muster.mjs' },
  dependencies,
});

describe('the lock that the package carries', () => {
  test('has what the product needs, each by its checksum, and nothing of development', () => {
    const carried = Object.entries(packagesOf(shrinkwrap(lockText, manifest({})))).filter(([place]) => place !== '');
    expect(carried.length).toBeGreaterThan(100);
    for (const [place, { integrity }] of carried)
      expect([place, integrity]).toEqual([place, expect.stringMatching(/^sha512-/) as string]);
    const places = carried.map(([place]) => place);
    expect(places).toContain('node_modules/express');
    expect(places).not.toContain('node_modules/vitest');
    expect(places).not.toContain('node_modules/@scarf/scarf');
  });

  test('is refused where a dependency has no checksum', () => {
    const lock = JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } });
    expect(() => shrinkwrap(lock, manifest({}))).toThrow('package-lock.json has no checksum of node_modules/a.');
  });
});

describe('the bill of materials', () => {
  const { dependencies } = z
    .looseObject({ dependencies: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
  const carried = shrinkwrap(lockText, manifest(dependencies));
  mkdirSync(join(folder, 'staged'));
  writeFileSync(join(folder, 'staged/package.json'), JSON.stringify(manifest(dependencies)));
  writeFileSync(join(folder, 'staged/npm-shrinkwrap.json'), JSON.stringify(carried));
  const bill = packageBom(join(folder, 'staged'), lockText);

  test('of the package has each package that it brings, and each whose files the build takes in', () => {
    // By its reference: npm's name is the alias under which a package is installed.
    const named = bill.components.map((one) => one['bom-ref'].replace(/@([^@]*)$/, ' $1'));
    for (const [place, { version }] of Object.entries(packagesOf(carried))) {
      const name = place === 'node_modules/prom-client' ? '@prometheus-io/client' : place.split('node_modules/').at(-1);
      if (place !== '') expect(named).toContain(`${name} ${version}`);
    }
    expect(bill.metadata.component).toMatchObject({ name: '@muster/muster', version: '1.2.3' });
    const own = bill.dependencies.find(({ ref }) => ref === '@muster/muster@1.2.3');
    for (const name of SHIPPED) {
      const version = packagesOf(JSON.parse(lockText))[`node_modules/${name}`]?.version;
      expect([named.includes(`${name} ${version}`), own?.dependsOn]).toEqual([
        true,
        expect.arrayContaining([`${name}@${version}`]),
      ]);
    }
    expect(named.filter((one) => /^(?:vitest|vite|@scarf\/scarf) /.test(one))).toEqual([]);
    expect(new Set(bill.components.map((one) => one['bom-ref'])).size).toBe(bill.components.length);
    for (const { name, hashes } of bill.components) {
      expect([name, hashes]).toEqual([
        name,
        [{ alg: 'SHA-512', content: expect.stringMatching(/^[0-9a-f]{128}$/) as string }],
      ]);
    }
  });

  test('the pages take in no other package of development', () => {
    const { devDependencies } = z
      .looseObject({ devDependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
    const texts = globSync('web/**/*.{ts,tsx,css,html}', {
      cwd: ROOT,
      exclude: ['web/dist/**', 'web/vite.config.ts'],
    }).map((path) => readFileSync(join(ROOT, path), 'utf8'));
    const imported = texts.flatMap((text) =>
      [...text.matchAll(/(?:\bfrom |\bimport |\bimport\()'((?:@[^/']+\/)?[^./'][^/']*)/g)].map(([, name = '']) => name),
    );
    const taken = new Set(imported.filter((name) => name in devDependencies));
    expect([...taken, 'swagger-ui-dist'].toSorted()).toEqual(SHIPPED.toSorted());
  });

  test('of the image has the package, what that has, and the base by its digest', () => {
    const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;
    const image = { name: 'registry.example.com:5000/fleet/muster', digest: digest('a'), version: '1.2.3' };
    const base = { name: 'docker.io/library/node', digest: digest('b') };
    const ofImage = parseBom(JSON.stringify(imageBom(bill, image, base)));
    const purl = `pkg:oci/muster@sha256%3A${'a'.repeat(64)}?repository_url=registry.example.com%3A5000%2Ffleet%2Fmuster`;
    expect(ofImage.metadata.component).toMatchObject({ type: 'container', name: image.name, version: '1.2.3', purl });
    expect(ofImage.components[0]).toEqual(bill.metadata.component);
    expect(ofImage.components.slice(1, -1)).toEqual(bill.components);
    expect(ofImage.components.at(-1)).toMatchObject({
      type: 'container',
      name: base.name,
      hashes: [{ alg: 'SHA-256', content: 'b'.repeat(64) }],
    });
    expect(ofImage.dependencies[0]).toEqual({
      ref: purl,
      dependsOn: ['@muster/muster@1.2.3', ofImage.components.at(-1)?.['bom-ref']],
    });
    expect(ofImage['serialNumber']).not.toBe(bill['serialNumber']);
  });
});
