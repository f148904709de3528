import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { API_NAMES, APIS } from '../../src/api/openapi/apis.ts';
import { ERRORS } from '../../src/api/http/errors.ts';
import { LIMITS } from '../../src/domain/limits.ts';
import { GENERATORS } from '../nightly/generators.ts';
import { cataloguedSeries } from '../support/monitoring/metrics-catalogue.ts';

/* Holds the documents to the code: operations, errors, limits, metrics, keys and files. */

const ROOT = resolve(import.meta.dirname, '../..');
const textOf = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const api = textOf('docs/API.md');
const architecture = textOf('docs/ARCHITECTURE.md');

const markdownIn = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join(folder, path));

const DOCUMENTS = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'charts/muster/README.md',
  'clients/typescript/README.md',
  ...markdownIn('docs'),
];

/** The cells of every table row whose first cell begins with a code span. */
function rows(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const withoutFences = (text: string): string => text.replaceAll(/^```[\s\S]*?^```/gm, '');

const codesIn = (cell = ''): string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);

/** The targets of the links to files of the repository, from its root; `#…` is cut off, or stays with `anchors`. */
function linksOf(path: string, { anchors = false } = {}): string[] {
  const targets = [...textOf(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor] = target.split('#');
      const from = file === '' ? path : normalize(join(dirname(path), file));
      return anchors && anchor !== undefined ? `${from}#${anchor}` : from;
    });
}

test('README.md is one that is read: at most 12 KiB', () => {
  expect(statSync(join(ROOT, 'README.md')).size).toBeLessThanOrEqual(12_288);
});

test('none runs the command by npx: outside of a checkout that fetches the package of a stranger with its name', () => {
  const told = [...DOCUMENTS, 'clients/typescript/README.md'].filter((path) =>
    /\bnp(?:x|m exec)\b[^`\n]*\bmuster\b/.test(textOf(path)),
  );
  expect(told).toEqual([]);
});

test('every document is reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const path of reached) {
    if (!path.endsWith('.md') || !existsSync(join(ROOT, path))) continue;
    for (const target of linksOf(path)) reached.add(target);
  }
  const isReached = (path: string): boolean => reached.has(path) || reached.has(dirname(path));
  expect(DOCUMENTS.filter((path) => !isReached(path))).toEqual([]);
});

describe('docs/API.md', () => {
  test('has every error with its status, and no other', () => {
    const told = rows(api).filter(([, status = '']) => /^[45]\d\d$/.test(status));
    const errors = Object.entries(ERRORS).map(([code, { status }]) => `${code} ${status}`);
    expect(told.map(([code, status = '']) => `${codesIn(code).join(' ')} ${status}`).sort()).toEqual(errors.sort());
  });

  test('has no operation that there is not', () => {
    const operations = API_NAMES.flatMap((name) => APIS[name].operations).map(
      ({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
    );
    const told = rows(api).flatMap(([cell]) => codesIn(cell).filter((code) => /^[A-Z]+ \//.test(code)));
    expect(told.sort()).toEqual(operations.sort());
  });

  test('has the generators of clients in the versions that .ci/generators pins', () => {
    const [forPython = 'none'] =
      /^openapi-python-client==\S+$/m.exec(textOf('.ci/generators/python/requirements.in')) ?? [];
    expect(textOf('.ci/generators/python/requirements.txt')).toContain(`\n${forPython} \\\n`);
    expect(api).toContain(`# pip install ${forPython}\n`);
    const modules = textOf('.ci/generators/go/go.mod');
    const [, forGo = 'none'] = /^\tgithub\.com\/oapi-codegen\/oapi-codegen\/v2 (v\S+)/m.exec(modules) ?? [];
    expect(api).toContain(`# go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@${forGo}\n`);
  });

  test('has no other generators of clients in docs/TESTING.md than those that are tried, in their pinned versions', () => {
    const told = rows(textOf('docs/TESTING.md'))
      .filter(([cell = '']) => GENERATORS.some(({ name }) => cell === `\`${name}\``))
      .map(([cell = '', ...others]) => [...codesIn(cell), ...others]);
    const tried = GENERATORS.map(({ name, version, language, gzip = 'by themselves' }) => [
      name,
      version,
      language,
      gzip,
    ]);
    expect(told).toEqual(tried);
    const pins = ['python/requirements.txt', 'go/go.mod', 'ogen/go.mod', 'typescript/package.json']
      .map((file) => textOf(`.ci/generators/${file}`))
      .join('\n');
    const checksums = textOf('.ci/generators/openapi-generator/checksums');
    const unpinned = GENERATORS.filter(({ name, version }) => {
      const pinned = new RegExp(`${name}(?:/v2|/ogen)?(?:==|": "| v)${version.replaceAll('.', '\\.')}\\b`);
      return name === 'openapi-generator' ? !checksums.includes(`-cli-${version}.jar\n`) : !pinned.test(pins);
    });
    expect(unpinned).toEqual([]);
  });

  test('has a pace that the window does not refuse', () => {
    const [, above = '', pauseMs = ''] = /while more than (\d+) are left, and a request every (\d+) ms/.exec(api) ?? [];
    // H13: over several replicas a request may count for 62.5 s.
    const inWindow = LIMITS.requestsPerWindowMax - Number(above) + (LIMITS.rateWindowMs + 2500) / Number(pauseMs);
    expect(inWindow).toBeLessThan(LIMITS.requestsPerWindowMax);
  });

  test('has the limits of the code', () => {
    const told = new Map(
      [...api.matchAll(/^\| (\S.*?) +\| (\S.*?) +\|$/gm)].map(([, what = '', bound = '']) => [what, bound]),
    );
    const minutes = (ms: number): number => ms / 60_000;
    const days = (ms: number): number => minutes(ms) / (24 * 60);
    const limits: [what: string, bound: readonly number[]][] = [
      ['Requests of an account', [LIMITS.requestsPerWindowMax, LIMITS.rateWindowMs / 1000]],
      ['Body', [LIMITS.requestBodyBytesMax]],
      ['Apps of an account', [LIMITS.appsPerAccountMax]],
      ['API keys of an account', [LIMITS.apiKeysPerAccountMax]],
      ['Open codes of an app', [LIMITS.openCodesPerAppMax, days(LIMITS.enrollCodeValidMs)]],
      [
        '`name`, `endpoint`, `authHeader`',
        [LIMITS.nameCodePointsMax, LIMITS.endpointCharactersMax, LIMITS.authHeaderCharactersMax],
      ],
      [
        'Idempotency records',
        [LIMITS.idempotencyKeptPerAccountMax, LIMITS.idempotencyKeptPerKeyMax, days(LIMITS.idempotencyKeptMs) * 24],
      ],
      [
        'Detections of a request',
        [LIMITS.detectionsPerRequestMax, LIMITS.redactedCodePointsMax, LIMITS.fullCodePointsMax],
      ],
      ['Review queue of an app', [LIMITS.reviewEntriesPerAppMax, LIMITS.reviewBytesPerAppMax / 1024]],
      ['Note of a review', [LIMITS.reviewNoteCodePointsMax]],
      ['A held poll', [LIMITS.pollWaitSecondsMax, LIMITS.heldPollsPerCredentialMax, LIMITS.heldPollsMax]],
    ];
    const numbers = (bound = ''): number[] => [...bound.matchAll(/\d+/g)].map(([number]) => Number(number));
    expect(limits.map(([what]) => [what, numbers(told.get(what))])).toEqual(limits);
  });
});

