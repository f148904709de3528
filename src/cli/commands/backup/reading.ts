import { createReadStream } from 'node:fs';
import { BadBackup } from '../../../domain/backup/file-format.ts';
import { BadRecord } from '../../../domain/records/codec.ts';
import { naming } from '../../../service/files/file-error.ts';
import { CommandFault, EXIT } from '../../terminal/exit.ts';
import type { Progress } from '../../terminal/progress.ts';

type Reading = (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** Passes the bytes on until the signal aborts, and reports their number over all readings. */
export function counting(progress: Progress, signal: AbortSignal): Reading {
  let done = 0;
  return async function* counted(bytes) {
    for await (const chunk of bytes) {
      signal.throwIfAborted();
      progress.at((done += chunk.length));
      yield chunk;
    }
  };
}

/** The bytes of a file. @throws the system's error, which names the file */
export async function* bytesIn(path: string): AsyncGenerator<Uint8Array, void> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw naming(path, error);
  }
}

/** What is wrong with a file is the verdict of a command that only checks it. @throws CommandFault with exit code 3 */
export function asVerdict(error: unknown): never {
  if (error instanceof BadBackup || error instanceof BadRecord) throw new CommandFault(error.message, EXIT.bad);
  throw error;
}
