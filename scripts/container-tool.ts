import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

/* docker, podman and buildah, as far as `npm run image` and `npm run publish-release` need them. */

export const TOOLS = ['docker', 'podman', 'buildah'] as const;
export type ToolName = (typeof TOOLS)[number];

/** The label in which an image names the commit that it was built from. */
export const REVISION = 'org.opencontainers.image.revision';

/** The labels in which an image names the one that it was built on. */
export const BASE_NAME = 'org.opencontainers.image.base.name';
export const BASE_DIGEST = 'org.opencontainers.image.base.digest';

/** Something that whoever runs the script can mend; the message is a sentence that says how. */
export class ToolError extends Error {}

interface Build {
  readonly root: string;
  readonly names: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  /** `linux/amd64`; the machine's own where it is left out. */
  readonly platform?: string;
  /** Further arguments of the tool's own `build`. */
  readonly further: readonly string[];
}

interface ImageFacts {
  /** The digest of the image's configuration, `sha256:…`: equal ids are equal contents. */
  readonly id: string;
  readonly architecture: string;
  /** The commit that it says it was built from; empty where it says none. */
  readonly revision: string;
  /** The image that it says it was built on; empty where it says none. */
  readonly base: { readonly name: string; readonly digest: string };
}

/**
 * The first of docker, podman and buildah that answers, or the one that is asked for.
 * @throws ToolError when none answers, or not the one that is asked for
 */
export function findTool(wanted?: ToolName): ContainerTool {
  const candidates = wanted === undefined ? TOOLS : [wanted];
  const silent: string[] = [];
  for (const name of candidates) {
    const { status, error, stderr } = spawnSync(name, PROBES[name], { encoding: 'utf8' });
    if (status === 0) return new ContainerTool(name);
    if (error === undefined) silent.push(`${name} is there and does not answer (${firstLine(stderr)})`);
  }
  const reasons = silent.length > 0 ? `${silent.join(', ')}; ` : '';
  const remedy =
    wanted === undefined
      ? 'install docker, podman or buildah, on Debian by "apt-get install podman".'
      : `install ${wanted}, or leave out --with.`;
  throw new ToolError(`No tool builds images here: ${reasons}${remedy}`);
}

/** They ask what does the work, docker's daemon or the machine of podman, since the command alone says little. */
const PROBES: Readonly<Record<ToolName, readonly string[]>> = {
  docker: ['version', '--format', '{{.Server.Version}}'],
  podman: ['info', '--format', '{{.Host.Arch}}'],
  buildah: ['info', '--format', '{{.host.arch}}'],
};

/** The names that registries have for a tag that they do not hold. */
const ABSENT = /manifest unknown|name unknown|manifest for \S+ not found/i;

export class ContainerTool {
  readonly name: ToolName;

  constructor(name: ToolName) {
    this.name = name;
  }

  /** @throws ToolError */
  build({ root, names, labels = {}, platform, further }: Build): void {
    const tags = names.flatMap((name) => ['--tag', name]);
    const labelled = Object.entries(labels).flatMap(([name, value]) => ['--label', `${name}=${value}`]);
    const on = platform === undefined ? [] : ['--platform', platform];
    // The others keep the layers of a build by themselves.
    const layers = this.name === 'buildah' ? ['--layers'] : [];
    const args = ['build', '--file', 'deploy/Dockerfile', ...layers, ...on, ...labelled, ...tags, ...further, '.'];
    // docker would add an attestation, and so make an index of the image, which not every loader of archives takes.
    const env = { ...process.env, BUILDX_NO_DEFAULT_ATTESTATIONS: '1' };
    const { status, error } = spawnSync(this.name, args, { cwd: root, env, stdio: ['ignore', 2, 'inherit'] });
    if (status !== 0) throw new ToolError(`${this.name} did not build the image${error ? `: ${error.message}` : ''}.`);
  }

  /**
   * Writes the image with its name to a file that is not there yet, in docker's format, which every loader of images
   * takes.
   * @throws ToolError
   */
  save(image: string, file: string): void {
    if (this.name === 'docker') this.#run('save', '--output', file, image);
    else if (this.name === 'podman')
      this.#run('save', '--quiet', '--format', 'docker-archive', '--output', file, image);
    else this.#run('push', '--quiet', image, `docker-archive:${file}:${image}`);
  }

