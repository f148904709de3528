import { writableByOthers } from '../../config/trusted-file.ts';
import { LiveKeyRing, parseKeyRing, type KeyRing } from '../../domain/keys/key-ring.ts';
import type { Log } from '../../log.ts';
import { boundedContent, watchedFile, type WatchedFile } from './watched-file.ts';

/** A file of a hundred keys with a remark on each is far smaller. */
const FILE_BYTES_MAX = 65_536;

/** After a `reread` a key that was added to the file is known, and one that was removed is gone, at once. */
export interface KeyFile extends WatchedFile {
  readonly ring: KeyRing;
}

/**
 * The key file of a running service. A file that cannot be read or is malformed changes nothing, and one error line
 * says why.
 * @param first the keys that the file had at the start
 * @param distrusted tells in words why the file of that path must not be used
 */
export function watchedKeyFile(
  path: string,
  first: KeyRing,
  log: Log,
  distrusted: (path: string) => string | undefined = writableByOthers,
): KeyFile {
  const ring = new LiveKeyRing(first);

  async function reread(): Promise<void> {
    const content = await boundedContent(path, FILE_BYTES_MAX);
    const why = distrusted(path);
    if (why !== undefined) throw new Error(why);
    take(content.toString('utf8'));
  }

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
    ...watchedFile({
      take: reread,
      failed: (why) => log.error({ path, why }, 'the key file cannot be used; the keys from before stay'),
      recovered: () => log.info({ path }, 'the key file can be read again'),
    }),
  };
}
