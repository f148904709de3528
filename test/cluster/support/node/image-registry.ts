import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Program } from '../control-plane/program.ts';
import { toolPath } from '../control-plane/tools.ts';

const MANIFESTS = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** A registry on the loopback, by plain HTTP, with nothing in it. */
export class ImageRegistry implements AsyncDisposable {
  /** Host and port. */
  readonly host: string;
  readonly #program: Program;
  readonly #folder: string;

  private constructor(host: string, program: Program, folder: string) {
    this.host = host;
    this.#program = program;
    this.#folder = folder;
  }

  static async start(): Promise<ImageRegistry> {
    const folder = mkdtempSync(join(tmpdir(), 'muster-registry-'));
    const storage = { filesystem: { rootdirectory: join(folder, 'data') }, delete: { enabled: true } };
    // JSON is YAML.
    const settings = { version: '0.1', log: { level: 'info' }, storage, http: { addr: '127.0.0.1:0' } };
    writeFileSync(join(folder, 'registry.yaml'), JSON.stringify(settings));
    const program = new Program({
      name: 'registry',
      command: [toolPath('registry'), 'serve', join(folder, 'registry.yaml')],
      log: join(folder, 'registry.log'),
      env: { OTEL_TRACES_EXPORTER: 'none' },
    });
    const host = (): string | undefined => /listening on ([\d.]+:\d+)/.exec(program.logged())?.[1];
    await program.start(async () => host() !== undefined);
    return new ImageRegistry(host() ?? '', program, folder);
  }

  /** The digest of what has this tag or digest; undefined where there is nothing. */
  async digest(repository: string, reference: string): Promise<string | undefined> {
    const answer = await this.#ask(repository, reference, 'HEAD');
    return answer.ok ? (answer.headers.get('docker-content-digest') ?? '') : undefined;
  }

  /** The digest of an image's configuration, which is its id where it is kept. */
  async configDigest(repository: string, digest: string): Promise<string> {
    const manifest = (await (await this.#ask(repository, digest)).json()) as { config: { digest: string } };
    return manifest.config.digest;
  }

  /** Forgets a manifest, and every tag of it. */
  async remove(repository: string, digest: string): Promise<void> {
    const { status } = await this.#ask(repository, digest, 'DELETE');
    if (status !== 202) throw new Error(`DELETE ${repository}@${digest}: ${status}`);
  }

  #ask(repository: string, reference: string, method = 'GET'): Promise<Response> {
    const url = `http://${this.host}/v2/${repository}/manifests/${reference}`;
    return fetch(url, { method, headers: { accept: MANIFESTS.join(', ') } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true });
  }
}