  /**
   * Fetches what the registry has under this name.
   * @returns undefined where it has nothing
   * @throws ToolError when it does not say so clearly
   */
  pull(image: string, plainHttp: boolean): ImageFacts | undefined {
    const { status, stderr, error } = spawnSync(this.name, ['pull', '--quiet', ...this.#transport(plainHttp), image], {
      encoding: 'utf8',
    });
    if (status === 0) return this.inspect(image);
    if (status !== null && ABSENT.test(stderr)) return undefined;
    throw new ToolError(`${this.name} cannot read ${image}: ${error?.message ?? stderr.trim()}`);
  }

  /**
   * @returns the digest of the manifest in the registry, `sha256:…`
   * @throws ToolError
   */
  push(image: string, plainHttp: boolean): string {
    // docker has no file for it, and ends its output with it.
    if (this.name === 'docker') return digestIn(this.#run('push', image), image);
    const folder = mkdtempSync(join(tmpdir(), 'muster-push-'));
    try {
      const file = join(folder, 'digest');
      this.#run('push', '--quiet', ...this.#transport(plainHttp), '--digestfile', file, image);
      return digestIn(`digest: ${readFileSync(file, 'utf8')}`, image);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  /** @throws ToolError when there is no such image here */
  inspect(image: string): ImageFacts {
    const label = (labels: string): string =>
      [REVISION, BASE_NAME, BASE_DIGEST].map((name) => `{{index ${labels} "${name}"}}`).join(' ');
    const told =
      this.name === 'buildah'
        ? this.#run(
            'inspect',
            '--type',
            'image',
            '--format',
            `${BUILDAH_FACTS} ${label('.OCIv1.Config.Labels')}`,
            image,
          )
        : this.#run('image', 'inspect', '--format', `{{.Id}} {{.Architecture}} ${label('.Config.Labels')}`, image);
    const [id = '', architecture = '', revision = '', name = '', digest = ''] = told.trim().split(' ');
    return { id: id.startsWith('sha256:') ? id : `sha256:${id}`, architecture, revision, base: { name, digest } };
  }

  /**
   * Asks the registry which image a name means now, and fetches it.
   * @returns its digest, by which the registry gave it once more
   * @throws ToolError where the registry has none of that name, or does not say so clearly
   */
  resolve(name: string, plainHttp: boolean): string {
    const facts = this.pull(name, plainHttp);
    const repository = withoutTag(name);
    const digest = facts && this.#digestOf(name);
    if (digest === undefined) throw new ToolError(`${name} has no digest: its registry does not have it.`);
    const back = this.pull(`${repository}@${digest}`, plainHttp);
    if (back?.id !== facts?.id) throw new ToolError(`${repository}@${digest} is not the image that ${name} is.`);
    return digest;
  }

  #digestOf(name: string): string | undefined {
    const told =
      this.name === 'buildah'
        ? this.#run('inspect', '--type', 'image', '--format', '{{.FromImageDigest}}', name)
        : this.#run('image', 'inspect', '--format', '{{range .RepoDigests}}{{.}} {{end}}', name);
    return /(sha256:[0-9a-f]{64})\b/.exec(told)?.[1];
  }

  /** docker speaks plain HTTP to the loopback by itself. */
  #transport(plainHttp: boolean): string[] {
    return plainHttp && this.name !== 'docker' ? ['--tls-verify=false'] : [];
  }

  #run(...args: string[]): string {
    return run(this.name, args);
  }
}

/** A name of an image without its tag; a port is none. */
export const withoutTag = (name: string): string => name.replace(/:[^:/]+$/, '');

const BUILDAH_FACTS = '{{.FromImageID}} {{.OCIv1.Architecture}}';

const DIGEST = /digest: (sha256:[0-9a-f]{64})\b/i;

/**
 * The digest that a tool names in its output.
 * @throws ToolError when it names none
 */
export function digestIn(output: string, pushed: string): string {
  const digest = DIGEST.exec(output)?.[1];
  if (digest === undefined) throw new ToolError(`The digest of ${pushed} is not in the answer: ${output.trim()}`);
  return digest;
}

/**
 * Runs a program to its end.
 * @returns its standard output and, behind it, what it reported on the other one
 * @throws ToolError
 */
export function run(file: string, args: readonly string[], cwd?: string): string {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: 'utf8', ...(cwd && { cwd }) });
  if (error) throw new ToolError(`${file} cannot be run: ${error.message}`);
  if (status !== 0) throw new ToolError(`${[file, ...args].join(' ')} failed: ${(stderr || stdout).trim()}`);
  return stdout + stderr;
}

const firstLine = (text: string): string => text.trim().split('\n', 1)[0] ?? '';
