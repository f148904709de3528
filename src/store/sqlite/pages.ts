import type { Entry, Page, PageRequest } from '../port.ts';
import { type Database, endOf } from './database.ts';
import type { History } from './history.ts';

/* Pages of the store as it is, and as it was. */

/** `start` is inclusive, `end` exclusive. */
interface Bounds {
  readonly start: string;
  readonly end: string;
}

function boundsOf({ prefix, after }: PageRequest): Bounds {
  // The character that sorts first makes the successor of a key.
  const start = after === undefined || after < prefix ? prefix : `${after}\0`;
  return { start, end: endOf(prefix) };
}

/** A page of the newest revision, which the caller knows. */
export function pageNow(database: Database, request: PageRequest, revision: number): Page {
  const { start, end } = boundsOf(request);
  return pageOf(database.page(start, end, request.limit + 1, request.keysOnly), request, revision);
}

/** A page of a past revision, which the history must reach. */
export function pageThen(database: Database, history: History, request: PageRequest, revision: number): Page {
  const found = rangeThen(database, history, boundsOf(request), revision).take(request.limit + 1);
  return pageOf(found.toArray(), request, revision);
}

/** The entries of a past revision: today's entries, with every later change undone. */
function* rangeThen(
  database: Database,
  history: History,
  { start, end }: Bounds,
  revision: number,
): Generator<Entry, undefined> {
  const undone = new Map<string, Entry | undefined>();
  for (const { key, previous } of history.after(revision)) {
    if (key >= start && key < end && !undone.has(key)) undone.set(key, previous);
  }
  const restored = [...undone.values()]
    .filter((entry) => entry !== undefined)
    .toSorted(byKey)
    .values();
  let next = restored.next();
  for (const entry of database.range(start, end)) {
    for (; next.value !== undefined && next.value.key < entry.key; next = restored.next()) yield next.value;
    if (!undone.has(entry.key)) yield entry;
  }
  for (; next.value !== undefined; next = restored.next()) yield next.value;
}

const byKey = (a: Entry, b: Entry): number => (a.key < b.key ? -1 : 1);

/** @param found the entries of the page, and one more where there is one */
function pageOf(found: readonly Entry[], { limit, keysOnly }: PageRequest, revision: number): Page {
  const more = found.length > limit;
  const entries = more ? found.slice(0, limit) : found;
  const next = entries.at(-1)?.key;
  const shown = keysOnly === true ? entries.map(({ key, revision }) => ({ key, value: '', revision })) : entries;
  return { entries: shown, revision, ...(more && next !== undefined ? { next } : {}) };
}
