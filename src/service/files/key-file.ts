import type { ConfiguredFile } from '../../config/files/configured-file.ts';
import { LiveKeyRing, parseKeyRing, type KeyRing } from '../../domain/keys/key-ring.ts';
import type { WatchedFiles } from './watched-file.ts';

/**
 * The keys of a running service, from a file that is watched: a key that was added to it is known, and one that was
 * removed is gone, once the file was looked at. A file without a key that is in use is not taken; that of a start is
 * judged by the store once that is open (core.ts).
 * @param inUse those of these keys that something needs; rejects in words where that cannot be told
 * @throws ConfigError
 */
export function watchedKeyFile(
  files: WatchedFiles,
  file: ConfiguredFile,
  inUse: (numbers: readonly number[]) => Promise<readonly number[]>,
): KeyRing {
  const watched = files.add<KeyRing>({
    files: [file],
    parse(contents, current) {
      const next = parseKeyRing(contents[0].toString('utf8'));
      if (!current) return next;
      refuseOtherKeys(next, current);
      return lacking(next, current).length + lacking(current, next).length === 0 ? current : next;
    },
    async judge(next, current) {
      const removed = lacking(next, current);
      const needed = removed.length === 0 ? [] : await inUse(removed);
      if (needed.length === 0) return;
      throw new Error(inUseInWords(needed));
    },
    taken(next, before) {
      ring.replace(next);
      return { added: lacking(before, next), removed: lacking(next, before), known: next.numbers };
    },
  });
  const ring = new LiveKeyRing(watched.current);
  return ring;
}

/** Says that a key file lacks keys that are in use. */
export const inUseInWords = (numbers: readonly number[]): string =>
  `key ${numbers.join(', ')} is in use and not in it: put the line back, and remove it once ` +
  '`muster keys status` says that it may be';

/** The keys of `other` that `ring` does not have. */
const lacking = (ring: KeyRing, other: KeyRing): readonly number[] =>
  other.numbers.filter((number) => !ring.key(number));

function refuseOtherKeys(next: KeyRing, current: KeyRing): void {
  const other = current.numbers.find(
    (number) => next.key(number) && next.fingerprint(number) !== current.fingerprint(number),
  );
  if (other === undefined) return;
  throw new Error(`key ${other} is another one than before: a number keeps its key, a new key takes a greater number`);
}
