import { pagesOf, type Listed, type PageOf } from '../../store/pages.ts';
import { expectUnchanged, type Entry, type Store } from '../../store/port.ts';
import type { AccountReader, FleetReader } from '../fleet/reader.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin, Step, Unchanged } from '../mutation/step.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { type ReviewRecord, type ReviewStatus, entryIdOf, reviewKey } from '../records/review-records.ts';
import { Refusal } from '../refusal.ts';
import { cutEvidence, evidenceLevelOf, type EvidenceLevel } from './evidence.ts';

interface Shown extends ReviewRecord {
  readonly entryId: string;
  readonly appId: string;
}

/** An entry of the review queue as the operator API shows it. */
export interface ReviewEntry extends Shown {
  /** The name of the app. */
  readonly appName: string;
}

interface ReviewPage extends PageOf {
  /** Only entries of this status; undefined for all. */
  readonly status: ReviewStatus | undefined;
}

interface Decision {
  readonly status: ReviewStatus;
  /** Undefined keeps the note; `''` removes it. */
  readonly note: string | undefined;
}

/**
 * The operator's access to an account's review queue. Evidence is shown at the account's current level: evidence that
 * was stored under a wider level is cut in the answer, and not rewritten.
 */
export interface ReviewQueue {
  /**
   * Lists entries by app, then by entry id. A page may have fewer entries than asked for, and a next page all the same.
   * @throws Refusal `not_found` for the account, `invalid_request` for `after`; StoreUnavailable; BadRecord
   */
  list(accountId: string, page: ReviewPage): Promise<Listed<ReviewEntry>>;
  /** Records the operator's decision on an entry. @throws Refusal `not_found`; StoreUnavailable; Busy; BadRecord */
  decide(origin: Origin, accountId: string, entryId: string, decision: Decision): Promise<ReviewEntry>;
}

/** Creates the operator's access to review queues; see `ReviewQueue`. */
export function createReviewQueue(deps: MutationDeps): ReviewQueue {
  return {
    list: (accountId, page) => list(deps, accountId, page),
    decide: (origin, accountId, entryId, decision) => decide(deps, origin, accountId, entryId, decision),
  };
}

async function existing(reader: FleetReader, accountId: string): Promise<AccountReader> {
  const account = await reader.account(accountId);
  if (!account) throw new Refusal('not_found');
  return account;
}

/** Entries that one request reads at most, whatever the filter lets through; and the size of a page of the store. */
const SCANNED_MAX = 1000;
const SCAN_PAGE = 100;
/** Bytes that are read for one answer; one page may go beyond it. */
const SCANNED_BYTES_MAX = 1_048_576;

async function list(deps: MutationDeps, accountId: string, page: ReviewPage): Promise<Listed<ReviewEntry>> {
  const account = await existing(await deps.fleet.current(), accountId);
  const level = evidenceLevelOf(account.record, await account.otel());
  const after = page.after === undefined ? undefined : reviewKey(accountId, page.after);
  if (page.after !== undefined && after === undefined) {
    throw new Refusal('invalid_request', 'after: must be the next of the page before');
  }
  const items: Shown[] = [];
  const atOnce = page.status === undefined ? Math.min(page.limit, SCAN_PAGE) : SCAN_PAGE;
  let [scanned, bytes] = [0, 0];
  for await (const { entry, last } of entriesAfter(deps.store, accountId, after, atOnce)) {
    const found = viewOf(entry.key, parseRecord(KEYS.review, entry).record, level);
    if (page.status === undefined || found.status === page.status) items.push(found);
    scanned += 1;
    bytes += entry.value.length;
    const full = items.length === page.limit || scanned === SCANNED_MAX || bytes >= SCANNED_BYTES_MAX;
    if (full) return { items: await named(account, items), next: last ? undefined : found.entryId };
  }
  return { items: await named(account, items), next: undefined };
}

async function* entriesAfter(
  store: Store,
  accountId: string,
  after: string | undefined,
  limit: number,
): AsyncGenerator<{ entry: Entry; last: boolean }> {
  const request = { prefix: KEYS.review.under(accountId), limit, after };
  for await (const { entries, next } of pagesOf(store, request)) {
    for (const [index, entry] of entries.entries()) {
      yield { entry, last: next === undefined && index === entries.length - 1 };
    }
  }
}

async function decide(
  deps: MutationDeps,
  origin: Origin,
  accountId: string,
  entryId: string,
  decision: Decision,
): Promise<ReviewEntry> {
  return await mutate<ReviewEntry>(
    deps,
    origin,
    async (reader): Promise<Step<ReviewEntry> | Unchanged<ReviewEntry>> => {
      const account = await existing(reader, accountId);
      const level = evidenceLevelOf(account.record, await account.otel());
      const key = reviewKey(accountId, entryId);
      const entry = key && (await deps.store.get(key));
      if (!entry) throw new Refusal('not_found');
      const before = parseRecord(KEYS.review, entry);
      const record = decided(before.record, decision, origin.at);
      const shown = viewOf(entry.key, record, level);
      const result = { ...shown, appName: await appNameOf(account, shown.appId) };
      if (record.status === before.record.status && record.note === before.record.note) return { unchanged: result };
      return {
        accountId,
        action: 'review.decided',
        appId: result.appId,
        // The audit says whether there is a note, never its text, which may be about people: no audit entry can be
        // changed.
        detail: { entryId, from: before.record.status, status: record.status, noted: record.note !== undefined },
        expect: [expectUnchanged(before)],
        write: [put(key, record)],
        result,
      };
    },
  );
}

/** A decision that stays the same keeps its instant, whatever becomes of the note. */
function decided(before: ReviewRecord, { status, note = before.note }: Decision, at: number): ReviewRecord {
  const { note: _note, decidedAt, ...rest } = before;
  const since = status === before.status ? decidedAt : at;
  return {
    ...rest,
    status,
    ...(note !== undefined && note !== '' && { note }),
    ...(status !== 'open' && since !== undefined && { decidedAt: since }),
  };
}

const appNameOf = async (account: AccountReader, appId: string): Promise<string> =>
  (await account.app(appId))?.record.name ?? '';

/** The entries with the names of their apps. */
async function named(account: AccountReader, entries: readonly Shown[]): Promise<readonly ReviewEntry[]> {
  const ids = [...new Set(entries.map(({ appId }) => appId))];
  const names = new Map(await Promise.all(ids.map(async (id) => [id, await appNameOf(account, id)] as const)));
  return entries.map((entry) => ({ ...entry, appName: names.get(entry.appId) ?? '' }));
}

function viewOf(key: string, record: ReviewRecord, level: EvidenceLevel): Shown {
  const [appId = '', digest = ''] = key.split('/').slice(-2);
  return { ...record, entryId: entryIdOf(appId, digest), appId, evidence: cutEvidence(record.evidence, level) };
}
