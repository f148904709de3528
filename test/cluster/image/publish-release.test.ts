import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
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
import { describeOn, onPath, toolPath } from '../support/control-plane/tools.ts';
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
  'CHANGELOG.md',
  'docs',
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

interface Bill {
  readonly metadata: { readonly component: { readonly purl: string } };
  readonly components: readonly { readonly type: string; readonly version: string }[];
}

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
  /** The base image, as the registry has it. */
  let base: string;
  beforeAll(async () => {
    await buildImage();
    tools = new ContainerTools();
    registry = await ImageRegistry.start();
    base = `${registry.host}/library/node:24-bookworm-slim`;
    await podman('push', '--quiet', '--tls-verify=false', 'docker.io/library/node:24-bookworm-slim', base);
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
    const by = args.length > 0 ? args : ['--plain-http', '--with', helm === 3 ? 'podman' : 'buildah', '--base', base];
    const script = ['scripts/publish-release.ts', place, ...by, '--', ...tools.building];
    const told = await command(process.execPath, script, { cwd: clone, env });
    const digest = (what: string): string =>
      new RegExp(`^${what} .*@(sha256:[0-9a-f]{64})$`, 'm').exec(told)?.[1] ?? '';
    return { told, image: digest('image'), chart: digest('chart') };
  };
  const billOf = (name: string): Bill => JSON.parse(readFileSync(join(clone, 'dist-release', name), 'utf8')) as Bill;
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

      const digest = await registry.digest('library/node', '24-bookworm-slim');
      const labels = ['name', 'digest'].map((part) => `{{index .Labels "org.opencontainers.image.base.${part}"}}`);
      expect(await podman('image', 'inspect', `--format=${labels.join('@')}`, `${name}@${image}`)).toBe(
        `${base.replace(/:[^:]*$/, '')}@${digest}\n`,
      );
      const bill = billOf(`muster-${VERSION}.image.cdx.json`);
      const repository = encodeURIComponent(name);
      expect(bill.metadata.component.purl).toBe(
        `pkg:oci/muster@${encodeURIComponent(image)}?repository_url=${repository}`,
      );
      expect(bill.components.at(-1)).toMatchObject({ type: 'container', version: digest });
      expect(bill.components.slice(1, -1)).toEqual(billOf(`muster-muster-${VERSION}.tgz.cdx.json`).components);
      expect(existsSync(join(clone, `dist-release/muster-muster-${VERSION}.tgz`))).toBe(true);

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

  test('a base that its registry does not have is refused, and nothing is pushed', async () => {
    const absent = `${registry.host}/library/absent:1`;
    const by = ['--plain-http', '--with', 'podman', '--base', absent];
    expect(await refused(`${registry.host}/baseless`, 3, ...by)).toContain(`${absent} has no digest`);
    expect(await tags('baseless')).toEqual([undefined, undefined]);
  });

  test('a base of this machine alone is refused: no registry told its digest', async () => {
    await podman('tag', 'docker.io/library/node:24-bookworm-slim', `${registry.host}/local/node:1`);
    const by = ['--plain-http', '--with', 'podman', '--base', `${registry.host}/local/node:1`];
    expect(await refused(`${registry.host}/local-base`, 3, ...by)).toContain('its registry does not have it');
    expect(await tags('local-base')).toEqual([undefined, undefined]);
  });

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

  const COSIGN = onPath('cosign');
  const signed = `with a key: image, chart, package and bills are signed by cosign (${COSIGN ?? 'skipped: it is not on the PATH'})`;
  test.skipIf(COSIGN === undefined)(signed, async () => {
    const password = { COSIGN_PASSWORD: 'of a test' };
    const cosign = (...args: string[]): Promise<string> =>
      command(COSIGN ?? '', args, { cwd: folder, env: { ...process.env, ...password } });
    await cosign('generate-key-pair');
    const by = ['--plain-http', '--with', 'podman', '--base', base, '--key', join(folder, 'cosign.key')];
    Object.assign(tools.env, password);
    const { told, image, chart } = await publish(`${registry.host}/signed`, 3, ...by);
    expect(told).toMatch(/^Signed by cosign\.$/m);
    const judging = ['--key', 'cosign.pub', '--insecure-ignore-tlog=true', '--allow-http-registry'];
    const place = `${registry.host}/signed`;
    await cosign('verify', ...judging, `${place}/muster@${image}`);
    await cosign('verify', ...judging, `${place}/charts/muster@${chart}`);
    const attested = await cosign('verify-attestation', ...judging, '--type', 'cyclonedx', `${place}/muster@${image}`);
    const line = attested.split('\n').find((one) => one.startsWith('{')) ?? '';
    const { payload } = JSON.parse(line) as { payload: string };
    const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString()) as { predicate: Bill };
    expect(predicate.components).toEqual(billOf(`muster-${VERSION}.image.cdx.json`).components);
    const signatures = readdirSync(join(clone, 'dist-release')).filter((name) => name.endsWith('.sig.json'));
    expect(signatures.toSorted()).toEqual([
      `muster-muster-${VERSION}.tgz.cdx.json.sig.json`,
      `muster-muster-${VERSION}.tgz.sig.json`,
    ]);
    // A second run finds what it signed, and a key of others signs neither.
    expect((await publish(place, 3, ...by)).told).toContain('Published already, and unchanged');
    await cosign('generate-key-pair', '--output-key-prefix', 'other');
    const others = judging.with(1, 'other.pub');
    await expect(cosign('verify', ...others, `${place}/muster@${image}`)).rejects.toThrow();
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
