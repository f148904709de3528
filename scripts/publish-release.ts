import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import process from 'node:process';
import {
  BASE_DIGEST,
  BASE_NAME,
  findTool,
  REVISION,
  run,
  ToolError,
  TOOLS,
  withoutTag,
  type ContainerTool,
} from './container-tool.ts';
import { packageChart, pullChart, pushChart, sameFiles, type PushedImage } from './published-chart.ts';
import { parseRegistry, type Registry } from './registry.ts';
import { RELEASED, writeReleaseFiles } from './release-files.ts';
import { Cosign } from './signing.ts';
import { exitWith, readToolArguments, UsageError } from './tool-arguments.ts';

/*
 * `npm run publish-release -- REGISTRY[/PATH] [--with docker|podman|buildah] [--base IMAGE] [--key KEY]
 * [--transparency-log] [--plain-http] [-- ARGUMENTS]` builds the image of this commit for linux/amd64 on the base that
 * its registry has now, named by digest; pushes it, pushes the chart with that image's digest in its values, and prints
 * the digests. It writes the package of npm and the bills of materials of package and image to dist-release. With a key
 * it signs image, chart and package by cosign, and attests the image's bill. A version is published once: where the
 * registry has it from another commit nothing is pushed, and where it has it from this one, nothing changes.
 * Credentials are those of the tools' own login (`docker login` and its like, `helm registry login`); ARGUMENTS go to
 * the tool's own `build`.
 */

const ROOT = resolve(import.meta.dirname, '..');
const USAGE = `npm run publish-release -- REGISTRY[/PATH] [--with ${TOOLS.join('|')}] [--base IMAGE] [--key KEY] [--transparency-log] [--plain-http] [-- ARGUMENTS]`;
const ARCHITECTURE = 'amd64';
const DOCKERFILE = 'deploy/Dockerfile';

interface Release {
  readonly registry: Registry;
  readonly version: string;
  readonly commit: string;
  readonly plainHttp: boolean;
  /** The name of the image to build on. */
  readonly base: string;
  /** Signs what is published; undefined without a key. */
  readonly cosign: Cosign | undefined;
}

const work = mkdtempSync(join(tmpdir(), 'muster-release-'));
try {
  exitWith(USAGE, () => {
    const { positionals, plainHttp, wanted, further, release } = readToolArguments(process.argv.slice(2));
    const registry = parseRegistry(positionals);
    if (plainHttp && !registry.isLoopback)
      throw new UsageError('--plain-http is for a registry on the loopback of this machine alone.');
    const { base = baseOf(DOCKERFILE), key, transparencyLog } = release;
    if (transparencyLog && key === undefined) throw new UsageError('--transparency-log is for a --key.');
    const [version, commit, tool] = [versionOf(), cleanCommit(), findTool(wanted)];
    // Before anything is built: a key that cannot be used is told at once.
    const cosign = key === undefined ? undefined : new Cosign({ key, plainHttp, transparencyLog }, work);
    publish({ registry, plainHttp, version, commit, base, cosign }, tool, further);
  });
} finally {
  rmSync(work, { recursive: true, force: true });
}

function publish(release: Release, tool: ContainerTool, further: readonly string[]): void {
  const { registry, version, plainHttp } = release;
  const image = `${registry.host}/${registry.repository}:${version}`;
  const charts = `oci://${registry.place}/charts`;
  // Both are asked before anything is pushed.
  const there = tool.pull(image, plainHttp);
  const chart = pullChart(charts, version, plainHttp, folder('there'));
  if (there !== undefined && there.revision !== release.commit)
    refuse(image, `it was built from ${there.revision === '' ? 'a commit that it does not name' : there.revision}`);
  const named = chart && imageDigestOf(chart.files);
  if (chart !== undefined && there === undefined) refuse(`${charts}/muster:${version}`, 'its image is not there');
  if (chart !== undefined && named === undefined) refuse(`${charts}/muster:${version}`, 'it names no image by digest');

  if (there === undefined) build(release, tool, image, further);
  // Where the image alone is there it is pushed once more for its digest: it is the very image that was fetched.
  const digest = named ?? tool.push(image, plainHttp);
  const pushed: PushedImage = { registry: registry.host, repository: registry.repository, digest };
  verify(release, tool, image, pushed);
  const packaged = packageChart(join(ROOT, 'charts/muster'), pushed, folder('chart'));
  if (chart !== undefined && !sameFiles(chart.files, packaged.files))
    refuse(`${charts}/muster:${version}`, 'its files are others');
  const chartDigest = chart?.digest ?? pushChart(packaged.archive, charts, plainHttp);
  const { base } = tool.inspect(image);
  const written = writeReleaseFiles(RELEASED, { ...pushed, version, base });
  if (release.cosign) {
    const reference = `${registry.host}/${registry.repository}@${digest}`;
    release.cosign.sign(reference);
    release.cosign.sign(`${registry.place}/charts/muster@${chartDigest}`);
    release.cosign.attest(reference, written.imageBill);
    for (const file of [written.tarball, written.packageBill]) release.cosign.signFile(file);
  }
  process.stdout.write(
    `${chart === undefined ? 'Published' : 'Published already, and unchanged'}:
image  ${registry.host}/${registry.repository}:${version}@${digest}
chart  ${charts}/muster:${version}@${chartDigest}
base   ${base.name}@${base.digest}
files  ${relative(process.cwd(), RELEASED)}
${release.cosign ? 'Signed by cosign.' : 'Not signed: no --key was given.'}

Install it:
helm install muster ${charts}/muster --version ${version}${plainHttp ? ' --plain-http' : ''} --namespace fleet --create-namespace --wait
`,
  );
}

