import { execFile, execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { OwnerClient } from '#client';
import { EtcdCluster } from '../../support/etcd/etcd.ts';
import { findEtcd, NO_ETCD } from '../../support/etcd/etcd-binary.ts';
import { ROOT } from '../../support/repository/source-tree.ts';
import { GOOD_PASSWORD, tokenOf } from '../../support/panel/visitor.ts';
import { findNode20, NO_NODE20 } from '../../support/run/node20.ts';
import { scratchDirectory } from '../../support/run/scratch-directory.ts';
import { MainProgram } from '../../support/service/main-program.ts';
import { call, OPERATOR_TOKEN, tenant } from '../../support/service/muster.ts';
import { packageRegistry } from './package-registry.ts';

/* The packages that `npm run pack` and `npm pack` make, installed into empty folders. */

const run = promisify(execFile);
const root = scratchDirectory('package');
const folder = join(root, 'installed');
const program = join(folder, 'node_modules/.bin/muster');
const packaged = join(folder, 'node_modules/@muster/muster');
const ETCD = findEtcd();
const NODE20 = await findNode20();

interface Locked {
  readonly version?: string;
  readonly link?: true;
  readonly dev?: true;
  readonly hasInstallScript?: true;
}
interface Lock {
  readonly packages: Readonly<Record<string, Locked>>;
}
const lockIn = (directory: string): Lock =>
  JSON.parse(readFileSync(join(directory, 'package-lock.json'), 'utf8')) as Lock;
/** What the repository has installed of others for the product, as `place version`. */
const LOCKED = Object.entries(lockIn(ROOT).packages)
  .filter(([path, { link, dev }]) => path.startsWith('node_modules/') && !link && !dev)
  .map(([path, { version }]) => `${path} ${version}`);

/** Without a script of any package, which is how docs/PACKAGE.md says it. */
const FLAGS = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];

/** Installs a package into a new folder. */
async function install(into: string, ...args: string[]): Promise<void> {
  mkdirSync(into);
  writeFileSync(join(into, 'package.json'), '{"private":true,"type":"module"}');
  await run('npm', ['install', ...FLAGS, ...args], { cwd: into });
}

/** The paths of the reference page, with the files of swagger-ui-dist that are behind them. */
const SWAGGER_UI = [
  ['/docs/swagger-ui.js', 'swagger-ui-bundle.js'],
  ['/docs/swagger-ui.css', 'swagger-ui.css'],
] as const;

/** The manifest within a tarball. */
const manifestIn = (tarball: string): { name: string; version: string } =>
  JSON.parse(execFileSync('tar', ['-xzOf', tarball, 'package/package.json'], { encoding: 'utf8' })) as {
    name: string;
    version: string;
  };

/** Dependencies whose script is left out, each with what is missed without it. */
const SCRIPTS_LEFT_OUT: Readonly<Record<string, string>> = {
  protobufjs: 'a warning where it is asked for by a range with a caret',
};

afterAll(() => rmSync(root, { recursive: true }));

