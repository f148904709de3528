import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from './control-plane/program.ts';
import { leaveSlot, type Slot } from './control-plane/slot.ts';
import { cgroupOf, processesIn, removeCgroup } from './node/cgroups.ts';
import { kill } from './node/kill.ts';
import { restoreKernelSettings } from './node/kernel.ts';
import { removeNetwork } from './node/network.ts';

/**
 * Remembers the folder in which the cluster keeps its files, so that it can be cleared without its owner. Where there
 * is plenty of memory it lies in there: the images' tens of thousands of files are written and removed in no time then.
 */
export function settleFolder(slot: Slot, folder: string): void {
  writeFileSync(join(slot.folder, 'files'), folder);
  const available = /^MemAvailable:\s+(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  if (Number(available) < PLENTY_KIB) return;
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${FILES_KIB}k,mode=700`, 'muster-kubernetes', folder]);
}

const PLENTY_KIB = 8_000_000;
const FILES_KIB = 5_000_000;

/** Takes down all that a cluster is, whether its owner does it or whoever comes after a crash. */
export async function clear(slot: Slot): Promise<void> {
  const noted = join(slot.folder, 'files');
  const folders = [slot.folder, ...(existsSync(noted) ? [readFileSync(noted, 'utf8')] : [])];
  const groups = [0, 1, 2].map((node) => cgroupOf(slot, node));
  await eventually('every process of the cluster is gone', () => {
    const left = [...groups.flatMap(processesIn), ...processesNaming(folders)];
    for (const pid of left) kill(pid);
    return left.length === 0;
  });
  for (const mount of mountsUnder(folders)) execFileSync('umount', ['--lazy', mount], { stdio: 'pipe' });
  for (const group of groups) removeCgroup(group);
  removeNetwork(slot);
  removeLogLinks(folders);
  restoreKernelSettings(slot);
  for (const folder of folders.slice(1)) rmSync(folder, { recursive: true, force: true });
  leaveSlot(slot);
}

/** The processes with a file or a socket of the cluster among their arguments; no other process names these folders. */
export function processesNaming(folders: readonly string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => folders.some((folder) => argumentsOf(pid).includes(`${folder}/`)))
    .map(Number);
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** The inner ones first. */
function mountsUnder(folders: readonly string[]): string[] {
  const mounts = readFileSync('/proc/mounts', 'utf8').split('\n');
  const paths = mounts.map((line) => line.split(' ')[1] ?? '');
  return paths.filter((path) => folders.some((folder) => `${path}/`.startsWith(`${folder}/`))).toReversed();
}

const LOG_LINKS = '/var/log/containers';

/** The kubelet links each container's log there, whatever its own folder is. */
function removeLogLinks(folders: readonly string[]): void {
  if (!existsSync(LOG_LINKS)) return;
  for (const name of readdirSync(LOG_LINKS)) {
    const target = readlinkSync(join(LOG_LINKS, name));
    if (folders.some((folder) => target.startsWith(`${folder}/`))) unlinkSync(join(LOG_LINKS, name));
  }
}
