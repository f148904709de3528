import process from 'node:process';
import { endSoon } from '../service/start-deadline.ts';
import { runMuster } from './program.ts';
import { exitCodeOfCommander, stdoutFailed } from './terminal/exit-codes.ts';

/*
 * The command `muster`. Data goes to stdout; progress and messages go to stderr. The process ends by running out of
 * work, so that no output is cut off; what something holds nevertheless is ended.
 */

process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(stdoutFailed(error)));
process.stderr.on('error', () => undefined);

await runMuster(process.env, process.argv.slice(2)).catch(async (error: unknown) => {
  process.exitCode = exitCodeOfCommander(error);
  if (process.exitCode !== undefined) return;
  // The words of faults know the whole program; help need not wait until that is loaded.
  const { failed } = await import('./terminal/exit.ts');
  failed(error);
});
endSoon();
