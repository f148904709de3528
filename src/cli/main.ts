import process from 'node:process';
import { muster } from './program.ts';
import { failed } from './outcome.ts';

/*
 * The command `muster`. Data goes to stdout; progress and words to stderr. The process ends by running out of work, so
 * that nothing it has written is cut off.
 */

// Whoever reads stdout may stop early, as `head` does: there is nobody left to write to, and that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.stderr.on('error', () => undefined);

await muster(process.env)
  .parseAsync(process.argv)
  .catch((error: unknown) => failed(error));
