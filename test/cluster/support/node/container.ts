import { randomUUID } from 'node:crypto';
import { toolsFolder } from '../../../support/run/tools-folder.ts';
import { command } from '../control-plane/command.ts';
import { eventually } from '../control-plane/program.ts';
import { onPath } from '../control-plane/tools.ts';

/** podman on the storage that holds the tests' images, and nothing of the machine's own. */
export function podman(...args: string[]): Promise<string> {
  const storage = ['--root', `${toolsFolder()}/containers`, '--runroot', '/run/muster-containers'];
  return command(onPath('podman') ?? 'podman', [...storage, ...args]);
}

interface ContainerOptions {
  readonly image: string;
  /** `UID:GID`, of nobody that the image knows. */
  readonly user: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The image run as hardened as Pod Security's `restricted` asks for, on a root file system that cannot be written. */
export class Container implements AsyncDisposable {
  readonly #name: string;

  private constructor(name: string) {
    this.#name = name;
  }

  static async run({ image, user, env }: ContainerOptions): Promise<Container> {
    const container = new Container(`muster-${randomUUID()}`);
    const bounds = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096', '--memory=512m', '--pids-limit=128'];
    const hardened = ['--read-only', '--read-only-tmpfs=false', '--cap-drop=all', '--security-opt=no-new-privileges'];
    // The mount is not over the image's own folder: runc gives it the mode of the folder under it, which is private.
    const data = ['--tmpfs=/tmp:rw,noexec,nosuid,size=2g', '--env=MUSTER_DATA_DIR=/tmp/data'];
    const variables = Object.entries(env).map(([name, value]) => `--env=${name}=${value}`);
    const as = [`--name=${container.#name}`, `--user=${user}`, '--network=host', '--runtime=runc', '--pull=never'];
    await podman('run', '--detach', ...as, ...bounds, ...hardened, ...data, ...variables, image);
    return container;
  }

  /** The standard output so far. */
  logs(): Promise<string> {
    return podman('logs', this.#name);
  }

  /** The first line of its log with this in it. */
  async line(words: string): Promise<string> {
    let found: string | undefined;
    await eventually(
      () => `the container says: ${words}`,
      async () => {
        found = (await this.logs()).split('\n').find((line) => line.includes(words));
        if (found === undefined && !(await this.#runs())) throw new Error(`it ended:\n${await this.logs()}`);
        return found !== undefined;
      },
    );
    return found ?? '';
  }

  async #runs(): Promise<boolean> {
    return (await podman('inspect', '--format={{.State.Running}}', this.#name)).trim() === 'true';
  }

  exec(...args: string[]): Promise<string> {
    return podman('exec', this.#name, ...args);
  }

  /** Sends its first process the signal, and waits for its exit code. */
  async end(signal: 'SIGTERM' | 'SIGINT'): Promise<number> {
    await podman('kill', `--signal=${signal}`, this.#name);
    return Number(await podman('wait', this.#name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await podman('rm', '--force', '--time=0', this.#name);
  }
}
