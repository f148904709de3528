import { execFile } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnerClient } from '#client';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { ROOT } from '../../support/repository/source-tree.ts';
import { findNode20, NO_NODE20 } from '../../support/run/node20.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { MainProgram } from '../../support/service/main-program.ts';
import { OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';

/* The packages that `npm run pack` and `npm pack` make, installed into empty folders. */

const run = promisify(execFile);
const root = scratchDirectory('package');
const folder = join(root, 'installed');
const program = join(folder, 'node_modules/.bin/muster');
const packaged = join(folder, 'node_modules/@muster/muster');
const ETCD = findEtcd();
const NODE20 = await findNode20();

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly link?: true; readonly dev?: true }>>;
}
const lockIn = (directory: string): Lock =>
  JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as Lock;
/** What the repository has installed of others for the product. */
const LOCKED = Object.entries(lockIn(ROOT).packages).filter(
  ([path, { link, dev }]) => path.startsWith('node_modules/') && !link && !dev,
);

/**
 * Installs a tarball into a new folder, without a script of any package. Its dependencies have the versions of the
 * repository's lock: what others have published since is not what is tested.
 */
async function install(tarball: string, into: string): Promise<void> {
  mkdirSync(into);
  writeFileSync(join(into, 'package.json'), '{"private":true,"type":"module"}');
  const lock = { lockfileVersion: 3, requires: true, packages: { '': {}, ...Object.fromEntries(LOCKED) } };
  writeFileSync(join(into, 'package-lock.json'), JSON.stringify(lock));
  const flags = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', ...flags, tarball], { cwd: into });
}

afterAll(() => rmSync(root, { recursive: true }));

