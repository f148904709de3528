import type { AuditEntry, AuditPage, PageQuery } from '#client';
import { throughOutages, type Waiting } from '../../connection/through-outages.ts';

/** Reads a page of one audit. */
export type ReadPage = (page: PageQuery) => Promise<AuditPage>;

/** The largest page that the service gives. */
const PAGE_MAX = 1000;
const LOOK_EVERY_MS = 2000;
const LOOK_SELDOM_MS = 60_000;

/** The entries that are there now; about `most` are read at first, and more each time. @throws MusterError */
export async function* allPages(read: ReadPage, most = PAGE_MAX): AsyncGenerator<AuditEntry, void> {
  let after: string | undefined;
  for (let limit = most; ; limit *= 4) {
    const { entries, next } = await read({ limit: Math.min(limit, PAGE_MAX), after });
    yield* entries;
    if (next === undefined) return;
    after = next;
  }
}

interface Read {
  readonly after: string | undefined;
  /** The entries as text: that is what tells them apart. */
  readonly texts: readonly string[];
}

/**
 * The entries that are there, and each further one as it is seen, until the signal aborts. Replicas write at the same
 * time, so that an entry may come before others that were seen already: the last two pages are read again each time.
 *
 * The service tells each export of an audit in its own one, but not a page that goes on with one: so the first entry is
 * read alone, and all that follows is asked for by where it ends. An audit of one entry has no such place, and is
 * looked at ever more seldom.
 * @throws MusterError
 */
export async function* followed(read: ReadPage, { clock, signal, say }: Waiting): AsyncGenerator<AuditEntry, void> {
  let kept: readonly Read[] = [{ after: undefined, texts: [] }];
  let pauseMs = LOOK_EVERY_MS;
  while (!signal.aborted) {
    const seen = tally(kept);
    const now = new Map<string, number>();
    const pages: Read[] = [];
    for (let after = kept[0]?.after; ;) {
      const asked = { limit: after === undefined ? 1 : PAGE_MAX, after };
      const page = await throughOutages(() => read(asked), { clock, signal, say }).catch(unlessAborted);
      if (!page) return;
      const texts = page.entries.map((entry) => JSON.stringify(entry));
      for (const [at, entry] of page.entries.entries()) {
        const text = texts[at] ?? '';
        const count = (now.get(text) ?? 0) + 1;
        now.set(text, count);
        if (count > (seen.get(text) ?? 0)) yield entry;
      }
      pages.push({ after, texts });
      // Equal entries are of one instant, and lie together.
      if (pages.length > 2) for (const text of pages.shift()?.texts ?? []) now.delete(text);
      if (page.next === undefined) break;
      after = page.next;
    }
    // The page of one entry is not read again: its end has a name now.
    kept = pages.length > 1 && pages[0]?.after === undefined ? pages.slice(1) : pages;
    pauseMs = kept[0]?.after === undefined ? Math.min(LOOK_SELDOM_MS, pauseMs * 2) : LOOK_EVERY_MS;
    await clock.sleep(pauseMs, signal);
  }

  function unlessAborted(error: unknown): undefined {
    if (!signal.aborted) throw error;
  }
}

function tally(pages: readonly Read[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of pages.flatMap(({ texts }) => texts)) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}
