import { pagesOf } from '../../store/pages.ts';
import type { Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ReviewRecord, SEVERITIES } from '../records/review-records.ts';
import { Refusal } from '../refusal.ts';

type Severity = (typeof SEVERITIES)[number];

/** The entries of a review queue in numbers. */
export interface ReviewCounts {
  readonly open: Readonly<Record<Severity, number>>;
  readonly confirmed: number;
  readonly dismissed: number;
  /** Entries that made room for newer ones, of all apps that there are. */
  readonly dropped: number;
  /** False where there are more entries than were counted. */
  readonly complete: boolean;
}

/** The most entries that are counted, and the size of a page of the store. */
const COUNTED_MAX = 5000;
const PAGE = 500;

/** Counts the entries of an account. @throws Refusal `not_found`; StoreUnavailable */
export type CountReviews = (accountId: string) => Promise<ReviewCounts>;

/** Creates the counter of review queues; a damaged entry is left out. */
export function createReviewCounts({ store, fleet }: { readonly store: Store; readonly fleet: Fleet }): CountReviews {
  return async (accountId) => {
    if (!(await (await fleet.current()).account(accountId))) throw new Refusal('not_found');
    const open = { low: 0, medium: 0, high: 0, critical: 0 };
    const decided = { confirmed: 0, dismissed: 0 };
    let counted = 0;
    let complete = true;
    for await (const { entries } of pagesOf(store, { prefix: KEYS.review.under(accountId), limit: PAGE })) {
      for (const entry of entries) {
        const record = readable(() => parseRecord(KEYS.review, entry).record);
        if (record?.status === 'open') open[record.severity] += 1;
        else if (record) decided[record.status] += 1;
      }
      counted += entries.length;
      complete = counted < COUNTED_MAX;
      if (!complete) break;
    }
    return { open, ...decided, dropped: await droppedOf(store, accountId), complete };
  };
}

async function droppedOf(store: Store, accountId: string): Promise<number> {
  let dropped = 0;
  for await (const { entries } of pagesOf(store, { prefix: KEYS.reviewIndex(accountId, ''), limit: PAGE })) {
    for (const entry of entries) {
      dropped += readable(() => parseRecord(KEYS.reviewIndex, entry).record)?.dropped ?? 0;
    }
  }
  return dropped;
}

function readable<T extends ReviewRecord | { dropped: number }>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

/**
 * The counts of an app in the queue: its entries, and how many made room for newer ones. @throws StoreUnavailable;
 * BadRecord
 */
export async function reviewsOfApp(
  store: Pick<Store, 'get'>,
  accountId: string,
  appId: string,
): Promise<{ readonly entries: number; readonly dropped: number }> {
  const entry = await store.get(KEYS.reviewIndex(accountId, appId));
  if (!entry) return { entries: 0, dropped: 0 };
  const { record } = parseRecord(KEYS.reviewIndex, entry);
  return { entries: record.entries.length, dropped: record.dropped };
}
