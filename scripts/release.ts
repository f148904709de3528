import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { GENERATED_HERE } from './generated-documents.ts';

/*
 * `npm run release` makes the OpenAPI documents of now the baseline: later ones may not break what is in it. It changes
 * nothing else, and says what is left to do.
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
