import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { API_NAMES } from '../src/api/openapi/apis.ts';
import { breakingChanges, builtOasdiff, fileAt, lastRelease } from './breaking-changes.ts';
import { GENERATED_HERE } from './generated-documents.ts';

/*
 * `npm run release` tells whether this commit can be released, and what is left to do. It changes nothing. It tells
 * the changes that break clients of the last release, and refuses those of `/v1` and of the device plane.
 */

const ROOT = resolve(import.meta.dirname, '..');

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const changed = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' });
if (changed !== '') fail(`Commit or remove these changes first:\n${changed}`);

const documents = GENERATED_HERE.filter(({ path }) => path.startsWith('docs/openapi/'));
for (const { path, text } of documents) {
  if (readFileSync(join(ROOT, path), 'utf8') !== (await text()))
    fail(`${path} is out of date: run npm run docs first.`);
}

const last = lastRelease();
const broken = last === undefined ? [] : API_NAMES.filter((name) => breaks(last, `docs/openapi/${name}.json`));
// The operator API may change until 1.0; the changelog says it first.
if (broken.some((name) => name !== 'operator')) fail('docs/API.md promises that this does not happen.');

process.stdout.write(
  `${last === undefined ? 'There is no release before. ' : ''}What is left to do by hand:
  1. CHANGELOG.md: replace "(Unreleased)" behind ${version} by the date of today.
  2. Commit it, and tag the commit v${version}.
  3. package.json and package-lock.json: the next version, then npm run docs and a section of its own in CHANGELOG.md.
`,
);

/** Tells what the document breaks for clients of a release. @returns whether there is anything */
function breaks(release: string, path: string): boolean {
  const changes = breakingChanges(builtOasdiff(), fileAt(release, path), readFileSync(join(ROOT, path), 'utf8'));
  if (changes.length > 0) process.stderr.write(`${path} breaks clients of ${release}:\n  ${changes.join('\n  ')}\n`);
  return changes.length > 0;
}

function fail(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(1);
}
