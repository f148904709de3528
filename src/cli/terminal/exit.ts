import process from 'node:process';
import { CommanderError } from 'commander';
import { ConfigError } from '../../config/config.ts';
import { BadBackup } from '../../domain/backup/file-format.ts';
import { RestoreFault } from '../../domain/backup/restore-writer.ts';
import { BadRecord } from '../../domain/records/codec.ts';
import { Busy, ConfigurationFault } from '../../domain/refusal.ts';
import { StoreUnavailable } from '../../store/port.ts';
import { printable } from './printable.ts';

/** Exit codes of the command; docs/CLI.md has the same table. */
export const EXIT = {
  ok: 0,
  /** The command could not do its work. */
  failed: 1,
  /** The command line or the configuration is wrong; nothing was tried. */
  usage: 2,
  /** The check was made, and found a fault. */
  bad: 3,
} as const;

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

/** Writes one line for a person and sets the exit code: never a stack, never the value of a variable. */
export function failed(error: unknown): void {
  process.exitCode = exitCodeOf(error);
  // Commander has written its own message.
  if (error instanceof CommanderError) return;
  if (error instanceof ConfigError) say(`muster: the configuration is wrong.\n${error.message}`);
  // One line: words that others have chosen cannot pretend to be a second one.
  else say(`muster: ${printable(wordsOf(error))}`);
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFault) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  return error instanceof ConfigError ? EXIT.usage : EXIT.failed;
}

let wholeStdoutRequired = false;

/**
 * Makes it a fault, from here on, when stdout is not read to its end: half a backup is useless, and a verdict comes
 * last.
 */
export function requireWholeStdout(): void {
  wholeStdoutRequired = true;
}

/**
 * Decides what an error of stdout means: a reader may close it early, as `head` does, which is no fault of a list.
 * @returns the exit code, since nothing is left to do
 */
export function stdoutFailed(error: NodeJS.ErrnoException): number {
  const { code = 'unknown' } = error;
  if (code === 'EPIPE' && !wholeStdoutRequired) return EXIT.ok;
  say(`muster: stdout: ${code === 'EPIPE' ? 'nobody reads it to its end' : fileTrouble(code)}`);
  return EXIT.failed;
}

const MEANT_FOR_PEOPLE = [CommandFault, BadBackup, BadRecord, RestoreFault, StoreUnavailable, Busy, ConfigurationFault];

/** An error in words: those of the system (a file, a connection) and the project's own. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected fault';
  if (MEANT_FOR_PEOPLE.some((kind) => error instanceof kind)) return error.message;
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== undefined && path !== undefined) return `${path}: ${fileTrouble(code)}`;
  if (code !== undefined && code in FILE_TROUBLE) return fileTrouble(code);
  return error.message.split('\n')[0] ?? error.name;
}

const FILE_TROUBLE: Readonly<Record<string, string>> = {
  EACCES: 'no permission',
  EPERM: 'no permission',
  ENOENT: 'no such file or directory',
  EEXIST: 'it is there already',
  EISDIR: 'it is a directory',
  EFBIG: 'it is larger than a file may be here',
  ENOSPC: 'no space left on the disk',
  EROFS: 'the file system is read-only',
};

/** The system's code of a file's fault in words; the code itself where there are none. */
export const fileTrouble = (code: string): string => FILE_TROUBLE[code] ?? code;
