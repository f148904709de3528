import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { findTool, REVISION, run, ToolError, TOOLS, type ContainerTool } from './container-tool.ts';
import { packageChart, pullChart, pushChart, sameFiles, type PushedImage } from './published-chart.ts';
import { parseRegistry, type Registry } from './registry.ts';
import { exitWith, readToolArguments, UsageError } from './tool-arguments.ts';

/*
 * `npm run publish-release -- REGISTRY[/PATH] [--with docker|podman|buildah] [--plain-http] [-- ARGUMENTS]` builds the
 * image of this commit for linux/amd64, pushes it, pushes the chart with that image's digest in its values, and prints
 * both digests. A version is published once: where the registry has it from another commit nothing is pushed, and where
 * it has it from this one, nothing changes. Credentials are those of the tools' own login (`docker login` and its like,
 * `helm registry login`); ARGUMENTS go to the tool's own `build`.
 */

const ROOT = resolve(import.meta.dirname, '..');
const USAGE = `npm run publish-release -- REGISTRY[/PATH] [--with ${TOOLS.join('|')}] [--plain-http] [-- ARGUMENTS]`;
const ARCHITECTURE = 'amd64';

interface Release {
  readonly registry: Registry;
  readonly version: string;
  readonly commit: string;
  readonly plainHttp: boolean;
}

const work = mkdtempSync(join(tmpdir(), 'muster-release-'));
try {
  exitWith(USAGE, () => {
    const { positionals, plainHttp, wanted, further } = readToolArguments(process.argv.slice(2));
    const registry = parseRegistry(positionals);
    if (plainHttp && !registry.isLoopback)
      throw new UsageError('--plain-http is for a registry on the loopback of this machine alone.');
    const release = { registry, plainHttp, version: versionOf(), commit: cleanCommit() };
    publish(release, findTool(wanted), further);
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
  process.stdout.write(
    `${chart === undefined ? 'Published' : 'Published already, and unchanged'}:
image  ${registry.host}/${registry.repository}:${version}@${digest}
chart  ${charts}/muster:${version}@${chartDigest}

Install it:
helm install muster ${charts}/muster --version ${version}${plainHttp ? ' --plain-http' : ''} --namespace fleet --create-namespace --wait
`,
  );
}

function build({ commit, version }: Release, tool: ContainerTool, image: string, further: readonly string[]): void {
  process.stderr.write(`Building ${image} by ${tool.name} for linux/${ARCHITECTURE}.\n`);
  const labels = { [REVISION]: commit, 'org.opencontainers.image.version': version };
  tool.build({ root: ROOT, names: [image], labels, platform: `linux/${ARCHITECTURE}`, further });
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
