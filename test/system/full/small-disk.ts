import { spawnSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

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
    const target = ['--target', String(this.pid), '--user', '--mount', '--preserve-credentials'];
    const words = [...target, 'mount', '-o', `remount,size=${bytes}`, this.directory];
    const { status, stderr } = spawnSync('nsenter', words, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`nsenter: ${stderr}`);
  }
}
