import process from 'node:process';
import { MusterError } from '#client';
import { ConfigError } from '../../config/files/config-error.ts';
import { BadBackup } from '../../domain/backup/file-format.ts';
import { RestoreFault } from '../../domain/backup/restore-writer.ts';
import { BadRecord } from '../../domain/records/codec.ts';
import { Busy, ConfigurationFault } from '../../domain/refusal.ts';
import { StoreUnavailable } from '../../store/port.ts';
import {
  CommandFault,
  EXIT,
  exitCodeOfCommander,
  exitCodeOfStatus,
  fileTrouble,
  FILE_TROUBLE,
  say,
} from './exit-codes.ts';
import { printable } from './printable.ts';

export { CommandFault, EXIT, exitCodeOfStatus, fileTrouble, requireWholeStdout } from './exit-codes.ts';

/** Writes one line for a person and sets the exit code: never a stack, never the value of a variable. */
export function failed(error: unknown): void {
  process.exitCode = exitCodeOf(error);
  // Commander has written its own message.
  if (exitCodeOfCommander(error) !== undefined) return;
  if (error instanceof ConfigError) say(`muster: the configuration is wrong.\n${error.message}`);
  // One line: words that others have chosen cannot pretend to be a second one.
  else say(`muster: ${printable(wordsOf(error))}`);
}

/** The exit code of a command that ends with this error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandFault) return error.exitCode;
  if (error instanceof MusterError) return exitCodeOfClient(error);
  return exitCodeOfCommander(error) ?? (error instanceof ConfigError ? EXIT.usage : EXIT.failed);
}

function exitCodeOfClient({ code, status }: MusterError): number {
  if (code === 'invalid_argument') return EXIT.usage;
  // An answer that is not from Muster says nothing of its names and keys.
  return code === 'bad_answer' ? EXIT.failed : exitCodeOfStatus(status);
}

const MEANT_FOR_PEOPLE = [CommandFault, BadBackup, BadRecord, RestoreFault, StoreUnavailable, Busy, ConfigurationFault];

/** An error in words: those of the system (a file, a connection) and the project's own. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unexpected fault';
  if (MEANT_FOR_PEOPLE.some((kind) => error instanceof kind)) return error.message;
  if (error instanceof MusterError) return wordsOfClient(error);
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== undefined && path !== undefined) return `${path || "''"}: ${fileTrouble(code)}`;
  if (code !== undefined && code in FILE_TROUBLE) return fileTrouble(code);
  return error.message.split('\n')[0] ?? error.name;
}

/** The id leads to the request in the log of the service. */
const wordsOfClient = ({ message, requestId }: MusterError): string =>
  requestId === '' ? message : `${message} (request ${requestId})`;
