import { account, type ReviewEntry } from '../../api/panel.ts';

export type Status = ReviewEntry['status'];
export type Severity = ReviewEntry['severity'];

const RANK: Readonly<Record<Severity, number>> = { critical: 0, high: 1, medium: 2, low: 3 };

/** Those that came in one request are told apart by when they happened, and at last by their id. */
const ageOf = ({ receivedAt, at, entryId }: ReviewEntry): string => `${receivedAt} ${at} ${entryId}`;
const compared = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** The most severe first, and of these the oldest. */
export const inTriageOrder = (entries: readonly ReviewEntry[], severity: '' | Severity): readonly ReviewEntry[] =>
  entries
    .filter((entry) => severity === '' || entry.severity === severity)
    .toSorted((a, b) => RANK[a.severity] - RANK[b.severity] || compared(ageOf(a), ageOf(b)));

/** Entries that are read at most: nobody looks through more at a time. */
const READ_MAX = 1000;
const PAGE = 200;
/** A page may be shorter than asked for, so that there may be more pages than full ones. */
const PAGES_MAX = 20;

/** Reads the entries of a status, page by page. */
export async function readReviews(
  accountId: string,
  status: Status,
  signal: AbortSignal,
): Promise<{ readonly entries: readonly ReviewEntry[]; readonly isWhole: boolean }> {
  const entries: ReviewEntry[] = [];
  let after: string | undefined;
  for (let page = 0; page < PAGES_MAX && entries.length < READ_MAX; page += 1) {
    const read = await account(accountId).reviews(
      { status, limit: PAGE, ...(after !== undefined && { after }) },
      { signal },
    );
    entries.push(...read.entries);
    after = read.next;
    if (after === undefined) return { entries, isWhole: true };
  }
  return { entries, isWhole: false };
}
