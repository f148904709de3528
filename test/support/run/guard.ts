import { spawn, type ChildProcess } from 'node:child_process';

/** Kills the child when this process is gone, however it went: the pipe to the watcher closes with it. */
export function guard(child: ChildProcess): void {
  const watcher = spawn('/bin/sh', ['-c', 'cat >/dev/null; kill -9 "$0"', String(child.pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // Not in the process group that a ^C goes to, or it would die before it can act.
    detached: true,
  });
  watcher.unref();
  // From then on the number may be somebody else's.
  child.once('exit', () => watcher.kill('SIGKILL'));
}