describe('@muster/muster', () => {
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [join(ROOT, 'scripts/pack.ts'), join(root, 'packed')]);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(stdout).toBe(`${join(root, 'packed', `muster-muster-${version}.tgz`)}\n`);
    await install(stdout.trim(), folder);
  });

  const command = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    run(process.execPath, [program, ...args], { cwd: folder, env: { NODE_DISABLE_COMPILE_CACHE: '1' } });

  test('has JavaScript with its declarations, and neither a source nor a script that runs at an installation', () => {
    const files = globSync('**/*', { cwd: packaged, exclude: ['node_modules'] });
    expect(files.filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))).toEqual([]);
    expect(files.filter((path) => !/^(?:bin|dist\/(?:src|clients|web))(?:\/|$)/.test(path)).toSorted()).toEqual([
      'CHANGELOG.md',
      'README.md',
      'dist',
      'dist/package.json',
      'package.json',
    ]);
    expect(files).toEqual(
      expect.arrayContaining([
        'bin/muster.mjs',
        'dist/src/cli/main.js',
        'dist/src/cli/main.d.ts',
        'dist/web/dist/index.html',
      ]),
    );
    const manifest = JSON.parse(readFileSync(join(packaged, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).not.toHaveProperty('scripts');
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as typeof manifest;
    expect([manifest['dependencies'], manifest['devDependencies']]).toEqual([dependencies, undefined]);
    for (const version of Object.values(dependencies as object)) expect(version).toMatch(/^(?:npm:.*@)?\d+\.\d+\.\d+$/);
  });

  test('brings the dependencies that the repository has', () => {
    const versionOf = new Map(LOCKED.map(([path, { version }]) => [path, version]));
    const brought = Object.entries(lockIn(folder).packages).filter(
      ([path]) => path !== '' && path !== 'node_modules/@muster/muster',
    );
    expect(brought.length).toBeGreaterThan(100);
    for (const [path, { version }] of brought) expect([path, version]).toEqual([path, versionOf.get(path)]);
  });

  test('has the command, which tells its options and its version', async () => {
    expect((await command('--help')).stdout).toMatch(/^Usage: muster /);
    const { version } = JSON.parse(readFileSync(join(packaged, 'package.json'), 'utf8')) as { version: string };
    expect(await command('--version')).toEqual({ stdout: `${version}\n`, stderr: '' });
    await expect(command('nonsense')).rejects.toMatchObject({ code: 2 });
  });

  test('has the client, by the name that Node and a compiler find', async () => {
    const use = `import { OwnerClient } from '@muster/muster/client'; console.log(OwnerClient.name);`;
    writeFileSync(join(folder, 'use.js'), use);
    expect((await run(process.execPath, ['use.js'], { cwd: folder })).stdout).toBe('OwnerClient\n');
    writeFileSync(
      join(folder, 'use.ts'),
      `${use}\n// @ts-expect-error it has no such option\nnew OwnerClient({ no: 1 });`,
    );
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
    const flags = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024'];
    await run(process.execPath, [compiler, ...flags, 'use.ts'], { cwd: folder });
  });

  async function serves(env: Readonly<Record<string, string>>): Promise<void> {
    await using muster = new MainProgram(env, [], [program, 'serve']);
    const addresses = await muster.listening;
    const { apiKey } = await tenant(addresses);
    // By the client, which waits out a store that is slow for a moment.
    const owner = new OwnerClient({ url: addresses.api, apiKey });
    expect(await owner.createApp()).toMatchObject({ appId: expect.any(String) as string });
    for (const path of ['/readyz', '/docs', '/docs/page.js', '/docs/swagger-ui.js', '/openapi/v1.json']) {
      expect([path, (await fetch(addresses.ops + path)).status]).toEqual([path, 200]);
    }
    const told = await run(process.execPath, [program, 'doctor', '--running'], {
      cwd: folder,
      env: { ...env, MUSTER_OPS_URL: addresses.ops, MUSTER_OPERATOR_TOKEN: OPERATOR_TOKEN },
    }).catch((error: unknown) => error as { stdout: string });
    expect(told.stdout).toMatch(/^ok +service/m);
    muster.kill('SIGTERM');
    expect(await muster.exited).toEqual({ code: 0, signal: null });
  }

  test('serves from SQLite, and doctor finds it', () => serves({ MUSTER_DATA_DIR: join(root, 'data') }));

  test.skipIf(ETCD === undefined)(`serves from etcd, and doctor finds it (${ETCD ? 'etcd' : NO_ETCD})`, async () => {
    await using etcd = await EtcdCluster.start({ binary: ETCD ?? '', unsafeNoFsync: true });
    const keys = join(root, 'keys');
    writeFileSync(keys, `1:${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o600 });
    await serves({
      MUSTER_DATA_DIR: join(root, 'etcd'),
      MUSTER_STORE: `etcd:${etcd.member.url}`,
      MUSTER_KEY_FILE: keys,
    });
  });

  test.skipIf(NODE20 === undefined && process.env['CI'] !== 'true')('says one sentence on Node 20', async () => {
    if (NODE20 === undefined) throw new Error(NO_NODE20);
    const ended = run(NODE20, [program, 'serve'], { cwd: folder, env: {} });
    await expect(ended).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^muster: Node 24 or newer is needed, and this is Node 20\.\d+\.\d+\.\n$/,
      ) as string,
    });
  });
});

describe('@muster/client', () => {
  const into = join(root, 'with-client');
  beforeAll(async () => {
    // A copy: the build writes into the folder.
    const copy = join(root, 'checkout/clients/typescript');
    cpSync(join(ROOT, 'clients/typescript'), copy, {
      recursive: true,
      filter: (path) => !path.startsWith(join(ROOT, 'clients/typescript/dist')),
    });
    cpSync(join(ROOT, 'tsconfig.json'), join(root, 'checkout/tsconfig.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'checkout/node_modules'));
    mkdirSync(join(copy, 'dist'));
    writeFileSync(join(copy, 'dist/of-an-earlier-build.js'), '');
    await run('npm', ['pack', '--loglevel=error', '--pack-destination', root], { cwd: copy });
    const [tarball = ''] = globSync('muster-client-*.tgz', { cwd: root });
    await install(join(root, tarball), into);
    writeFileSync(join(into, 'use.js'), `import { OwnerClient } from '@muster/client'; console.log(OwnerClient.name);`);
  });

  test('has its build, which npm makes anew, and its README.md', () => {
    const installed = join(into, 'node_modules/@muster/client');
    expect(globSync('*', { cwd: installed }).toSorted()).toEqual(['README.md', 'dist', 'package.json']);
    expect(existsSync(join(installed, 'dist/index.d.ts'))).toBe(true);
    expect(existsSync(join(installed, 'dist/of-an-earlier-build.js'))).toBe(false);
  });

  test('is imported on the Node of this repository', async () => {
    expect((await run(process.execPath, ['use.js'], { cwd: into })).stdout).toBe('OwnerClient\n');
  });

  test.skipIf(NODE20 === undefined && process.env['CI'] !== 'true')('is imported on Node 20', async () => {
    if (NODE20 === undefined) throw new Error(NO_NODE20);
    expect((await run(NODE20, ['use.js'], { cwd: into })).stdout).toBe('OwnerClient\n');
  });
});
