import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { toolsFolder } from '../../../support/run/tools-folder.ts';
import { onPath, toolPath } from '../control-plane/tools.ts';

/** Where npm finds the authorities that this machine trusts, and the image's build a copy of them. */
const AUTHORITIES = '/etc/ssl/certs/ca-certificates.crt';

/**
 * podman and buildah on the storage that holds the tests' images: by the tools' own variables, so that scripts and
 * podman-compose work there as they do elsewhere.
 */
export class ContainerTools implements Disposable {
  readonly env: Readonly<Record<string, string>>;
  /** Arguments of `build`: npm in there asks the registry that npm out here asks. */
  readonly building: readonly string[];
  readonly #folder: string;

  constructor() {
    this.#folder = mkdtempSync(join(tmpdir(), 'muster-tools-'));
    const file = (name: string, text: string): string => {
      writeFileSync(join(this.#folder, name), text);
      return join(this.#folder, name);
    };
    const storage = `driver = "overlay"\ngraphroot = "${toolsFolder()}/containers"\nrunroot = "/run/muster-containers"\n`;
    // crun, where it is the default, refuses machines with both versions of cgroups; a machine may keep limits from
    // root.
    const containers = `[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\n`;
    const npmrc = file('npmrc', `registry=${npmRegistry()}\ncafile=/authorities.crt\n`);
    this.env = {
      CONTAINERS_STORAGE_CONF: file('storage.conf', `[storage]\n${storage}`),
      CONTAINERS_CONF: file('containers.conf', containers),
      BUILDAH_RUNTIME: onPath('runc') ?? 'runc',
      PATH: `${process.env['PATH']}${delimiter}/usr/sbin${delimiter}/sbin`,
    };
    const mounts = [`${AUTHORITIES}:/authorities.crt:ro`, `${npmrc}:/usr/local/etc/npmrc:ro`];
    this.building = ['--network', 'host', ...mounts.flatMap((mount) => ['--volume', mount])];
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true });
  }
}

const npmRegistry = (): string => execFileSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).trim();

/** A folder with that helm under its plain name, for a PATH. */
export function helmFolder(helm: 3 | 4, folder: string): string {
  execFileSync('ln', ['--symbolic', toolPath(`helm${helm}`), join(folder, 'helm')]);
  return folder;
}
