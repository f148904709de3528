import { PAGE_ENTRIES_MAX, type Entry, type Store } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { LIMITS } from '../limits.ts';
import {
  type AuditRecord,
  OPERATOR_AUDIT,
  instantOf,
  placeAt,
  suffixOf,
  userOfActor,
} from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Refusal } from '../refusal.ts';
import { targetOf } from './names.ts';
import { compareTo, placeOf, SPREAD_MS, type Place } from './following/store-order.ts';

/** Which entries of an audit are asked for. Instants are milliseconds since 1970. */
export interface AuditQuestion {
  readonly limit: number;
  /** Begins before this entry: the `next` of the page before. */
  readonly before?: string | undefined;
  /** A user: what they did by their access tokens, too. */
  readonly actor?: string | undefined;
  /** As `targetOf` names it. */
  readonly target?: string | undefined;
  /** One action, or those that begin so where it ends in a dot. */
  readonly action?: string | undefined;
  readonly appId?: string | undefined;
  readonly from?: number | undefined;
  /** Exclusive. */
  readonly to?: number | undefined;
}

/** A page of an audit, newest first; `next` is there when older entries may follow. */
interface NewestEntries {
  readonly items: readonly AuditRecord[];
  readonly next: string | undefined;
}

/** Reads audits from the newest entry on. */
export interface NewestAudit {
  /**
   * Lists entries in the order of their commits, newest first. A page may be shorter than asked for, and have a next
   * one all the same, since the entries that one request reads are bounded.
   * @param charge called before each further `LIMITS.auditListsPerRead` lists of the store; its error ends the read
   * @throws Refusal `not_found` where the account does not exist; StoreUnavailable; BadRecord
   */
  list(accountId: string, question: AuditQuestion, charge?: () => void): Promise<NewestEntries>;
}

/** Entries that one request reads at most, and reads of the store. */
const SCANNED_MAX = 5000;
const READS_MAX = 40;
/** The stretch of time that is read first; it grows and shrinks with how many entries it has. */
const FIRST_STRETCH_MS = HOUR_MS;

/** Creates the reader; see `NewestAudit`. */
export function createNewestAudit(deps: { readonly store: Store; readonly fleet: Fleet }): NewestAudit {
  return {
    async list(accountId, question, charge = () => undefined) {
      if (accountId !== OPERATOR_AUDIT && !(await (await deps.fleet.current()).account(accountId))) {
        throw new Refusal('not_found');
      }
      return await newest(deps.store, accountId, question, charge);
    },
  };
}

/**
 * The store lists in the order of keys, which begin with an instant. So it is read stretch by stretch, back in time: a
 * stretch that has more entries than a page is read again by its later half. What was read is given in the order of the
 * store as soon as nothing older can stand before it.
 */
async function newest(
  store: Store,
  accountId: string,
  question: AuditQuestion,
  charge: () => void,
): Promise<NewestEntries> {
  const prefix = KEYS.audit.under(accountId);
  const oldest = await firstKey(store, prefix);
  if (oldest === undefined) return { items: [], next: undefined };
  const { limit, before, to, from } = question;
  const place = before === undefined ? undefined : await placeOf(store, prefix, before);
  const bottom = Math.max(instantOf(oldest.slice(prefix.length)) || 0, from ?? 0);
  // Clocks of replicas may be ahead of this one: the newest key itself says where the end is.
  let endMs = place ? place.instant + SPREAD_MS : await newestInstant(store, prefix, bottom, to);
  let end = placeAt(place ? endMs : Math.min(to ?? Number.MAX_SAFE_INTEGER, END_OF_TIME));
  let stretch = FIRST_STRETCH_MS;
  const items: AuditRecord[] = [];
  let held: Found[] = [];
  let [scanned, reads] = [0, 0];
  while (endMs >= bottom) {
    if (scanned >= SCANNED_MAX || reads >= READS_MAX) {
      const { given } = taken(held, { limit, items, from: 0 });
      return { items, next: given === held.length || items.length < limit ? `${end}-0` : held[given - 1]?.suffix };
    }
    if (reads > 0 && reads % LIMITS.auditListsPerRead === 0) charge();
    const begin = Math.max(bottom, endMs - stretch);
    const { entries, whole } = await between(store, prefix, placeAt(begin), end);
    reads += 1;
    if (!whole && stretch > 1) {
      stretch = Math.max(1, Math.floor((endMs - begin) / 2));
      continue;
    }
    scanned += entries.length;
    held = [...held, ...askedOf(entries, accountId, question, place)].sort(byNewest);
    const { given, last } = taken(held, { limit, items, from: begin === bottom ? 0 : begin + SPREAD_MS });
    held = held.slice(given);
    if (items.length === limit) return { items, next: last };
    if (begin === bottom) break;
    end = placeAt(begin);
    endMs = begin - 1;
    if (entries.length < PAGE_ENTRIES_MAX / 4) stretch *= 4;
  }
  return { items, next: undefined };
}

