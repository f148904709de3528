import { pagesOf } from '../../store/pages.ts';
import { ABSENT, PAGE_ENTRIES_MAX, type Expectation, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { chainSchema, suffixOf, type ChainRecord } from '../records/audit-records.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { byRevision, emptyChain, entryDigest, portions, sealed, type UnsealedEntry } from './chain.ts';

/** So many entries of an account are sealed in one go; they are in memory meanwhile, without their values. */
const SEALED_AT_ONCE_MAX = 20_000;

export interface SealingDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** What every commit expects besides: that its leader leads. */
  readonly fence: readonly Expectation[];
}

/** What of an account may be unsealed: nothing whose key sorts before `from` is. */
export interface Due {
  readonly accountId: string;
  readonly from: string;
  /** Entries up to this store revision are known completely: beyond it, an earlier one may still be unseen. */
  readonly upTo: number;
}

export interface Sealed {
  readonly entries: number;
  /** As it was before and is now; the same where nothing was sealed. */
  readonly before: ChainRecord;
  readonly chain: ChainRecord;
  /** There was more than one go may seal, or somebody else changed the chain. */
  readonly more: boolean;
}

/**
 * Puts the account's new entries into blocks. Each block is one commit, quiet, which expects the head of the chain as it
 * was read: whoever else sealed meanwhile, or leads now, is met there.
 * @throws StoreUnavailable; BadRecord where the chain is not what this program wrote: then nothing more is sealed
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
      expect: [{ key: KEYS.chain(accountId), revision: head.revision }, { key, revision: ABSENT }, ...fence],
      write: [put(key, block), put(KEYS.chain(accountId), chain)],
      quiet: true,
    });
    if (result.outcome === 'conflict') {
      await refuseForeignBlock(store, accountId, head, key);
      return ended(true);
    }
    head = { record: chain, revision: result.revision };
    entries += portion.length;
  }
  return ended(more);
}

/** @throws BadRecord, StoreUnavailable */
export async function readChain(store: Store, accountId: string): Promise<Versioned<ChainRecord>> {
  const entry = await store.get(KEYS.chain(accountId));
  return entry ? parseRecord(chainSchema, entry) : { record: emptyChain(accountId), revision: ABSENT };
}

/** A block in the place of the next one, and the head did not move: no later round would do better. */
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

/** The oldest entries that are in no block, as many as one go may seal, and each revision of them whole. */
async function unsealedOf(
  store: Store,
  { accountId, from, upTo }: Due,
  through: number,
): Promise<{ found: readonly UnsealedEntry[]; more: boolean }> {
  let found: UnsealedEntry[] = [];
  /** The oldest revision of which an entry was left out. */
  let leftOut = Number.POSITIVE_INFINITY;
  const keepOldest = (): void => {
    if (found.length <= SEALED_AT_ONCE_MAX) return;
    found.sort(byRevision);
    leftOut = Math.min(leftOut, found[SEALED_AT_ONCE_MAX]?.revision ?? leftOut);
    found = found.slice(0, SEALED_AT_ONCE_MAX);
  };
  const prefix = KEYS.audits(accountId);
  // What sorts right before `from` is not known; its own beginning sorts before it, and what lies between is sealed.
  const after = prefix + from.slice(0, -1);
  for await (const { entries } of pagesOf(store, { prefix, after, limit: PAGE_ENTRIES_MAX })) {
    for (const { key, value, revision } of entries) {
      if (revision <= through || revision > upTo || revision >= leftOut) continue;
      found.push({ suffix: suffixOf(accountId, key), revision, digest: entryDigest(value) });
    }
    if (found.length >= 2 * SEALED_AT_ONCE_MAX) keepOldest();
  }
  keepOldest();
  const more = leftOut < Number.POSITIVE_INFINITY;
  return { found: found.filter(({ revision }) => revision < leftOut), more };
}
