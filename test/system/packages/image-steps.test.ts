import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from '../../support/repository/source-tree.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { MainProgram } from '../../support/service/main-program.ts';

/*
 * What deploy/Dockerfile puts into /app, put into a folder by the same steps, and started: the image itself, which
 * takes a container engine, is the matter of test/cluster/image.test.ts.
 */

const run = promisify(execFile);
const root = scratchDirectory('image');
const app = join(root, 'app');
afterAll(() => rmSync(root, { recursive: true }));

interface Step {
  /** The name of its stage; undefined for that of the image. */
  readonly stage: string | undefined;
  readonly keyword: string;
  readonly words: string;
}

/** The steps of a Dockerfile, with the lines joined that a backslash continues. */
function stepsOf(path: string): readonly Step[] {
  const text = readFileSync(join(ROOT, path), 'utf8');
  let stage: string | undefined;
  return text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .flatMap((line) => {
      const [, keyword = '', words = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
      if (keyword === 'FROM') stage = / AS (\S+)$/.exec(words)?.[1];
      return keyword === '' ? [] : [{ stage, keyword, words }];
    });
}
const STEPS = stepsOf('deploy/Dockerfile');

/** What .dockerignore, which begins by leaving out all, lets in. */
const LET_IN = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .flatMap((line) => (line.startsWith('!') ? [join(ROOT, line.slice(1))] : []));
/** And what it keeps out of that again. */
const KEPT_OUT = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
  .split('\n')
  .filter((line) => /^[a-z]/.test(line))
  .map((line) => join(ROOT, line));
const isInContext = (path: string): boolean =>
  !KEPT_OUT.some((one) => path === one || path.startsWith(`${one}/`)) &&
  LET_IN.some((one) => path === one || path.startsWith(`${one}/`) || one.startsWith(`${path}/`));

/** Copies as COPY does: a folder's content, or a file into a folder. */
function copy(words: string, folder: string, from: string, filter: (path: string) => boolean): void {
  const names = words.split(' ').filter((word) => !word.startsWith('--'));
  const target = names.pop() ?? '';
  for (const name of names) {
    const source = resolve(from, name.replace(/^\/app\//, ''));
    expect(filter(source) && existsSync(source), `${name} is in the context`).toBe(true);
    const isInto = target.endsWith('/') && !statSync(source).isDirectory();
    const to = join(folder, target, isInto ? basename(source) : '');
    cpSync(source, to, { recursive: true, verbatimSymlinks: true, filter });
  }
}

beforeAll(async () => {
  const folderOf = (stage: string | undefined): string => (stage === undefined ? app : join(root, stage));
  const stages = [...new Set(STEPS.map(({ stage }) => stage))];
  expect(stages).toEqual([undefined, 'dependencies', 'built']);
  for (const stage of stages) mkdirSync(folderOf(stage));
  for (const { stage, keyword, words } of STEPS) {
    const folder = folderOf(stage);
    if (keyword === 'WORKDIR') expect(words).toBe('/app');
    const from = /^--from=(\S+) /.exec(words)?.[1];
    if (keyword === 'COPY' && from !== undefined) copy(words, folder, folderOf(from), () => true);
    else if (keyword === 'COPY') copy(words, folder, ROOT, isInContext);
    // Those of the image change its system, which here is the machine's.
    if (keyword === 'RUN' && stage !== undefined) {
      expect(words, 'it stays below its folder').not.toMatch(/(?:^|[\s'"=])(?:\/|\.\.|~|\$)/);
      await run('sh', ['-ec', words], { cwd: folder });
    }
  }
});

test('the program is JavaScript alone, with the client of the command line: no start strips types', () => {
  const sources = globSync('{bin,dist}/**/*.{ts,tsx}', { cwd: app });
  expect(sources).toEqual([]);
  const pages = ['web/dist/index.html', 'web/dist/help/panel.html'];
  for (const path of ['src/cli/main.js', 'clients/typescript/src/index.js', ...pages]) {
    expect([path, existsSync(join(app, 'dist', path))]).toEqual([path, true]);
  }
  expect(readdirSync(app).toSorted()).toEqual(['bin', 'dist', 'node_modules', 'package.json']);
});

test('of Swagger UI there is what is served, and its licences', () => {
  expect(readdirSync(join(app, 'dist/src/api/openapi/page/swagger-ui')).toSorted()).toEqual([
    'LICENSE',
    'NOTICE',
    'swagger-ui-bundle.js',
    'swagger-ui-bundle.js.LICENSE.txt',
    'swagger-ui.css',
  ]);
  for (const name of ['swagger-ui-dist', '@scarf']) {
    expect([name, existsSync(join(app, 'node_modules', name))]).toEqual([name, false]);
  }
});

test('what the image starts serves, and ends with 0 at SIGTERM', async () => {
  const { words = '' } = STEPS.find(({ keyword }) => keyword === 'ENTRYPOINT') ?? {};
  const [node, ...entry] = JSON.parse(words) as string[];
  const [command = ''] = JSON.parse(STEPS.find(({ keyword }) => keyword === 'CMD')?.words ?? '[]') as string[];
  expect([node, relative('/app', entry.at(-1) ?? ''), command]).toEqual(['node', 'bin/muster.mjs', 'serve']);
  const program = [...entry.map((word) => word.replace(/^\/app\b/, app)), command];
  const env = { NODE_ENV: 'production', MUSTER_DATA_DIR: join(root, 'data') };
  await using muster = new MainProgram(env, [], program);
  const { api, ops, panel } = await muster.listening;
  const page = await (await fetch(panel)).text();
  const [, script = ''] = /<script type="module"[^>]* src="([^"]+)"/.exec(page) ?? [];
  expect([script, (await fetch(panel + script)).status]).toEqual([expect.stringMatching(/^\/assets\//), 200]);
  for (const path of ['/readyz', '/docs', '/docs/page.js', '/docs/swagger-ui.js', '/docs/swagger-ui.css']) {
    expect([path, (await fetch(ops + path)).status]).toEqual([path, 200]);
  }
  expect((await fetch(`${api}/v1/apps`)).status).toBe(401);
  const { stdout } = await run(process.execPath, [join(app, 'bin/muster.mjs'), 'doctor', '--help'], { env: {} });
  expect(stdout).toMatch(/^Usage: muster doctor/);
  muster.kill('SIGTERM');
  expect(await muster.exited).toEqual({ code: 0, signal: null });
});