/** An entry that is asked for. */
interface Found {
  readonly suffix: string;
  readonly revision: number;
  readonly record: AuditRecord;
}

const byNewest = (a: Found, b: Found): number => b.revision - a.revision || (a.suffix < b.suffix ? 1 : -1);

function askedOf(
  entries: readonly Entry[],
  accountId: string,
  question: AuditQuestion,
  place: Place | undefined,
): readonly Found[] {
  const found = entries.map((entry) => ({
    suffix: suffixOf(accountId, entry.key),
    ...parseRecord(KEYS.audit, entry),
  }));
  return found.filter(
    ({ suffix, revision, record }) =>
      (!place || compareTo(place, suffix, revision) < 0) && isAsked(accountId, record, question),
  );
}

/**
 * Gives the newest ones that are held, as long as no entry before the instant `from` less the spread can be newer.
 * @returns how many were given, and the last of them
 */
function taken(
  held: readonly Found[],
  { limit, items, from }: { readonly limit: number; readonly items: AuditRecord[]; readonly from: number },
): { readonly given: number; readonly last: string | undefined } {
  let given = 0;
  for (const { suffix, record } of held) {
    if (items.length === limit || (instantOf(suffix) || 0) < from) break;
    items.push(record);
    given += 1;
  }
  return { given, last: held[given - 1]?.suffix };
}

/** The greatest instant that a key can tell. */
const END_OF_TIME = 36 ** 9 - 1;

async function firstKey(store: Store, prefix: string): Promise<string | undefined> {
  const { entries } = await store.list({ prefix, limit: 1, keysOnly: true });
  return entries[0]?.key;
}

/**
 * An instant at or after that of the newest entry, by halving: the store tells whether anything follows a place. At
 * most some 20 tiny reads for years of audit; none of them more than one key.
 */
async function newestInstant(store: Store, prefix: string, bottom: number, to: number | undefined): Promise<number> {
  let [low, step] = [bottom, HOUR_MS];
  const hasAfter = async (at: number): Promise<boolean> => {
    const page = await store.list({ prefix, after: prefix + placeAt(at), limit: 1, keysOnly: true });
    return page.entries.length > 0;
  };
  while (low + step < END_OF_TIME && (await hasAfter(low + step))) {
    low += step;
    step *= 8;
  }
  while (step > HOUR_MS) {
    step = Math.max(HOUR_MS, Math.floor(step / 2));
    if (await hasAfter(low + step)) low += step;
  }
  const found = low + 2 * HOUR_MS;
  return to === undefined ? found : Math.min(found, to - 1);
}

/**
 * The entries from one place on and before another, oldest first; `whole` is false where one page does not hold them.
 */
async function between(
  store: Store,
  prefix: string,
  begin: string,
  end: string,
): Promise<{ readonly entries: readonly Entry[]; readonly whole: boolean }> {
  const page = await store.list({ prefix, after: prefix + begin, limit: PAGE_ENTRIES_MAX });
  const entries = page.entries.filter(({ key }) => key.slice(prefix.length) < end);
  return { entries, whole: page.next === undefined || entries.length < page.entries.length };
}

/** Tells whether an actor is the one who is asked for, or an access token of that user. */
function isBy(actor: string, asked: string): boolean {
  const userId = userOfActor(actor);
  return actor === asked || (userId !== undefined && asked === `user:${userId}`);
}

function isAsked(accountId: string, record: AuditRecord, question: AuditQuestion): boolean {
  const { actor, target, action, appId, from, to } = question;
  if (target !== undefined && targetOf(accountId, record) !== target) return false;
  if (actor !== undefined && !isBy(record.actor, actor)) return false;
  if (appId !== undefined && record.appId !== appId) return false;
  if (from !== undefined && record.at < from) return false;
  if (to !== undefined && record.at >= to) return false;
  if (action === undefined) return true;
  return action.endsWith('.') ? record.action.startsWith(action) : record.action === action;
}
