import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** The folder in which each cluster of this machine has its sockets, and the file with its owner. */
const SLOTS = '/run/muster-kubernetes';
const SLOTS_MAX = 8;

/** A number that no other cluster of this machine has, and the names and addresses that follow from it. */
export interface Slot {
  readonly number: number;
  readonly folder: string;
  /** This machine, as the nodes see it. */
  readonly hostAddress: string;
  readonly serviceRange: string;
  readonly podRange: string;
}

interface Owner {
  readonly pid: number;
  /** Tells it from a later process with the same number. */
  readonly startedAt: string;
}

const slot = (number: number): Slot => ({
  number,
  folder: join(SLOTS, String(number)),
  hostAddress: `10.189.${number}.1`,
  serviceRange: `10.191.${number * 4}.0/22`,
  podRange: `10.190.${number * 8}.0/21`,
});

/**
 * Takes a slot that is free.
 * @param clear takes down what an earlier owner, which is gone, left behind
 */
export async function takeSlot(clear: (slot: Slot) => Promise<void>): Promise<Slot> {
  mkdirSync(SLOTS, { recursive: true });
  const all = Array.from({ length: SLOTS_MAX }, (_, number) => slot(number));
  for (const left of all) if (existsSync(left.folder) && !isAlive(ownerOf(left))) await clear(left);
  const taken = all.find(claimed);
  if (taken) return taken;
  throw new Error(`${SLOTS_MAX} clusters run on this machine; ${SLOTS} has their owners`);
}

/** The last step of taking a cluster down. */
export function leaveSlot({ folder }: Slot): void {
  rmSync(folder, { recursive: true, force: true });
}

/** Whether no other cluster runs beside this one. */
export function isLast({ number }: Slot): boolean {
  return readdirSync(SLOTS).every((name) => !/^\d+$/.test(name) || name === String(number));
}

/** All at once, with its owner in it: a folder without one would be taken for what a crash left. */
function claimed({ folder }: Slot): boolean {
  const owner: Owner = { pid: process.pid, startedAt: startOf(process.pid) ?? '' };
  const made = mkdtempSync(join(SLOTS, 'new-'));
  writeFileSync(join(made, 'owner'), JSON.stringify(owner));
  try {
    renameSync(made, folder);
    return true;
  } catch {
    rmSync(made, { recursive: true });
    return false;
  }
}

function ownerOf({ folder }: Slot): Owner | undefined {
  try {
    return JSON.parse(readFileSync(join(folder, 'owner'), 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

const isAlive = (owner: Owner | undefined): boolean => owner !== undefined && startOf(owner.pid) === owner.startedAt;

/** The start of the process, in ticks since the start of the machine; undefined where there is no such process. */
function startOf(pid: number): string | undefined {
  try {
    // The second field is the program's name in parentheses, and may have spaces of its own.
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19];
  } catch {
    return undefined;
  }
}
