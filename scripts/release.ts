import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import process from 'node:process';
import { breakingChanges, type Document } from './breaking-changes.ts';
import { GENERATED_HERE } from './generated-documents.ts';

/*
 * `npm run release` makes the OpenAPI documents of now the baseline: later ones may not break what is in it. It changes
 * nothing else, and says what is left to do. Of what breaks clients of the last release it tells; for `/v1` and the device
 * plane it refuses that without `--breaking`, which is for the time before the first release.
 */

const ROOT = resolve(import.meta.dirname, '..');
const FOLDER = 'docs/openapi';
const BASELINE = `${FOLDER}/baseline`;

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
const changed = execFileSync('git', ['status', '--porcelain'], { cwd: ROOT, encoding: 'utf8' });
if (changed !== '') fail(`Commit or remove these changes first:\n${changed}`);

const documents = GENERATED_HERE.filter(({ path }) => path.startsWith(`${FOLDER}/`));
for (const { path, text } of documents) {
  if (readFileSync(join(ROOT, path), 'utf8') !== (await text()))
    fail(`${path} is out of date: run npm run docs first.`);
}

const readDocument = (path: string): Document => JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Document;
const broken = documents
  .map(({ path }) => ({ path, released: path.replace(FOLDER, BASELINE) }))
  .filter(({ released }) => existsSync(join(ROOT, released)))
  .map(({ path, released }) => ({ path, changes: breakingChanges(readDocument(released), readDocument(path)) }))
  .filter(({ changes }) => changes.length > 0);
for (const { path, changes } of broken) {
  process.stderr.write(`${path} breaks clients of what was last released:\n  ${changes.join('\n  ')}\n`);
}
// The operator API may change until 1.0; the changelog says it first.
const isRefused = broken.some(({ path }) => basename(path) !== 'operator.json');
if (isRefused && !process.argv.includes('--breaking'))
  fail('docs/API.md promises that this does not happen. Before the first release: npm run release -- --breaking');

mkdirSync(join(ROOT, BASELINE), { recursive: true });
for (const { path } of documents) copyFileSync(join(ROOT, path), join(ROOT, path.replace(FOLDER, BASELINE)));
process.stdout.write(
  `${BASELINE} has the documents of ${version} now.
What is left to do by hand:
  1. CHANGELOG.md: replace "(Unreleased)" behind ${version} by the date of today.
  2. Commit both, and tag the commit v${version}.
  3. package.json and package-lock.json: the next version, then npm run docs and a section of its own in CHANGELOG.md.
`,
);

function fail(words: string): never {
  process.stderr.write(`${words}\n`);
  process.exit(1);
}
