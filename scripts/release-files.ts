import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { run, ToolError } from './container-tool.ts';
import type { PushedImage } from './published-chart.ts';
import { imageBom, parseBom, type HeldImage } from './sbom.ts';

/* What a release has beside image and chart: the package of npm, and the bills of materials of package and image. */

const ROOT = resolve(import.meta.dirname, '..');
export const RELEASED = join(ROOT, 'dist-release');

interface ReleaseFiles {
  readonly tarball: string;
  readonly packageBill: string;
  readonly imageBill: string;
}

/**
 * Writes them anew into the folder.
 * @throws ToolError where the image does not say which one it was built on
 */
export function writeReleaseFiles(
  folder: string,
  image: PushedImage & { readonly version: string; readonly base: HeldImage },
): ReleaseFiles {
  const { registry, repository, digest, version, base } = image;
  const name = `${registry}/${repository}`;
  if (!/^sha256:[0-9a-f]{64}$/.test(base.digest) || base.name === '')
    throw new ToolError(`${name}:${version} does not say which image it was built on.`);
  rmSync(folder, { recursive: true, force: true });
  const told = run(process.execPath, [join(ROOT, 'scripts/pack.ts'), folder]);
  const tarball = told.split('\n').find((line) => line.endsWith('.tgz'));
  if (tarball === undefined) throw new ToolError(`npm run pack made no package: ${told.trim()}`);
  const packageBill = `${tarball}.cdx.json`;
  const imageBill = join(folder, `muster-${version}.image.cdx.json`);
  const bill = imageBom(parseBom(readFileSync(packageBill, 'utf8')), { name, digest, version }, base);
  writeFileSync(imageBill, `${JSON.stringify(bill, null, 2)}\n`);
  return { tarball, packageBill, imageBill };
}