function build(release: Release, tool: ContainerTool, image: string, further: readonly string[]): void {
  const { commit, version, base, plainHttp } = release;
  const name = withoutTag(base);
  const digest = tool.resolve(base, plainHttp && isOnLoopback(base));
  process.stderr.write(`Building ${image} by ${tool.name} for linux/${ARCHITECTURE} on ${name}@${digest}.\n`);
  const labels = {
    [REVISION]: commit,
    'org.opencontainers.image.version': version,
    [BASE_NAME]: name,
    [BASE_DIGEST]: digest,
  };
  const pinned = ['--build-arg', `BASE=${name}@${digest}`];
  const platform = `linux/${ARCHITECTURE}`;
  tool.build({ root: ROOT, names: [image], labels, platform, further: [...pinned, ...further] });
  const built = tool.inspect(image);
  if (built.architecture !== ARCHITECTURE)
    throw new ToolError(`${tool.name} built ${image} for ${built.architecture}, and not for ${ARCHITECTURE}.`);
}

/** Reads the image back by its digest: the registry must hold there what lies here under the name. */
function verify({ plainHttp, commit }: Release, tool: ContainerTool, image: string, pushed: PushedImage): void {
  const { id } = tool.inspect(image);
  const back = tool.pull(`${pushed.registry}/${pushed.repository}@${pushed.digest}`, plainHttp);
  if (back?.id !== id || back.revision !== commit)
    throw new ToolError(`${pushed.digest} in the registry is not the image ${id} that ${image} is.`);
}

/** Whether an image is named on this machine's loopback. */
function isOnLoopback(image: string): boolean {
  return /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?\//.test(image);
}

/** The image that the Dockerfile builds on where nothing else is said. @throws ToolError */
function baseOf(dockerfile: string): string {
  const base = /^ARG BASE=(\S+)$/m.exec(readFileSync(join(ROOT, dockerfile), 'utf8'))?.[1];
  if (base === undefined) throw new ToolError(`${dockerfile} has no line ARG BASE=IMAGE.`);
  return base;
}

/** The digest that a published chart names; undefined where it names none. */
function imageDigestOf(files: string): string | undefined {
  return /^ {2}digest: '(sha256:[0-9a-f]{64})'$/m.exec(readFileSync(join(files, 'values.yaml'), 'utf8'))?.[1];
}

function refuse(published: string, difference: string): never {
  throw new ToolError(
    `${published} is published already with another content: ${difference}. Nothing was pushed; raise the version.`,
  );
}

/** @throws ToolError when something is not committed, which no commit would name */
function cleanCommit(): string {
  const changed = run('git', ['status', '--porcelain'], ROOT);
  if (changed !== '') throw new ToolError(`Commit or remove these changes first:\n${changed.trimEnd()}`);
  return run('git', ['rev-parse', 'HEAD'], ROOT).trim();
}

/** @throws ToolError when package and chart disagree */
function versionOf(): string {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { readonly version: string };
  const chart = readFileSync(join(ROOT, 'charts/muster/Chart.yaml'), 'utf8');
  for (const field of ['version', 'appVersion']) {
    const found = new RegExp(`^${field}: (.*)$`, 'm').exec(chart)?.[1];
    if (found !== version)
      throw new ToolError(
        `package.json has the version ${version}, and charts/muster/Chart.yaml the ${field} ${found}.`,
      );
  }
  return version;
}

function folder(name: string): string {
  const path = join(work, name);
  mkdirSync(path);
  return path;
}
