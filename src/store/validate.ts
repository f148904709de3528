import type { Change, Key, PageRequest, Write } from './port.ts';
import { COMMIT_OPERATIONS_MAX, expectAbsent, HEAD_KEY, HOLD_TTL_MS_MAX, PAGE_ENTRIES_MAX } from './port.ts';

/* Both back-ends refuse the requests that the port's contract rules out here, before anything is sent. */

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/;

/**
 * @throws RangeError for a change that is too large, touches a key twice, or writes `head` or a key or value that no
 * store keeps
 */
export function checkChange({ expect, write }: Change): void {
  if (expect.length > COMMIT_OPERATIONS_MAX || write.length > COMMIT_OPERATIONS_MAX) {
    throw new RangeError(`a change has at most ${COMMIT_OPERATIONS_MAX} expectations and as many writes`);
  }
  const targets = new Set<string>();
  for (const one of write) {
    const target = targetOf(one);
    checkTarget(one, target);
    if (targets.has(target)) throw new RangeError(`the change touches ${target} twice`);
    targets.add(target);
  }
  for (const one of write) if ('removeAll' in one) checkPrefix(one.removeAll, targets);
}

function targetOf(write: Write): string {
  if ('put' in write) return write.put;
  return 'remove' in write ? write.remove : write.removeAll;
}

function checkTarget(write: Write, target: string): void {
  if (!PRINTABLE_ASCII.test(target)) throw new RangeError('a key is one or more characters of printable ASCII');
  if (target === HEAD_KEY) throw new RangeError(`${HEAD_KEY} is written by the store alone`);
  if ('put' in write) checkValue(target, write.value);
}

/** @throws RangeError for a value that is not Unicode text */
export function checkValue(key: string, value: string): void {
  // A lone surrogate has no UTF-8: both back-ends would silently keep another value than the one given.
  if (!value.isWellFormed()) throw new RangeError(`the value of ${key} is not Unicode text`);
}

function checkPrefix(prefix: string, targets: ReadonlySet<string>): void {
  if (HEAD_KEY.startsWith(prefix)) throw new RangeError(`removing all of ${prefix} would remove ${HEAD_KEY}`);
  for (const target of targets) {
    if (target !== prefix && target.startsWith(prefix)) throw new RangeError(`the change touches ${target} twice`);
  }
}

/** @throws RangeError for a key or a value that no commit may write, and for a time to live out of its range */
export function checkHold(key: Key, value: string, ttlMs: number): void {
  checkChange({ expect: [expectAbsent(key)], write: [{ put: key, value }] });
  if (!(ttlMs > 0 && ttlMs <= HOLD_TTL_MS_MAX)) throw new RangeError(`a hold has 1 to ${HOLD_TTL_MS_MAX} ms to live`);
}

/** @throws RangeError for a limit outside 1 to `PAGE_ENTRIES_MAX` */
export function checkPageRequest({ limit }: PageRequest): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > PAGE_ENTRIES_MAX) {
    throw new RangeError(`a page has 1 to ${PAGE_ENTRIES_MAX} entries`);
  }
}
