import { spawn, type ChildProcess } from 'node:child_process';
import process from 'node:process';

/** Kills the child when this process ends or is gone, however it went: the pipe to the watcher closes with it. */
export function guard(child: ChildProcess): void {
  const watcher = spawn('/bin/sh', ['-c', 'cat >/dev/null; kill -9 "$0"', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Not in the process group that a ^C goes to, or it would die before it can act.
    detached: true,
  });
  watcher.unref();
  killAtExit(child);
  // From then on the number may be somebody else's.
  child.once('exit', () => watcher.kill('SIGKILL'));
}

const ending = new Map<ChildProcess, () => void>();

/**
 * Kills a child that is left when this process ends by itself. One listener for all: many commands run side by side.
 */
export function killAtExit(child: ChildProcess, kill: () => void = () => void child.kill('SIGKILL')): void {
  if (ending.size === 0) process.once('exit', killAll);
  ending.set(child, kill);
  child.once('exit', () => {
    ending.delete(child);
    if (ending.size === 0) process.off('exit', killAll);
  });
}

/** Kills those of `killAtExit` now, for what has to come after. */
export function killAll(): void {
  for (const kill of ending.values()) kill();
}
