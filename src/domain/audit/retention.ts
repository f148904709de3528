import { expectUnchanged, type Expectation, type Store } from '../../store/port.ts';
import { type ChainRecord, type SealRecord, auditKey } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { BadRecord, parseRecord, put, type Versioned } from '../records/codec.ts';
import { blockDigest, newestOf } from './chain.ts';
import { ownBytesOf, withOwnBytes } from './own-bytes.ts';

/** Entries that one commit removes; a commit has at most 127 operations. */
const ENTRIES_PER_COMMIT_MAX = 100;

/**
 * The result of one step of removing the oldest block: `more` when another step may follow, `kept` when the oldest
 * block is not old enough, `conflict` when another process was faster.
 */
interface Cut {
  readonly outcome: 'more' | 'kept' | 'conflict';
  /** How many entries the step removed. */
  readonly entries: number;
  /** Some entries of a block are gone by now, and the others are not: a pass does not end here. */
  readonly isHalfway: boolean;
}

const KEPT: Cut = { outcome: 'kept', entries: 0, isHalfway: false };

/**
 * Removes audit entries that are older than the retention: whole blocks, from the beginning, and never unsealed
 * entries. A block takes several commits, and the chain verifies between any two of them:
 * 1. the head's base moves to the block, and `cutting` says that its entries are being removed: they may be there or
 *   not;
 * 2. the entries are removed, some at a time;
 * 3. the block is removed, and `cutting` ends.
 *
 * Each call finds out which of these commits is next and does it, so the removal may be stopped anywhere.
 * @param olderThan milliseconds since 1970; a block is removed when its newest entry is older
 * @throws StoreUnavailable; BadRecord where the chain was changed by someone else: then nothing of it is removed
 */
export async function cutStep(
  store: Store,
  fence: readonly Expectation[],
  accountId: string,
  olderThan: number,
): Promise<Cut> {
  const entry = await store.get(KEYS.chain(accountId));
  if (!entry) return KEPT;
  const chain = parseRecord(KEYS.chain, entry);
  const cut: Cutting = { store, fence, accountId, chain };
  return chain.record.cutting ? await resume(cut) : await begin(cut, olderThan);
}

interface Cutting {
  readonly store: Store;
  readonly fence: readonly Expectation[];
  readonly accountId: string;
  readonly chain: Versioned<ChainRecord>;
}

async function begin(cut: Cutting, olderThan: number): Promise<Cut> {
  const { base, number } = cut.chain.record;
  if (base.number >= number) return KEPT;
  const block = await readBlock(cut, base.number + 1);
  if (block.previous !== base.digest) throw brokenAt(cut, block.number);
  if (newestOf(block) >= olderThan) return KEPT;
  const moved = { ...cut.chain.record, base: { number: block.number, digest: block.digest }, cutting: true };
  const next = withOwnBytes(moved, cut.chain.record, 0);
  return await commit(cut, [put(KEYS.chain(cut.accountId), next)], { entries: 0, isHalfway: true });
}

async function resume(cut: Cutting): Promise<Cut> {
  const { store, accountId, chain } = cut;
  const block = await readBlock(cut, chain.record.base.number);
  if (block.digest !== chain.record.base.digest) throw brokenAt(cut, block.number);
  for (let start = 0; start < block.entries.length; start += ENTRIES_PER_COMMIT_MAX) {
    const keys = block.entries
      .slice(start, start + ENTRIES_PER_COMMIT_MAX)
      .map(([suffix]) => auditKey(accountId, suffix));
    const there = (await Promise.all(keys.map((key) => store.get(key)))).filter((entry) => entry !== undefined);
    if (there.length > 0) {
      const ownBytes = there.reduce((sum, entry) => sum + ownBytesOf(entry), 0);
      const less = withOwnBytes(chain.record, chain.record, -ownBytes);
      const removals = there.map(({ key }) => ({ remove: key }));
      return await commit(cut, [put(KEYS.chain(accountId), less), ...removals], {
        entries: there.length,
        isHalfway: true,
      });
    }
  }
  const next = { ...chain.record, cutting: false };
  const write = [put(KEYS.chain(accountId), next), { remove: KEYS.seal(accountId, block.number) }];
  return await commit(cut, write, { entries: 0, isHalfway: false });
}

/** @throws BadRecord where the block is missing, or was changed */
async function readBlock(cut: Cutting, number: number): Promise<SealRecord> {
  const entry = await cut.store.get(KEYS.seal(cut.accountId, number));
  if (!entry) throw brokenAt(cut, number);
  const { record } = parseRecord(KEYS.seal, entry);
  if (record.number !== number || blockDigest(record) !== record.digest) throw brokenAt(cut, number);
  return record;
}

const brokenAt = ({ accountId }: Cutting, number: number): BadRecord =>
  new BadRecord(`The audit chain of ${accountId} is broken at block ${number}.`);

type Written = Parameters<Store['commit']>[0]['write'];

async function commit({ store, fence, chain }: Cutting, write: Written, done: Omit<Cut, 'outcome'>): Promise<Cut> {
  const result = await store.commit({
    expect: [expectUnchanged(chain), ...fence],
    write,
    quiet: true,
  });
  if (result.outcome === 'conflict') return { outcome: 'conflict', entries: 0, isHalfway: chain.record.cutting };
  return { outcome: 'more', ...done };
}
