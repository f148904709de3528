import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { INFLATING_MAX } from '../../src/api/http/content-encoding.ts';
import { ERRORS } from '../../src/api/http/errors.ts';
import { BODY_LIMITS } from '../../src/api/http/request-body.ts';
import { DRAIN_BYTES_MAX, DRAIN_MS } from '../../src/api/http/response.ts';
import { PUBLIC } from '../../src/api/operator/ops-server.ts';
import { BLOCK_ENTRIES_MAX } from '../../src/domain/audit/chain.ts';
import { PINNED_MS_MAX } from '../../src/domain/history/revision-pins.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { PRICE_ENTRIES_MAX } from '../../src/domain/metering/prices.ts';
import { USAGE_ACCOUNTS_MAX } from '../../src/domain/metering/usage.ts';
import { SLICE_WAITING_MAX } from '../../src/domain/rate-window/local-account.ts';
import { RATE_WAITING_MAX } from '../../src/domain/rate-window/shared/rules.ts';
import { CLOCK_JUMP_MS, CLOCK_STEADY_MS } from '../../src/domain/status-history/clock-trust.ts';
import { COMMIT_OPERATIONS_MAX } from '../../src/store/port.ts';
import { EVERYTHING } from '../support/doors/doors.ts';
import { anchorsOf, citationsIn, codesIn, contract, rowsOf, rulesOf } from '../support/repository/contract.ts';
import { ROOT } from '../support/repository/source-tree.ts';

/* docs/CONTRACT.md agrees with the code, and what cites it leads somewhere. */

const rules = rulesOf(contract);
const anchors = anchorsOf(contract);
const ruleOf = (anchor: string): string => rules.find((rule) => rule.anchor === anchor)?.text ?? '';

interface File {
  readonly path: string;
  readonly text: string;
}
const files = (patterns: readonly string[]): readonly File[] =>
  globSync(patterns, { cwd: ROOT, exclude: ['node_modules', '.muster'] })
    .toSorted()
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));

const documents = files(['*.md', 'docs/**/*.md', 'charts/**/*.md', 'examples/**/*.md']);
const code = files([
  '{src,test,bench,demo,drill,fleet,scripts,deploy}/**/*.ts',
  '{bin,scripts}/*.mjs',
  '.ci/**/{run,*.sh,*.go}',
  '*.{json,ts}',
  'deploy/**/*.{yaml,yml}',
  'charts/muster/**/*.{yaml,tpl,txt}',
]);

