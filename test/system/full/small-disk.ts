import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

/** Without privileges: the mounts of a user namespace are seen by its processes alone, and end with them. */
const UNSHARE = ['unshare', '--user', '--map-root-user', '--mount'];

/** Why this machine has no small disks; undefined where it has. */
export function whyNoSmallDisk(): string | undefined {
  const [command, ...words] = [...UNSHARE, 'mount', '-t', 'tmpfs', 'none', '/mnt'];
  const { status } = spawnSync(command, words, { stdio: 'ignore' });
  return status === 0 ? undefined : 'tmpfs cannot be mounted in a user namespace here';
}

/** The words before a command that runs it with a disk of that many bytes at the directory. */
export const onSmallDisk = (directory: string, bytes: number): readonly string[] => [
  ...UNSHARE,
  'sh',
  '-c',
  `mount -t tmpfs -o size=${bytes} none "$0" && exec "$@"`,
  directory,
];

const enter = (pid: number): readonly string[] =>
  `nsenter --target ${pid} --user --mount --preserve-credentials`.split(' ');

/** A disk that outlives the processes on it: another process holds it, until the block ends. */
export class LastingDisk implements AsyncDisposable {
  readonly disk: SmallDisk;
  /** The words before a command that runs it with the disk. */
  readonly under: readonly string[];
  readonly #holder: ChildProcess;
  readonly #directory: string;

  private constructor(holder: ChildProcess, directory: string) {
    const pid = holder.pid ?? 0;
    this.#holder = holder;
    this.#directory = directory;
    this.disk = new SmallDisk(pid, directory);
    this.under = enter(pid);
  }

  static async make(directory: string, bytes: number): Promise<LastingDisk> {
    // It says when the disk is there, and waits for the end of its input, which comes with the end of this process too.
    const [command, ...words] = [...onSmallDisk(directory, bytes), 'sh', '-c', 'echo mounted && exec cat'];
    const holder = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    return new LastingDisk(holder, directory);
  }

  /** Copies the write-ahead log of a database into its file. It is done on the disk: SQLite follows links to it. */
  emptyLog(name: string): void {
    const path = JSON.stringify(join(this.#directory, name));
    const program = `new (require('node:sqlite').DatabaseSync)(${path}).exec('PRAGMA wal_checkpoint(TRUNCATE)')`;
    const [command, ...words] = [...this.under, process.execPath, '--eval', program];
    const { status, stderr } = spawnSync(command, words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command}: ${stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#holder, 'exit');
    this.#holder.stdin?.end();
    await ended;
  }
}

/** The disk as a process sees it that runs on it. */
export class SmallDisk {
  readonly path: string;
  private readonly pid: number;
  private readonly directory: string;

  constructor(pid: number, directory: string) {
    this.path = `/proc/${pid}/root${directory}`;
    this.pid = pid;
    this.directory = directory;
  }

  /** Takes all the room that is left, as a log of another program does. */
  fill(): void {
    const file = openSync(join(this.path, 'stranger'), 'a');
    try {
      for (let bytes = 1024 * 1024; bytes >= 1024;) {
        try {
          if (writeSync(file, Buffer.alloc(bytes, 1)) < bytes) bytes /= 2;
        } catch {
          bytes /= 2;
        }
      }
    } finally {
      closeSync(file);
    }
  }

  /** Gives the disk that many bytes, as an operator does with a volume. */
  enlarge(bytes: number): void {
    const [command, ...words] = [...enter(this.pid), 'mount', '-o', `remount,size=${bytes}`, this.directory];
    const { status, stderr } = spawnSync(command ?? '', words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`nsenter: ${stderr}`);
  }
}