describe('@muster/muster', () => {
  let tarball = '';
  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [join(ROOT, 'scripts/pack.ts'), join(root, 'packed')]);
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(stdout).toBe(`${join(root, 'packed', `muster-muster-${version}.tgz`)}\n`);
    tarball = stdout.trim();
    await using registry = await packageRegistry(tarball, manifestIn(tarball));
    await install(folder, `--@muster:registry=${registry.url}`, '@muster/muster');
  });

  const command = (...args: string[]): Promise<{ stdout: string; stderr: string }> =>
    run(process.execPath, [program, ...args], { cwd: folder, env: { NODE_DISABLE_COMPILE_CACHE: '1' } });

  test('has JavaScript, the declarations of the client, and neither a source nor a script that runs at an installation', () => {
    const files = globSync('**/*', { cwd: packaged, exclude: ['node_modules'] });
    const typed = files.filter((path) => path.endsWith('.ts'));
    expect(typed).toContain('dist/clients/typescript/src/index.d.ts');
    expect(typed.filter((path) => !/^dist\/clients\/typescript\/src\/.*\.d\.ts$/.test(path))).toEqual([]);
    expect(files.filter((path) => !/^(?:bin|dist\/(?:src|clients|web))(?:\/|$)/.test(path)).toSorted()).toEqual([
      'CHANGELOG.md',
      'README.md',
      'dist',
      'dist/package.json',
      'npm-shrinkwrap.json',
      'package.json',
    ]);
    expect(files).toEqual(
      expect.arrayContaining([
        'bin/muster.mjs',
        'dist/src/cli/main.js',
        'dist/web/dist/index.html',
        'dist/web/dist/help/panel.html',
      ]),
    );
    const manifest = JSON.parse(readFileSync(join(packaged, 'package.json'), 'utf8')) as Record<string, unknown>;
    expect(manifest).not.toHaveProperty('scripts');
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as typeof manifest;
    expect([manifest['dependencies'], manifest['devDependencies']]).toEqual([dependencies, undefined]);
    for (const version of Object.values(dependencies as object)) expect(version).toMatch(/^(?:npm:.*@)?\d+\.\d+\.\d+$/);
  });

  test('brings the dependencies that the repository has, from a registry and from the unpacked file', async () => {
    const own = 'node_modules/@muster/muster/';
    const brought = Object.entries(lockIn(folder).packages)
      .filter(([path]) => path.startsWith(own))
      .map(([path, { version }]) => `${path.slice(own.length)} ${version}`);
    expect(brought.length).toBeGreaterThan(100);
    expect(brought.toSorted()).toEqual(LOCKED.toSorted());
    const unpacked = join(root, 'unpacked');
    mkdirSync(unpacked);
    await run('tar', ['-xzf', tarball, '-C', unpacked]);
    await run('npm', ['ci', ...FLAGS], { cwd: join(unpacked, 'package') });
    const { packages } = JSON.parse(
      readFileSync(join(unpacked, 'package/node_modules/.package-lock.json'), 'utf8'),
    ) as Lock;
    const there = Object.entries(packages).map(([path, { version }]) => `${path} ${version}`);
    expect(there.toSorted()).toEqual(LOCKED.toSorted());
  });

  test('depends on nothing with a script at the installation, but for those whose script is not needed', () => {
    const { packages } = JSON.parse(readFileSync(join(packaged, 'npm-shrinkwrap.json'), 'utf8')) as Lock;
    const scripted = Object.keys(packages).filter((path) => packages[path]?.hasInstallScript);
    const names = scripted.map((path) => path.split('node_modules/').at(-1) ?? '');
    expect(names.toSorted()).toEqual(Object.keys(SCRIPTS_LEFT_OUT).toSorted());
    expect(JSON.stringify(packages)).not.toMatch(/scarf|resolved/);
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

  /** The answer to a password that a new user chooses. */
  async function chosen({ ops, panel }: Record<'ops' | 'panel', string>, password: string): Promise<number> {
    const body = { name: 'Ann', login: `${password.length}@example.com` };
    const created = await call(`${ops}/operator/v1/users`, { method: 'POST', token: OPERATOR_TOKEN, body });
    const token = tokenOf((created.body['link'] as { url: string }).url);
    const headers = { origin: panel, 'content-type': 'application/json' };
    const answer = await call(`${panel}/panel/v1/links/accept`, { method: 'POST', headers, body: { token, password } });
    return answer.status;
  }

  async function serves(env: Readonly<Record<string, string>>): Promise<void> {
    await using muster = new MainProgram(env, [], [program, 'serve']);
    const addresses = await muster.listening;
    const { apiKey } = await tenant(addresses);
    // By the client, which waits out a store that is slow for a moment.
    const owner = new OwnerClient({ url: addresses.api, apiKey });
    expect(await owner.createApp()).toMatchObject({ appId: expect.any(String) as string });
    for (const path of ['/livez', '/readyz', '/docs', '/docs/page.js', '/openapi/v1.json']) {
      expect([path, (await fetch(addresses.ops + path)).status]).toEqual([path, 200]);
    }
    for (const [path, file] of SWAGGER_UI) {
      const served = Buffer.from(await (await fetch(addresses.ops + path)).arrayBuffer());
      expect([path, served.equals(readFileSync(join(ROOT, 'node_modules/swagger-ui-dist', file)))]).toEqual([
        path,
        true,
      ]);
    }
    expect(await chosen(addresses, 'justinbieber')).toBe(400);
    expect(await chosen(addresses, GOOD_PASSWORD)).toBe(200);
    const told = await run(process.execPath, [program, 'doctor', '--running'], {
      cwd: folder,
      env: { ...env, MUSTER_CLIENT_OPS_URL: addresses.ops, MUSTER_CLIENT_OPERATOR_TOKEN: OPERATOR_TOKEN },
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
    await install(into, join(root, tarball));
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
