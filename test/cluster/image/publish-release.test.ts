import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { VERSION } from '../../../src/version.ts';
import { command, CommandError } from '../support/control-plane/command.ts';
import { describeOn, toolPath } from '../support/control-plane/tools.ts';
import { ContainerTools, helmFolder } from '../support/node/container-tools.ts';
import { podman } from '../support/node/container.ts';
import { ImageRegistry } from '../support/node/image-registry.ts';
import { buildImage } from '../support/node/image.ts';

/* `npm run publish-release`, from a clean clone to a registry of its own on the loopback. */

const ROOT = resolve(import.meta.dirname, '../../..');
const AUTHOR = ['-c', 'user.name=test', '-c', 'user.email=test@example.com'];

/** The parts of the repository that a release is made of. */
const PARTS = [
  '.dockerignore',
  '.gitignore',
  'package.json',
  'package-lock.json',
  'bin',
  'charts',
  'clients',
  'deploy',
  'scripts',
  'src',
  'tsconfig.build.json',
  'tsconfig.json',
  'web',
];

interface Published {
  readonly told: string;
  readonly image: string;
  readonly chart: string;
}

describeOn('registry', 'npm run publish-release', () => {
  let tools: ContainerTools;
  let registry: ImageRegistry;
  let folder: string;
  let clone: string;
  beforeAll(async () => {
    await buildImage();
    tools = new ContainerTools();
    registry = await ImageRegistry.start();
    folder = mkdtempSync(join(tmpdir(), 'muster-publish-'));
    clone = await cloneOfFiles(folder);
    for (const helm of [3, 4] as const) {
      mkdirSync(join(folder, `helm${helm}`));
      helmFolder(helm, join(folder, `helm${helm}`));
    }
  });
  afterAll(async () => {
    const images = await podman('images', '--no-trunc', '--format={{.ID}} {{.Repository}}');
    const ids = [...images.matchAll(/^sha256:(\w+) (\S+)\/muster$/gm)].filter(([, , place]) =>
      place?.startsWith(registry.host),
    );
    await podman('rmi', '--force', '--ignore', ...new Set(ids.map(([, id = '']) => id)));
    await registry[Symbol.asyncDispose]();
    tools[Symbol.dispose]();
    rmSync(folder, { recursive: true });
  });

  const publish = async (place: string, helm: 3 | 4 = 3, ...args: string[]): Promise<Published> => {
    const env = { ...tools.env, PATH: `${join(folder, `helm${helm}`)}${delimiter}${tools.env['PATH']}` };
    const by = args.length > 0 ? args : ['--plain-http', '--with', helm === 3 ? 'podman' : 'buildah'];
    const script = ['scripts/publish-release.ts', place, ...by, '--', ...tools.building];
    const told = await command(process.execPath, script, { cwd: clone, env });
    const digest = (what: string): string =>
      new RegExp(`^${what} .*@(sha256:[0-9a-f]{64})$`, 'm').exec(told)?.[1] ?? '';
    return { told, image: digest('image'), chart: digest('chart') };
  };
  const refused = async (...args: Parameters<typeof publish>): Promise<string> => {
    const error: unknown = await publish(...args).catch((reason: unknown) => reason);
    if (!(error instanceof CommandError)) throw new Error('it was not refused');
    expect(error.code).toBe(1);
    return error.stderr;
  };
  const tags = async (path: string): Promise<(string | undefined)[]> => [
    await registry.digest(`${path}/muster`, VERSION),
    await registry.digest(`${path}/charts/muster`, VERSION),
  ];
  const helmOf = (helm: 3 | 4, ...args: string[]): Promise<string> =>
    command(toolPath(`helm${helm}`), [...args, '--plain-http']);

  test.each([3, 4] as const)(
    'by helm %i: both come back by their digests, and the chart names the image',
    async (helm) => {
      const { image, chart } = await publish(`${registry.host}/by${helm}`, helm);
      expect(await tags(`by${helm}`)).toEqual([image, chart]);

      const name = `${registry.host}/by${helm}/muster`;
      const id = (await podman('image', 'inspect', '--format={{.Id}}', `${name}:${VERSION}`)).trim();
      expect(await registry.configDigest(`by${helm}/muster`, image)).toBe(`sha256:${id}`);
      await podman('rmi', '--force', id);
      await podman('pull', '--quiet', '--tls-verify=false', `${name}@${image}`);
      const facts = '--format={{.Id}} {{.Architecture}}';
      expect(await podman('image', 'inspect', facts, `${name}@${image}`)).toBe(`${id} amd64\n`);

      const pulled = join(folder, `pulled${helm}`);
      mkdirSync(pulled);
      const url = `oci://${registry.host}/by${helm}/charts/muster`;
      await helmOf(helm, 'pull', `${url}@${chart}`, '--untar', '--untardir', pulled, '--destination', pulled);
      for (const from of [join(pulled, 'muster'), `${url}@${chart}`]) {
        const rendered = await helmOf(helm, 'template', 'muster', from, '--kube-version', '1.36.0');
        const images = [...rendered.matchAll(/^ *(?:- )?image: "?([^"\n]*)"?$/gm)].map(([, found]) => found);
        expect(new Set(images)).toEqual(new Set([`${name}@${image}`]));
      }
      const values = readFileSync(join(pulled, 'muster/values.yaml'), 'utf8').split('\n');
      const own = readFileSync(join(ROOT, 'charts/muster/values.yaml'), 'utf8').split('\n');
      expect(values.filter((line, index) => line !== own[index])).toEqual([
        `  registry: '${registry.host}'`,
        `  repository: 'by${helm}/muster'`,
        `  digest: '${image}'`,
      ]);
    },
  );

  test('a version that is there from this commit stays as it is', async () => {
    const first = await publish(`${registry.host}/again`);
    const second = await publish(`${registry.host}/again`);
    expect(second.told).toContain('Published already, and unchanged');
    expect(second).toMatchObject({ image: first.image, chart: first.chart });
    expect(await tags('again')).toEqual([first.image, first.chart]);
  });

  test('a run that ended before the chart is finished by the next one', async () => {
    const first = await publish(`${registry.host}/half`);
    await registry.remove('half/charts/muster', first.chart);
    expect(await tags('half')).toEqual([first.image, undefined]);
    const second = await publish(`${registry.host}/half`);
    expect(second.told).toMatch(/^Published:$/m);
    expect(second.image).toBe(first.image);
    expect(await tags('half')).toEqual([first.image, second.chart]);
  });

  test('a chart of other files is refused, and stays', async () => {
    const { image, chart } = await publish(`${registry.host}/other-chart`);
    const work = mkdtempSync(join(folder, 'other-'));
    const url = `oci://${registry.host}/other-chart/charts`;
    await helmOf(
      3,
      'pull',
      `${url}/muster`,
      '--version',
      VERSION,
      '--untar',
      '--untardir',
      work,
      '--destination',
      work,
    );
    await registry.remove('other-chart/charts/muster', chart);
    appendFileSync(join(work, 'muster/templates/NOTES.txt'), 'One line more.\n');
    await command(toolPath('helm3'), ['package', join(work, 'muster'), '--destination', work]);
    await helmOf(3, 'push', join(work, `muster-${VERSION}.tgz`), url);
    const before = await tags('other-chart');
    expect(before).toEqual([image, expect.not.stringMatching(chart)]);
    expect(await refused(`${registry.host}/other-chart`)).toContain(
      'is published already with another content: its files are others. Nothing was pushed; raise the version.',
    );
    expect(await tags('other-chart')).toEqual(before);
  });

  test('a version of another commit is refused, and stays; in another place it is published', async () => {
    const place = `${registry.host}/commits`;
    await publish(place);
    const before = await tags('commits');
    const commit = (await git(clone, 'rev-parse', 'HEAD')).trim();
    await git(clone, ...AUTHOR, 'commit', '--quiet', '--allow-empty', '--message=next');
    expect(await refused(place)).toContain(`with another content: it was built from ${commit}. Nothing was pushed`);
    expect(await tags('commits')).toEqual(before);
    const elsewhere = await publish(`${registry.host}/next-commit`);
    expect(await tags('next-commit')).toEqual([elsewhere.image, elsewhere.chart]);
    expect(elsewhere.image).not.toBe(before[0]);
  });

  test('what is not committed is refused by name', async () => {
    writeFileSync(join(clone, 'src/forgotten.ts'), '');
    expect(await refused(`${registry.host}/dirty`)).toContain(
      'Commit or remove these changes first:\n?? src/forgotten.ts',
    );
    rmSync(join(clone, 'src/forgotten.ts'));
    expect(await tags('dirty')).toEqual([undefined, undefined]);
  });

  test('a registry that does not answer clearly is no empty one', async () => {
    // By TLS, which this one does not speak: it tells nothing of what it has.
    expect(await refused(`${registry.host}/secure`, 3, '--with', 'podman')).toMatch(/^podman cannot read .*HTTPS/m);
    expect(await tags('secure')).toEqual([undefined, undefined]);
  });
});

/** The files as they are, committed or not, as a repository with one commit. */
async function cloneOfFiles(folder: string): Promise<string> {
  const clone = join(folder, 'clone');
  mkdirSync(clone);
  const files = await git(ROOT, 'ls-files', '--cached', '--others', '--exclude-standard', '-z', '--', ...PARTS);
  const present = files.split('\0').filter((file) => file !== '' && existsSync(join(ROOT, file)));
  for (const file of present) cpSync(join(ROOT, file), join(clone, file));
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  await git(clone, 'init', '--quiet');
  await git(clone, 'add', '--all');
  await git(clone, ...AUTHOR, 'commit', '--quiet', '--message=first');
  return clone;
}

const git = (cwd: string, ...args: string[]): Promise<string> => command('git', args, { cwd });
