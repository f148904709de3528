/* Settings of a person for this browser alone. A storage that is full, or that the browser forbids, keeps nothing. */

const PREFIX = 'muster-columns-';
/** Longer texts are none of ours. */
const KEPT_MAX = 2000;

/** The names that are kept under a key; undefined where there are none. */
export function readKept(key: string): readonly string[] | undefined {
  try {
    const text = localStorage.getItem(PREFIX + key);
    return text === null || text.length > KEPT_MAX ? undefined : text.split(' ').filter((name) => name !== '');
  } catch {
    return undefined;
  }
}

export function writeKept(key: string, names: readonly string[]): void {
  try {
    if (names.length === 0) localStorage.removeItem(PREFIX + key);
    else localStorage.setItem(PREFIX + key, names.join(' '));
  } catch {
    // The choice holds for this visit.
  }
}
