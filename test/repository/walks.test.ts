import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../support/repository/source-tree.ts';

/* Files that the commands of the documents make in a clone, secrets among them: git leaves every one of them alone. */

let clone: string;
beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'muster-walks-'));
  execFileSync('git', ['init', '--quiet'], { cwd: clone });
  copyFileSync(join(ROOT, '.gitignore'), join(clone, '.gitignore'));
});
afterAll(() => rmSync(clone, { recursive: true, force: true }));

const ignores = (path: string): boolean =>
  spawnSync('git', ['check-ignore', '--quiet', path], { cwd: clone }).status === 0;

/** What a command makes: its output, and the files of its options. */
const MADE = [
  /(?<![0-9&<-])>{1,2} ?(?<path>[\w./$-]+)/g,
  /\s(?:-o|-O|-D|-out|-keyout|--output-path|--save-codes|--credential-file|--otel-config|--opamp|--storage) (?<path>[\w./$-]+)/g,
  /\bbackup create (?<path>[\w./$-]+)/g,
  /\bmkdir (?:-p )?(?<folder>[\w./$-]+)/g,
];
/** A form of output and not a file, or what lies elsewhere. */
const NONE = /^(?:-|id|name|wide|csv|json|jsonl|yaml|jsonpath.*|table|\d+|[/$~].*|--.*)$/;

function madeBy(document: string): string[] {
  const text = readFileSync(join(ROOT, document), 'utf8');
  const blocks = [...text.matchAll(/^( *)```(?:sh)?\n([\s\S]*?)^\1```$/gm)].map(([, , block = '']) => block);
  return blocks.flatMap((block) =>
    MADE.flatMap((pattern) =>
      [...block.matchAll(pattern)].map(({ groups: { path, folder } = {} }) => path ?? `${folder}/`),
    ),
  );
}

const DOCUMENTS = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/*.md', { cwd: ROOT }).toSorted()];
const made = DOCUMENTS.flatMap((document) =>
  [...new Set(madeBy(document))].filter((path) => !NONE.test(path)).map((path) => [document, path] as const),
);

test('the documents are read: their walks make files', () => {
  const all = made.map(([document, path]) => `${document} ${path}`);
  expect(all.length).toBeGreaterThan(15);
  for (const path of [
    'README.md edge.code',
    'README.md edge.credential',
    'README.md edge.yaml',
    'docs/OPERATIONS.md secrets/operator-token',
    'docs/CLI.md muster.backup',
    'docs/INSTALL.md muster-secrets.yaml',
    'docs/COMPOSE.md deploy/compose/secrets/panel-key',
  ]) {
    expect(all).toContain(path);
  }
});

test.each(made)('%s: git leaves %s alone', (_document, path) => {
  expect(ignores(path)).toBe(true);
});

test('git sees the files of the repository', () => {
  for (const path of ['README.md', 'src/main.ts', 'charts/muster/values.yaml', 'deploy/compose.yaml']) {
    expect(ignores(path)).toBe(false);
  }
});
