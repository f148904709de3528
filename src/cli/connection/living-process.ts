import { readFileSync } from 'node:fs';
import process from 'node:process';

/** What tells a process of this machine from all others, also from a later one that is given its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When it began, as only this start of this machine says it; undefined where the system does not tell. */
  readonly began?: string | undefined;
}

export function thisProcess(): ProcessIdentity {
  const began = beginOf(process.pid);
  return { pid: process.pid, ...(began !== undefined && { began }) };
}

/** Whether that very process still runs: one of another user or container is none that this one knows. */
export function isRunning({ pid, began }: ProcessIdentity): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return beginOf(pid) === began;
}

/** The state and the instant of the begin among the fields of `/proc/PID/stat` that follow the name. */
const [STATE, BEGIN] = [0, 19] as const;

/** Undefined where the system has no `/proc`, and of a process that has ended and was not yet waited for. */
function beginOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name is in brackets, and may have any character.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[STATE] === 'Z' || fields[STATE] === 'X') return undefined;
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}/${fields[BEGIN] ?? ''}`;
  } catch {
    return undefined;
  }
}
