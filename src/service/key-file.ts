import { open } from 'node:fs/promises';
import { LiveKeyRing, parseKeyRing, type KeyRing } from '../domain/keys/key-ring.ts';
import type { Log } from '../log.ts';

/** A hundred keys and what is said of them fit in it by far. */
const FILE_BYTES_MAX = 65_536;

export interface KeyFile {
  readonly ring: KeyRing;
  /**
   * Takes what the file says now: a new key is known, and one that is not there any more is gone, at once. A file that
   * cannot be read or is malformed changes nothing, and one error line says why. Never throws.
   */
  readonly reread: () => Promise<void>;
}

/** The key file of a running service. It goes by the content: a mounted secret keeps neither its inode nor its time. */
export function watchedKeyFile(path: string, first: KeyRing, log: Log): KeyFile {
  const ring = new LiveKeyRing(first);
  let trouble: string | undefined;

  function take(text: string): void {
    const next = parseKeyRing(text);
    const other = ring.numbers.find(
      (number) => next.key(number) && next.fingerprint(number) !== ring.fingerprint(number),
    );
    if (other !== undefined) {
      throw new Error(
        `key ${other} is another one than before: a number keeps its key, a new key takes a greater number`,
      );
    }
    const added = next.numbers.filter((number) => !ring.key(number));
    const removed = ring.numbers.filter((number) => !next.key(number));
    if (added.length + removed.length === 0) return;
    ring.replace(next);
    log.info({ path, added, removed, known: next.numbers }, 'the key file has changed');
  }

  return {
    ring,
    async reread() {
      try {
        take(await contentOf(path));
        if (trouble !== undefined) log.info({ path }, 'the key file can be read again');
        trouble = undefined;
      } catch (error) {
        const words = wordsOf(error);
        if (words !== trouble)
          log.error({ path, why: words }, 'the key file cannot be used; the keys from before stay');
        trouble = words;
      }
    },
  };
}

async function contentOf(path: string): Promise<string> {
  await using file = await open(path, 'r');
  const { buffer, bytesRead } = await file.read(Buffer.alloc(FILE_BYTES_MAX + 1), 0, FILE_BYTES_MAX + 1, 0);
  if (bytesRead > FILE_BYTES_MAX) throw new Error(`it has more than ${FILE_BYTES_MAX} bytes`);
  return buffer.toString('utf8', 0, bytesRead);
}

/** The rule that is broken, or the system's code: never the content. */
function wordsOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code === undefined ? message : `it cannot be read (${code})`;
}
