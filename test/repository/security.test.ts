import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config/config.ts';
import { LISTENER_NAMES } from '../../src/config/listeners.ts';
import { EVERYTHING } from '../support/doors/doors.ts';
import { anchorsOf, codesIn, contract, rulesOf } from '../support/repository/contract.ts';
import { ROOT } from '../support/repository/source-tree.ts';
import {
  definitionsOf,
  hasTitle,
  rowsOf,
  sectionOf,
  sectionsOf,
  threatModel,
  type Link,
  type Row,
} from '../support/security/threat-model.ts';

/* SECURITY.md: each rule and test that it names is there, and each listener has its threats. */

const rows = rowsOf(threatModel);
const definitions = definitionsOf(threatModel);
const anchors = new Set(anchorsOf(contract));
const heldBy = new Map(rulesOf(contract).map(({ anchor, heldBy: tests }) => [anchor, tests]));
const STRIDE = ['S', 'T', 'R', 'I', 'D', 'E'] as const;
/** The connections that Muster makes by itself, and its own client: no listener leads there. */
const OUTGOING = [
  'The store: etcd, or an SQLite file',
  'The Kubernetes API',
  'The OpenID Connect provider',
  'Addresses that owners choose',
  'The command line',
] as const;

const placeOf = ({ section, first }: Row): string => `${section}, ${first}`;
const isRule = ({ file }: Link): boolean => file === 'docs/CONTRACT.md';
const source = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The fault of a link to a rule; undefined where nothing is. */
function faultOfRule({ label, file, anchor }: Link): string | undefined {
  if (file === 'docs/CONTRACT.md')
    return anchor === label.toLowerCase() && anchors.has(anchor) ? undefined : `${label}: no such rule`;
  const number = /^ADR (\d{4})$/.exec(label)?.[1] ?? 'none';
  return basename(file).startsWith(`${number}-`) && existsSync(join(ROOT, file)) ? undefined : `${label}: no such ADR`;
}

/** The fault of a link to a test; undefined where nothing is. */
function faultOfTest({ label, file }: Link): string | undefined {
  if (!/^test\/.+\.test\.ts$/.test(file) || !existsSync(join(ROOT, file))) return `${file}: no such test`;
  return hasTitle(source(file), label) ? undefined : `${file} has no test "${label}"`;
}

describe('each row', () => {
  test('is read', () => {
    expect(rows.length).toBeGreaterThan(60);
    expect(definitions.size).toBeGreaterThan(40);
  });

  test('names rules that are there', () => {
    expect(rows.filter(({ rules }) => rules.length === 0).map(placeOf)).toEqual([]);
    const faults = rows.flatMap((row) => row.rules.flatMap((link) => faultOfRule(link) ?? []));
    expect(faults).toEqual([]);
    expect([...definitions].flatMap(([label, target]) => faultOfRule(asLink(label, target)) ?? [])).toEqual([]);
  });

  test('names one test, whose title is in its file', () => {
    expect(rows.filter(({ tests }) => tests.length !== 1).map(placeOf)).toEqual([]);
    expect(rows.flatMap(({ tests }) => tests.flatMap((link) => faultOfTest(link) ?? []))).toEqual([]);
  });

  test('names a test that holds one of its rules by the contract, where it has a rule of the contract', () => {
    const wrong = rows.filter(({ rules, tests }) => {
      const kept = rules.filter(isRule).flatMap(({ anchor = '' }) => heldBy.get(anchor) ?? []);
      return rules.some(isRule) && !rules.some((link) => !isRule(link)) && !kept.includes(tests[0]?.file ?? '');
    });
    expect(wrong.map((row) => `${placeOf(row)}: ${row.tests[0]?.file}`)).toEqual([]);
  });

  test.each([
    ["test('a title', () => {", 'a title', true],
    ['test.each([1])(\n  `a title`,\n  () => {', 'a title', true],
    ["test('a title', () => {", 'a titl', false],
    ["test('a title and more', () => {", 'a title', false],
    ['// a title', 'a title', false],
    ["expect('a title').toBe(1)", 'a title', false],
  ])('%s has the title %s: %s', (text, title, expected) => {
    expect(hasTitle(text, title)).toBe(expected);
  });

  test('of a rule, an ADR or a test that is not there is found', () => {
    // Made here, since whatever cites a rule is held to be right.
    const absent = ['H', '99'].join('');
    expect(faultOfRule(asLink(absent, `docs/CONTRACT.md#${absent.toLowerCase()}`))).toBe(`${absent}: no such rule`);
    expect(faultOfRule(asLink('H7', 'docs/CONTRACT.md#h8'))).toBe('H7: no such rule');
    expect(faultOfRule(asLink('ADR 0001', 'docs/adr/0002-consistent-reads-from-memory.md'))).toBe(
      'ADR 0001: no such ADR',
    );
    expect(faultOfRule(asLink('H7', ''))).toBe('H7: no such ADR');
    expect(faultOfTest(asLink('a title', 'test/none.test.ts'))).toBe('test/none.test.ts: no such test');
    expect(faultOfTest(asLink('no title', 'test/log.test.ts'))).toBe('test/log.test.ts has no test "no title"');
  });
});

