import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Every file under a directory, as bytes. */
export function rawFiles(directory: string): ReadonlyMap<string, Buffer> {
  const files = new Map<string, Buffer>();
  for (const name of readdirSync(directory, { recursive: true, encoding: 'utf8' })) {
    const path = join(directory, name);
    if (statSync(path).isFile()) files.set(name, readFileSync(path));
  }
  return files;
}

/** The files that hold the bytes of the text anywhere: as it is, in base64 at any offset, or in hex. */
export function filesWith(files: ReadonlyMap<string, Buffer>, text: string): string[] {
  const spellings = [text, Buffer.from(text).toString('hex')];
  for (const lead of [0, 1, 2]) {
    const shifted = Buffer.concat([Buffer.alloc(lead), Buffer.from(text)]).toString('base64');
    // The characters that depend on the neighbouring bytes are cut: the first one or two, and the last.
    spellings.push(shifted.slice(lead === 0 ? 0 : lead + 1, -4));
  }
  return [...files].filter(([, bytes]) => spellings.some((spelling) => bytes.includes(spelling))).map(([name]) => name);
}
