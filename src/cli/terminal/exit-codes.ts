import process from 'node:process';
import { CommanderError } from 'commander';
import { printable } from './printable.ts';

/*
 * The exit codes, which every start of the command loads; the words of faults, which know the whole program, stand in
 * exit.ts.
 */

/** Exit codes of the command; docs/CLI.md has the same table. */
export const EXIT = {
  ok: 0,
  /** The command could not do its work. */
  failed: 1,
  /** The command line or the configuration is wrong; nothing was tried. */
  usage: 2,
  /** The check was made, and found a fault. */
  bad: 3,
  /** The service knows nothing of that name. */
  notFound: 4,
  /** The service does not take the credential, or it may not do this. */
  notAuthorised: 5,
} as const;

/** The exit code for a status with which the service refused a request. */
export function exitCodeOfStatus(status: number): number {
  if (status === 401 || status === 403) return EXIT.notAuthorised;
  return status === 404 ? EXIT.notFound : EXIT.failed;
}

/** The exit code where commander has ended the command, with words of its own: help, or wrong usage. */
export function exitCodeOfCommander(error: unknown): number | undefined {
  if (!(error instanceof CommanderError)) return undefined;
  return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
}

/** Ends the command with a sentence for the person at the terminal. */
export class CommandFault extends Error {
  override readonly name = 'CommandFault';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Writes lines to stderr; whatever a terminal would obey is escaped. */
export const say = (text: string): void => void process.stderr.write(`${text.split('\n').map(printable).join('\n')}\n`);

let wholeStdoutRequired = false;
let lostWithStdout = '';

/**
 * Makes it a fault, from here on, when stdout is not read to its end: half a backup is useless, and a verdict comes
 * last.
 * @param lost says what is made and lost where stdout is not written, and what to do: whole sentences
 */
export function requireWholeStdout(lost = ''): void {
  wholeStdoutRequired = true;
  lostWithStdout = lost;
}

/**
 * Decides what an error of stdout means: a reader may close it early, as `head` does, which is no fault of a list.
 * @returns the exit code, since nothing is left to do
 */
export function stdoutFailed(error: NodeJS.ErrnoException): number {
  const { code = 'unknown' } = error;
  if (code === 'EPIPE' && !wholeStdoutRequired) return EXIT.ok;
  const why = code === 'EPIPE' ? 'nobody reads it to its end' : fileTrouble(code);
  say(`muster: stdout: ${lostWithStdout === '' ? why : `${why}. ${lostWithStdout}`}`);
  return EXIT.failed;
}

export const FILE_TROUBLE: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  ENOENT: 'no such file or directory',
  EEXIST: 'it is there already',
  EISDIR: 'it is a directory',
  EFBIG: 'it is larger than a file may be here',
  ENOSPC: 'no space left on the disk',
  EROFS: 'the file system is read-only',
  // No file can take the place of one that is mounted by itself, as `docker run -v FILE:FILE` does it.
  EBUSY: 'it is mounted by itself, and cannot be replaced: mount its folder in its place',
};

/** The system's code of a file's fault in words; the code itself where there are none. */
export const fileTrouble = (code: string): string => FILE_TROUBLE[code] ?? code;
