import process from 'node:process';

/** What closes within it, closes by itself. */
const LINGERS_MS_MAX = 2000;

/**
 * Ends a process that has done its work, with the exit code that is set, although something holds it: a supervisor
 * restarts only what has ended. A process that nothing holds ends at once, by running out of work. To be called by the
 * program alone: whoever runs the service within another program ends itself.
 */
export function endSoon(): void {
  const end = (): void => {
    // A reader that is slow gets all of it.
    if (process.stdout.writableLength + process.stderr.writableLength > 0) endSoon();
    else process.exit();
  };
  setTimeout(end, LINGERS_MS_MAX).unref();
}
