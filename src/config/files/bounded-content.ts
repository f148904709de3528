import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { OPEN_TO_READ, tooLong, whyNoFile, withoutByteOrderMark } from './configured-file.ts';

/** @throws Error in words for what is no file, or longer than `bytesMax`; the system's error where it cannot be read */
export async function boundedContent(path: string, bytesMax: number): Promise<Buffer> {
  await using file = await open(path, OPEN_TO_READ);
  const noFile = whyNoFile(await file.stat());
  if (noFile !== undefined) throw new Error(noFile);
  // One byte above the bound tells that there are more.
  const content = await buffer(file.createReadStream({ start: 0, end: bytesMax, autoClose: false }));
  if (content.length > bytesMax) throw new Error(tooLong(bytesMax));
  return withoutByteOrderMark(content);
}
