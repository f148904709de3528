import { createReadStream } from 'node:fs';
import process from 'node:process';
import { CommandFault, EXIT, fileTrouble } from './exit.ts';

/**
 * The text of a file, or of stdin where the path is `-`.
 * @throws CommandFault with exit code 2 where it cannot be read, is longer, or is not UTF-8; it repeats no content
 */
export async function inputOf(path: string, bytesMax: number): Promise<string> {
  const what = path === '-' ? 'stdin' : path;
  const stream = path === '-' ? process.stdin : createReadStream(path);
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      pieces.push(piece);
      length += piece.length;
      if (length > bytesMax) break;
    }
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new CommandFault(`${what}: ${fileTrouble(code)}`, EXIT.usage);
  }
  if (length > bytesMax) throw new CommandFault(`${what}: it must have at most ${bytesMax} bytes`, EXIT.usage);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces));
  } catch {
    throw new CommandFault(`${what}: it must be text in UTF-8`, EXIT.usage);
  }
}

/** As `inputOf`, without the end of its last line: a secret or a value that an editor or `echo` has written. */
export const valueIn = async (path: string, bytesMax: number): Promise<string> =>
  (await inputOf(path, bytesMax)).replace(/\r?\n$/, '');
