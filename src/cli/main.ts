import process from 'node:process';
import { muster } from './program.ts';
import { failed, stdoutFailed } from './terminal/exit.ts';

/*
 * The command `muster`. Data goes to stdout; progress and messages go to stderr. The process ends by running out of
 * work, so that no output is cut off.
 */

process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(stdoutFailed(error)));
process.stderr.on('error', () => undefined);

await muster(process.env)
  .parseAsync(process.argv)
  .catch((error: unknown) => failed(error));