test('every file that documents and comments of src name is there', () => {
  const all = [
    'bench',
    'bin',
    'charts',
    'clients',
    'demo',
    'deploy',
    'docs',
    'drill',
    'examples',
    'fleet',
    'scripts',
    'src',
    'test',
    'web',
  ].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => `/${folder}/${path}`),
  );
  const sources = all.filter((path) => path.startsWith('/src/') && path.endsWith('.ts'));
  const told = [
    ...DOCUMENTS.flatMap((path) => codesIn(withoutFences(textOf(path))).map((name) => ({ path, name }))),
    ...sources.flatMap((path) =>
      [...textOf(path).matchAll(/^\s*(?:\/?\*|\/\/).*$/gm)].flatMap(([comment]) =>
        [...comment.matchAll(/[\w./-]+/g)].map(([name]) => ({ path, name })),
      ),
    ),
  ];
  const named = told.filter(({ name }) => /^[a-z][\w-]*(?:\/[\w.-]+)*\/[\w.-]+\.(?:ts|mjs|sh)$/.test(name));
  expect(named.length).toBeGreaterThan(100);
  const missing = named.filter(({ name }) => !all.some((path) => path.endsWith(`/${name}`)));
  expect(missing.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
});

test('every metric that the documents name exists', () => {
  const exist = new Set(cataloguedSeries().map(({ name }) => name));
  const named = DOCUMENTS.flatMap((path) =>
    [...textOf(path).matchAll(/`(muster_[a-z_]+)`/g)].map(([, name = '']) => name),
  );
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !exist.has(name))).toEqual([]);
});

describe('docs/ARCHITECTURE.md', () => {
  test('every file that it names is there', () => {
    const named = codesIn(withoutFences(architecture)).filter((code) => /^[a-z][\w/-]*\/[\w.-]+\.ts$/.test(code));
    expect(named.length).toBeGreaterThan(30);
    const isThere = (path: string): boolean => existsSync(join(ROOT, path)) || existsSync(join(ROOT, 'src', path));
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  });

  test('its list of rooms names every folder of src', () => {
    const [, section = ''] = /^## The rooms of `src`$([\s\S]*?)^## /m.exec(architecture) ?? [];
    const folders = readdirSync(join(ROOT, 'src'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(join(ROOT, 'src/').length));
    const items = section.split('\n- ').map((item) => codesIn(item));
    const isNamed = (path: string): boolean =>
      items.flat().some((code) => code === path || code.startsWith(`${path}/`));
    // A room within a room may be named beside it, by the rest of its path.
    const isNamedBeside = (path: string): boolean =>
      items.some((codes) => codes.some((above) => codes.some((rest) => `${above}/${rest}` === path)));
    expect(folders.length).toBeGreaterThan(30);
    expect(folders.filter((path) => !isNamed(path) && !isNamedBeside(path))).toEqual([]);
  });
});

describe('every relative link leads somewhere', () => {
  test.each(DOCUMENTS)('%s', (path) => {
    expect(linksOf(path).filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  test.each(DOCUMENTS)('%s: to a heading that is there', (path) => {
    const missing = linksOf(path, { anchors: true }).filter((target) => {
      const [file = '', anchor] = target.split('#');
      if (anchor === undefined || !file.endsWith('.md') || !existsSync(join(ROOT, file))) return false;
      return !anchorsOf(file).has(anchor);
    });
    expect(missing).toEqual([]);
  });
});

/** As the hosts of repositories make them of headings, and those that a document sets itself. */
function anchorsOf(path: string): ReadonlySet<string> {
  const text = withoutFences(textOf(path));
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return new Set([...headings, ...[...text.matchAll(/<a id="([^"]+)"/g)].map(([, id = '']) => id)]);
}
