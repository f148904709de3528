import { readFileSync } from 'node:fs';
import process from 'node:process';
import { describe, expect, test } from 'vitest';
import { breakingChanges, builtOasdiff, fileAt, lastRelease } from '../../../scripts/breaking-changes.ts';
import { API_NAMES, pathOf, type ApiName, type Document } from '../../support/openapi/documents.ts';

/* No document breaks clients of the last release, and the check of that finds what would. */

/** Until 1.0 the operator API may change; the changelog says it first. */
const MAY_CHANGE: ReadonlySet<ApiName> = new Set(['operator']);

function findOasdiff(): string | undefined {
  try {
    return builtOasdiff();
  } catch (error) {
    if (process.env['CI']) throw new Error('CI needs oasdiff: install Go.', { cause: error });
    return undefined;
  }
}

const oasdiff = findOasdiff();
const NO_OASDIFF = 'no oasdiff: put Go on the PATH, and run .ci/build-oasdiff.sh';
const last = lastRelease();
const RELEASED = last === undefined ? [] : API_NAMES.map((name) => [name, last] as const);

const found = (before: string, after: string): readonly string[] => breakingChanges(oasdiff ?? '', before, after);
const textOf = (name: ApiName): string => readFileSync(pathOf(name), 'utf8');

type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;
type Change = (document: Mutable<Document>) => void;

/** The document with the change. */
function changed(name: ApiName, change: Change): string {
  const document = JSON.parse(textOf(name)) as Mutable<Document>;
  change(document);
  return JSON.stringify(document);
}

/** A query parameter of the list of apps. */
const parameter =
  (required: boolean): Change =>
  ({ paths }) =>
    paths['/v1/apps']?.['get']?.parameters?.push({ in: 'query', name: 'page', required, schema: { type: 'string' } });

const lengthOfName =
  (maxLength: number): Change =>
  ({ components }) =>
    Object.assign(components.schemas['CreateAppRequest']?.properties?.['name'] ?? {}, { maxLength });

/** A change, what is found of it, and a change beside it that breaks nothing. */
const CHANGES: readonly (readonly [what: string, breaks: Change, words: RegExp, passes: Change])[] = [
  [
    'an operation that goes',
    ({ paths }) => delete paths['/v1/apps/{appId}']?.['delete'],
    /^DELETE .*\{appId\}: .*removed/,
    ({ paths }) => Object.assign(paths, { '/v1/more': paths['/v1/apps'] }),
  ],
  ['a parameter that a request must have', parameter(true), /^GET \/v1\/apps: .*new required .*page/, parameter(false)],
  [
    'a field of an answer that goes',
    ({ components }) => {
      const app = components.schemas['App'];
      delete app?.properties?.['name'];
      if (app) app.required = app.required?.filter((field) => field !== 'name') ?? [];
    },
    /^GET \/v1\/apps: .*removed .*name/,
    ({ components }) => Object.assign(components.schemas['App']?.properties ?? {}, { more: { type: 'string' } }),
  ],
  [
    'a field of a body that takes less than before',
    lengthOfName(1),
    /^POST \/v1\/apps: .*name.*max/,
    lengthOfName(1000),
  ],
];

describe.skipIf(oasdiff === undefined)(oasdiff === undefined ? `oasdiff (${NO_OASDIFF})` : 'oasdiff', () => {
  // There is nothing to compare with before the first release.
  test.each(RELEASED)('%s breaks nothing of %s', (name, release) => {
    const changes = found(fileAt(release, `docs/openapi/${name}.json`), textOf(name));
    if (!MAY_CHANGE.has(name)) expect(changes).toEqual([]);
    for (const change of changes) process.stdout.write(`Breaking, and let through: ${name}: ${change}\n`);
  });

  test.each(API_NAMES)('finds nothing where %s stays as it is', (name) => {
    expect(found(textOf(name), textOf(name))).toEqual([]);
  });

  test.each(CHANGES)('finds %s, and nothing where it breaks nobody', (_what, breaks, words, passes) => {
    const now = textOf('v1');
    expect(found(now, changed('v1', breaks))).toContainEqual(expect.stringMatching(words));
    expect(changed('v1', passes)).not.toBe(changed('v1', () => undefined));
    expect(found(now, changed('v1', passes))).toEqual([]);
  });
});
