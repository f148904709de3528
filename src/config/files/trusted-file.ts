import { lstatSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import process from 'node:process';

/*
 * A stranger who can write a file with a secret in it could choose that secret: a token that opens the operator API, or
 * a key that seals what the fleet exports. So a file that others can write is refused, as OpenSSH refuses keys. Reading
 * is another matter: Kubernetes mounts Secrets as links to files of root that all of the pod may read.
 */

const [GROUP, OTHERS, STICKY] = [0o020, 0o002, 0o1000] as const;
/** As many links as the system itself follows. */
const LINKS_MAX = 40;

/** The user and group that a process runs as. */
export interface User {
  readonly uid: number;
  readonly gid: number;
  /**
   * All groups of a process in a pod of Kubernetes, undefined elsewhere. What can write a volume of a pod are its own
   * containers: an `emptyDir` is open to all of them, and at each start `fsGroup` lets a group of the pod write every
   * file of a claim. A mode that says so there is no stranger's.
   */
  readonly podGroups?: readonly number[];
}

/** Undefined on systems without such users. */
function thisUser(): User | undefined {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()];
  if (uid === undefined || gid === undefined) return undefined;
  return { uid, gid, ...(isInPod() && { podGroups: process.getgroups?.() ?? [] }) };
}

/**
 * Whether this is a container of Kubernetes: it gives each one a file of hosts, and names itself in its first line.
 * @param hostsFile only tests give one
 */
export function isInPod(hostsFile = '/etc/hosts'): boolean {
  try {
    return readFileSync(hostsFile, 'utf8').startsWith('# Kubernetes-managed hosts file');
  } catch {
    return false;
  }
}

/**
 * Tells in words why others can have written a file that the configuration names, or put it in its place: by the file,
 * by a link that leads to it, or by a directory on the way. Undefined where nobody else can, where the file cannot be
 * looked at (reading it tells why), and on systems without such modes.
 * @param user only tests give one
 */
export function writableByOthers(path: string, user = thisUser()): string | undefined {
  if (!user) return undefined;
  try {
    return new Walk(user).judge(resolve(path));
  } catch {
    return undefined;
  }
}

/**
 * The same for a file in the data directory, which the service makes and looks for by itself: it must belong to the
 * user of the service, or to root. The directories are left out, since volumes of containers are often open to all.
 * @param user only tests give one
 */
export function plantedByOthers(path: string, user = thisUser()): string | undefined {
  const stats = user && lstatSync(path, { throwIfNoEntry: false });
  if (!stats) return undefined;
  if (!isOf(user, stats))
    return `${path} belongs to another user: make it that of the service's user (chown), if it is yours`;
  return stats.isSymbolicLink() ? writableByOthers(path, user) : judgeFile(user, path, stats);
}

const isOf = (user: User, { uid }: Stats): boolean => uid === 0 || uid === user.uid;

class Walk {
  readonly #user: User;
  #links = 0;

  constructor(user: User) {
    this.#user = user;
  }

  /** Looks at each directory from the root to the file, and goes on where a link leads. */
  judge(path: string): string | undefined {
    const root = path.slice(0, path.indexOf(sep) + 1);
    const names = path.slice(root.length).split(sep);
    let at = root;
    let isShared = false;
    for (const name of ['', ...names]) {
      at = join(at, name);
      const stats = lstatSync(at);
      // In a shared directory that is sticky, as /tmp is one, others can add files, and replace none of ours.
      if (isShared && !isOf(this.#user, stats)) return `another user put ${at} there: use a file of your own`;
      if (stats.isSymbolicLink()) return this.#follow(at, path.slice(at.length + 1));
      if (!stats.isDirectory()) return judgeFile(this.#user, at, stats);
      isShared = this.#isShared(stats);
      if (isShared && (stats.mode & STICKY) === 0) {
        return `others can put another file in its place, since they can write ${at}: chmod go-w ${at}`;
      }
    }
    return undefined;
  }

  #follow(link: string, rest: string): string | undefined {
    this.#links += 1;
    return this.#links > LINKS_MAX ? undefined : this.judge(resolve(dirname(link), readlinkSync(link), rest));
  }

  /** A group that a user has alone, as many systems make it, stands for that user. */
  #isShared({ mode, gid }: Stats): boolean {
    if (this.#user.podGroups) return false;
    return (mode & OTHERS) !== 0 || ((mode & GROUP) !== 0 && gid !== 0 && gid !== this.#user.gid);
  }
}

function judgeFile({ podGroups = [] }: User, path: string, { mode, gid }: Stats): string | undefined {
  const others = podGroups.includes(gid) ? OTHERS : GROUP | OTHERS;
  return (mode & others) === 0 ? undefined : `others can write ${path}: chmod go-w ${path}`;
}