describe('the rules', () => {
  test('are told from the document', () => {
    expect(rules.length).toBeGreaterThan(90);
    expect(documents.length).toBeGreaterThan(20);
    expect(code.length).toBeGreaterThan(500);
  });

  test('each has an anchor, and no two anchors are the same', () => {
    expect(rules.filter(({ anchor }) => anchor === '').map(({ title }) => title)).toEqual([]);
    expect(anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index)).toEqual([]);
  });

  test('each that is kept lists the tests that hold it, and these exist', () => {
    const kept = rules.filter(({ isKept }) => isKept);
    expect(kept.filter(({ heldBy }) => heldBy.length === 0).map(({ title }) => title)).toEqual([]);
    const isTest = (path: string): boolean => /^test\/.+\.test\.ts$/.test(path) && existsSync(join(ROOT, path));
    const wrong = kept.flatMap(({ title, heldBy }) =>
      heldBy.filter((path) => !isTest(path)).map((path) => `${title}: ${path}`),
    );
    expect(wrong).toEqual([]);
    expect(kept.filter(({ heldBy }) => new Set(heldBy).size < heldBy.length).map(({ title }) => title)).toEqual([]);
  });

  test('each that is not kept stands in the last section, lists no test, and says what holds instead', () => {
    const missing = rules.filter(({ isKept }) => !isKept);
    expect(missing.length).toBeGreaterThan(0);
    expect(contract.split(/^## /m).at(-1)).toMatch(/^Not yet kept\n/);
    expect(missing.filter(({ text }) => text.includes('Held by:')).map(({ title }) => title)).toEqual([]);
    const silent = missing.filter(({ text }) => !text.includes('\nPromised: ') || !text.includes('\nHolds instead: '));
    expect(silent.map(({ title }) => title)).toEqual([]);
  });
});

describe('citations', () => {
  test.each([
    ['A1, H2: a body', ['a1', 'h2']],
    ['(section 3; A4–A8)', ['a4', 'a8', 'section-3']],
    ['Section 4.10, and sections 7 and 8', ['section-4-10', 'section-7', 'section-8']],
    ['M2a: a night', ['m2a']],
    ['%E0%A4%A, %A4 and @SUM(A1)', []],
    ['"id": "A100", SHA1, RFC 9110, 8.4', []],
  ])('%s → %j', (text, cited) => {
    expect(citationsIn(text)).toEqual(cited);
  });

  test('each leads to an anchor', () => {
    const isOwn = (path: string): boolean => path.endsWith('contract.test.ts') || path.startsWith('test/vectors/');
    const citing = [...documents, ...code].filter(({ path }) => !isOwn(path));
    const cited = citing.flatMap(({ path, text }) => citationsIn(text).map((anchor) => ({ path, anchor })));
    expect(cited.length).toBeGreaterThan(250);
    expect(
      cited.filter(({ anchor }) => !anchors.includes(anchor)).map(({ path, anchor }) => `${path}: ${anchor}`),
    ).toEqual([]);
  });

  test('each link into the document leads to an anchor', () => {
    const headings = [...contract.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title.toLowerCase().replaceAll(' ', '-'),
    );
    const linked = [...documents, ...code].flatMap(({ path, text }) => {
      const pattern = path === 'docs/CONTRACT.md' ? /(?:\]\(|CONTRACT\.md)#([\w-]+)/g : /CONTRACT\.md#([\w-]+)/g;
      return [...text.matchAll(pattern)].map(([, anchor = '']) => ({ path, anchor }));
    });
    expect(linked.length).toBeGreaterThan(30);
    expect(linked.filter(({ anchor }) => ![...anchors, ...headings].includes(anchor))).toEqual([]);
  });
});

describe('documents', () => {
  const known = new Set(documents.map(({ path }) => path));
  const resolves = (from: string, named: string): boolean =>
    [named, join('docs', named), join(dirname(from), named)].some((path) => known.has(path));

  test('each link leads to something', () => {
    const broken = documents.flatMap(({ path, text }) =>
      [...text.matchAll(/\]\(([^)#\s]+)[^)]*\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target) && !existsSync(join(ROOT, dirname(path), target)))
        .map((target) => `${path}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('each document that is named is there', () => {
    const named = [...documents, ...code].flatMap(({ path, text }) =>
      [...text.matchAll(/(?<![\w*{}:/.-])[\w./-]+\.md\b/g)].map(([name]) => ({ path, name })),
    );
    expect(named.length).toBeGreaterThan(50);
    const missing = named.filter(({ path, name }) => !resolves(path, name) && !resolves('', basename(name)));
    expect(missing.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
  });

  test('nothing cites the decisions but by their identifiers', () => {
    // Code may have such a name; comments and documents may not.
    const cites = ({ path, text }: File): boolean =>
      (path.endsWith('.md') ? /\bDECISIONS\b/ : /^\s*(?:\/?\*|\/\/).*\bDECISIONS\b/m).test(text);
    expect([...documents, ...code].filter(cites).map(({ path }) => path)).toEqual([]);
  });
});

describe('what the tables say', () => {
  const { stallMs, totalMs } = BODY_LIMITS;
  const beside = {
    BLOCK_ENTRIES_MAX,
    CLOCK_JUMP_MS,
    CLOCK_STEADY_MS,
    COMMIT_OPERATIONS_MAX,
    DRAIN_BYTES_MAX,
    DRAIN_MS,
    INFLATING_MAX,
    PINNED_MS_MAX,
    PRICE_ENTRIES_MAX,
    RATE_WAITING_MAX,
    SLICE_WAITING_MAX,
    USAGE_ACCOUNTS_MAX,
    stallMs,
    totalMs,
  };

  test.each([
    ['section-8', LIMITS],
    ['other-bounds', beside],
  ])('every limit of %s is there with its number', (anchor, limits) => {
    const told = rowsOf(ruleOf(anchor)).map(([name, value]) => [codesIn(name)[0], Number(value)]);
    expect(Object.fromEntries(told)).toEqual(limits);
    expect(told.length).toBe(Object.keys(limits).length);
  });

  test('every error is there with its status', () => {
    const told = rowsOf(ruleOf('section-7')).map(([name, status]) => [codesIn(name)[0], Number(status)]);
    expect(Object.fromEntries(told)).toEqual(
      Object.fromEntries(Object.entries(ERRORS).map(([name, { status }]) => [name, status])),
    );
    expect(told.length).toBe(Object.keys(ERRORS).length);
  });

  test('every error of an operation has the status of its row', () => {
    const named = [...contract.matchAll(/\b([45]\d\d)\s+`([a-z_]+)`/g)].map(
      ([, status, name = '']) => `${status} ${name}`,
    );
    const exist = new Set(Object.entries(ERRORS).map(([name, { status }]) => `${status} ${name}`));
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter((one) => !exist.has(one))).toEqual([]);
  });

  test('every operation of the listeners is there, and no other', () => {
    // Files are no operations. What the panel's own operations do is told by its document; who may call them, here.
    const isServed = ({ listener, operation, path }: (typeof EVERYTHING)[number]): boolean =>
      listener === 'panel' ? operation !== undefined : !PUBLIC.some((file) => file.path === path);
    const routes = EVERYTHING.filter(isServed).map(
      ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
    );
    expect(routes.length).toBeGreaterThan(30);
    const named = [...contract.matchAll(/`(GET|POST|PUT|PATCH|DELETE)\s+(\/[^`?\s]*)`/g)];
    const told = new Set(named.map(([, method, path]) => `${method} ${path}`));
    expect([...told].toSorted(), 'add each operation to docs/CONTRACT.md, in the title of a rule or in a row').toEqual(
      [...new Set(routes)].toSorted(),
    );
  });
});
