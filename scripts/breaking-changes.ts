import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/*
 * oasdiff (https://www.oasdiff.com) finds the changes from one OpenAPI document to a later one that break clients. It
 * passes by statuses, headers of answers, servers and `x-error-codes`.
 */

const ROOT = resolve(import.meta.dirname, '..');
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** Builds oasdiff where it was not built before, which takes Go. @returns its path. @throws Error of the build */
export const builtOasdiff = (): string =>
  execFileSync(join(ROOT, '.ci/build-oasdiff.sh'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();

interface Found {
  readonly operation: string;
  readonly path: string;
  readonly text: string;
}

/**
 * @param oasdiff the path of the program
 * @param before the text of the earlier document
 * @param after the text of the later one
 * @returns each change in words, such as ``GET /v1/apps: removed the required property `name` …``; none where clients
 * of the earlier document go on
 */
export function breakingChanges(oasdiff: string, before: string, after: string): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'muster-openapi-'));
  try {
    const paths = Object.entries({ before, after }).map(([name, text]) => {
      const path = join(folder, `${name}.json`);
      writeFileSync(path, text);
      return path;
    });
    const found = execFileSync(oasdiff, ['breaking', ...paths, '--format', 'json'], {
      encoding: 'utf8',
      maxBuffer: OUTPUT_BYTES_MAX,
    });
    return (JSON.parse(found) as readonly Found[]).map(({ operation, path, text }) => `${operation} ${path}: ${text}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The tag of the last release, such as `v0.1.0`, before this commit; undefined where there is none. */
export function lastRelease(): string | undefined {
  const tags = git('tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname');
  return tags.split('\n').find((tag) => /^v\d+\.\d+\.\d+$/.test(tag));
}

/** A file of the repository as it was at a tag. @throws Error where it was not there */
export const fileAt = (tag: string, path: string): string => git('show', `${tag}:${path}`);

const git = (...words: readonly string[]): string =>
  execFileSync('git', ['-C', ROOT, ...words], { encoding: 'utf8', maxBuffer: OUTPUT_BYTES_MAX });
