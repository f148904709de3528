import { hash } from 'node:crypto';
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { digestIn, run, ToolError } from './container-tool.ts';

/* The chart as a registry holds it: its values name the image that was pushed with it. helm does the work. */

/** Where the pushed image lies, as the chart's values name it. */
export interface PushedImage {
  readonly registry: string;
  readonly repository: string;
  readonly digest: string;
}

interface PublishedChart {
  readonly digest: string;
  /** The folder with its files. */
  readonly files: string;
}

/**
 * Packages charts/muster for one image, with the values of its default changed and nothing else.
 * @param work an empty folder that is the caller's own
 * @returns the path of the package, and a folder with the files that are in it
 * @throws ToolError
 */
export function packageChart(chart: string, image: PushedImage, work: string): { archive: string; files: string } {
  const source = join(work, 'source/muster');
  cpSync(chart, source, { recursive: true });
  const values = join(source, 'values.yaml');
  writeFileSync(values, withImage(readFileSync(values, 'utf8'), image));
  run('helm', ['package', source, '--destination', work]);
  const [archive, ...others] = globSync(join(work, '*.tgz'));
  if (archive === undefined || others.length > 0) throw new ToolError(`helm made no package of ${chart}.`);
  const unpacked = join(work, 'packaged');
  mkdirSync(unpacked);
  run('tar', ['-xzf', archive, '-C', unpacked]);
  return { archive, files: join(unpacked, 'muster') };
}

/**
 * The defaults of the values with another image; comments and order stay.
 * @throws ToolError when the file does not have each of the three lines once
 */
export function withImage(values: string, image: PushedImage): string {
  return Object.entries(image).reduce((text, [key, value]) => {
    const line = new RegExp(`(?<=^image:\\n(?:(?: .*)?\\n)*? {2}${key}: ).*$`, 'm');
    if (!line.test(text)) throw new ToolError(`charts/muster/values.yaml has no image.${key}.`);
    return text.replace(line, () => `'${String(value)}'`);
  }, values);
}

/**
 * Fetches the chart from a registry.
 * @param work an empty folder that is the caller's own
 * @returns undefined where the registry has no such version
 * @throws ToolError when it does not say so clearly
 */
export function pullChart(url: string, version: string, plainHttp: boolean, work: string): PublishedChart | undefined {
  const where = ['--untar', '--untardir', work, '--destination', work];
  const args = ['pull', `${url}/muster`, '--version', version, ...where, ...transport(plainHttp)];
  const { status, stdout, stderr, error } = spawnSync('helm', args, { encoding: 'utf8' });
  if (status === 0) return { digest: digestIn(stdout + stderr, url), files: join(work, 'muster') };
  if (status !== null && ABSENT.test(stderr)) return undefined;
  throw new ToolError(`helm cannot read ${url}/muster: ${error?.message ?? stderr.trim()}`);
}

/** helm ends its sentence so where the registry has no such repository or tag. */
const ABSENT = /: not found$|manifest unknown|name unknown/im;

/**
 * @returns the digest of the chart's manifest, `sha256:…`
 * @throws ToolError
 */
export function pushChart(archive: string, url: string, plainHttp: boolean): string {
  return digestIn(run('helm', ['push', archive, url, ...transport(plainHttp)]), url);
}

const transport = (plainHttp: boolean): string[] => (plainHttp ? ['--plain-http'] : []);

/** Whether two folders have the same files with the same contents; their times do not count, which a package has. */
export const sameFiles = (one: string, other: string): boolean => contentsOf(one) === contentsOf(other);

function contentsOf(folder: string): string {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .sort();
  return files.map((name) => `${hash('sha256', readFileSync(join(folder, name)))} ${name}\n`).join('');
}
