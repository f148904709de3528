import { pagesOf } from '../../store/pages.ts';
import { PAGE_ENTRIES_MAX, expectAbsent, expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { type ChainRecord, suffixOf } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { absent, BadRecord, justCommitted, parseRecord, put, type Versioned } from '../records/codec.ts';
import { byRevision, emptyChain, entryDigest, portions, sealed, type UnsealedEntry } from './chain.ts';
import type { Due } from './following/news.ts';
import { ownBytesOf } from './own-bytes.ts';

/** How many entries of an account one call seals; they are in memory meanwhile, without their values. */
const SEALED_AT_ONCE_MAX = 20_000;

interface SealingDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** The fence of the leader's term: every commit expects it. */
  readonly fence: readonly Expectation[];
}

/** The result of sealing an account's new entries. */
export interface Sealed {
  /** How many entries were sealed. */
  readonly entries: number;
  /** The head of the chain before, and now; they are equal where nothing was sealed. */
  readonly before: ChainRecord;
  readonly chain: ChainRecord;
  /** There were more entries than one call seals, or another process changed the chain: call again. */
  readonly more: boolean;
}

/**
 * Puts the account's new entries into blocks. Each block is one quiet commit, which expects the head of the chain as it
 * was read: it conflicts where another process sealed meanwhile, or leads now.
 * @throws StoreUnavailable; BadRecord where the chain was changed by another program: then nothing more is sealed
 */
export async function sealAccount({ store, clock, fence }: SealingDeps, due: Due): Promise<Sealed> {
  const { accountId } = due;
  const first = await readChain(store, accountId);
  const { found, more } = await unsealedOf(store, due, first.record.through);
  let head = first;
  let entries = 0;
  const ended = (again: boolean): Sealed => ({ entries, before: first.record, chain: head.record, more: again });
  for (const portion of portions(found)) {
    const { block, chain } = sealed(head.record, portion, clock.now());
    const key = KEYS.seal(accountId, block.number);
    const result = await store.commit({
      expect: [expectUnchanged(head), expectAbsent(key), ...fence],
      write: [put(key, block), put(KEYS.chain(accountId), chain)],
      quiet: true,
    });
    if (result.outcome === 'conflict') {
      await refuseForeignBlock(store, accountId, head, key);
      return ended(true);
    }
    head = justCommitted(head.key, chain, result);
    entries += portion.length;
  }
  return ended(more);
}

/**
 * Reads the head of an account's chain; that of an empty chain where there is none.
 * @throws BadRecord; StoreUnavailable
 */
export async function readChain(store: Pick<Store, 'get'>, accountId: string): Promise<Versioned<ChainRecord>> {
  const key = KEYS.chain(accountId);
  const entry = await store.get(key);
  return entry ? parseRecord(KEYS.chain, entry) : absent(key, emptyChain(accountId));
}

/** Throws where the next block exists though the head did not move: no later round could seal either. */
async function refuseForeignBlock(
  store: Store,
  accountId: string,
  head: Versioned<ChainRecord>,
  key: string,
): Promise<void> {
  const block = await store.get(key);
  if (!block || (await readChain(store, accountId)).revision !== head.revision) return;
  throw new BadRecord(`The record ${key} is a block beyond the head of its chain.`);
}

/** Lists the oldest entries that are in no block, as many as one call seals; each revision is complete. */
async function unsealedOf(
  store: Store,
  { accountId, from, upTo }: Due,
  through: number,
): Promise<{ found: readonly UnsealedEntry[]; more: boolean }> {
  let found: UnsealedEntry[] = [];
  /** The oldest revision with an entry that was left out. */
  let leftOut = Number.POSITIVE_INFINITY;
  const keepOldest = (): void => {
    if (found.length <= SEALED_AT_ONCE_MAX) return;
    found.sort(byRevision);
    leftOut = Math.min(leftOut, found[SEALED_AT_ONCE_MAX]?.revision ?? leftOut);
    found = found.slice(0, SEALED_AT_ONCE_MAX);
  };
  const prefix = KEYS.audit.under(accountId);
  // A listing begins after a key. The key without its last character sorts before `from`; entries in between are
  // sealed.
  const after = prefix + from.slice(0, -1);
  for await (const { entries } of pagesOf(store, { prefix, after, limit: PAGE_ENTRIES_MAX })) {
    for (const { key, value, revision } of entries) {
      if (revision <= through || revision > upTo || revision >= leftOut) continue;
      const ownBytes = ownBytesOf({ key, value });
      found.push({ suffix: suffixOf(accountId, key), revision, digest: entryDigest(value), ownBytes });
    }
    if (found.length >= 2 * SEALED_AT_ONCE_MAX) keepOldest();
  }
  keepOldest();
  const more = leftOut < Number.POSITIVE_INFINITY;
  return { found: found.filter(({ revision }) => revision < leftOut), more };
}