function asLink(label: string, target: string): Link {
  const [file = '', anchor] = target.split('#');
  return { label, file, anchor };
}

test('a label of the definitions is used, and a label that is used is defined', () => {
  const text = threatModel.replaceAll(/^\[[^\]]+\]: \S+$/gm, '');
  const unused = [...definitions.keys()].filter((label) => !text.includes(`[${label}]`));
  expect(unused).toEqual([]);
  const used = [...text.matchAll(/\[([AHMOP]\d+a?|ADR \d{4}|[a-z][a-z0-9-]*)\](?!\()/g)].map(([, label = '']) => label);
  expect(used.length).toBeGreaterThan(60);
  expect(used.filter((label) => !definitions.has(label))).toEqual([]);
});

describe('the listeners', () => {
  const sections = sectionsOf(sectionOf(threatModel, 'Threats at the listeners'), 3);
  /** The listener of a section, and the paths that it is about. */
  const doors = sections.map(({ title, text }) => ({
    title,
    text,
    listener: title.split(' ', 1)[0]?.toLowerCase() ?? '',
    paths: codesIn(title),
  }));
  /** The section of a path: the one that names the longest part of its beginning. */
  const doorOf = (listener: string, path: string): string | undefined =>
    doors
      .filter((door) => door.listener === listener)
      .flatMap(({ title, paths }) => paths.map((at) => ({ title, at })))
      .filter(({ at }) => at === '/' || path === at || path.startsWith(`${at}/`))
      .toSorted((one, other) => other.at.length - one.at.length)[0]?.title;

  test('that the configuration opens each have a section, and no other has one', () => {
    const open = Object.keys(readConfig({}).listen);
    expect(open.toSorted()).toEqual([...LISTENER_NAMES].toSorted());
    expect([...new Set(doors.map(({ listener }) => listener))].toSorted()).toEqual(open.toSorted());
  });

  test('serve nothing that no section is about, and no section is about nothing', () => {
    const homeless = EVERYTHING.filter(({ listener, path }) => doorOf(listener, path) === undefined);
    expect(homeless.map(({ listener, path }) => `${listener}: ${path}`)).toEqual([]);
    const lived = new Set(EVERYTHING.map(({ listener, path }) => doorOf(listener, path)));
    expect(doors.map(({ title }) => title).filter((title) => !lived.has(title))).toEqual([]);
  });

  test.each([...doors.map(({ title }) => title), ...OUTGOING])('%s: a row for each letter of STRIDE', (title) => {
    const letters = rows.filter(({ section }) => section === title).map(({ first }) => first);
    expect([...new Set(letters)]).toEqual(STRIDE);
  });

  test('and connections are all that has threats', () => {
    const outgoing = sectionsOf(sectionOf(threatModel, 'Threats at the outgoing connections'), 3);
    expect(outgoing.map(({ title }) => title)).toEqual(OUTGOING);
  });
});

test('the parts of a threat model are there', () => {
  expect(sectionsOf(threatModel, 2).map(({ title }) => title)).toEqual([
    'How to report a weakness',
    'Assets',
    'Actors',
    'Threats at the listeners',
    'Threats at the outgoing connections',
    'What is promised',
    'What is not promised',
    'What an operator must do',
  ]);
});
