import { type Entry, type Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { chainSchema, instantOf, type ChainRecord } from '../records/audit-records.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { Busy, Refusal } from '../refusal.ts';
import { FaultList, type AuditFault } from './faults.ts';
import { BlockWalk } from './verify-blocks.ts';
import { windowsOf, type Stored } from './verify-window.ts';

/** What the verification of one account's audit found. */
export interface AuditVerification {
  readonly accountId: string;
  /** Sealed entries that are there. */
  readonly entries: number;
  /** Blocks of the chain; the first one's number, where its beginning has been cut, is higher than 1. */
  readonly blocks: number;
  readonly firstBlock: number;
  /** Entries that are new: the leader seals them within seconds. */
  readonly unsealed: number;
  /**
   * The newest block. Who can write the store can write the whole chain anew: keep this elsewhere, and compare. Of a
   * chain that nobody rewrote, the block of this number keeps this digest until it is cut.
   */
  readonly head: { readonly number: number; readonly digest: string; readonly at: number } | undefined;
  /** At most 100, in the order in which they were met. */
  readonly faults: readonly AuditFault[];
  /** How many there are; more than are listed, at times. */
  readonly faultCount: number;
}

/** Entries in memory at a time: an account with more of them has its blocks read once for each such window. */
const WINDOW_ENTRIES_MAX = 100_000;
/** The retention may remove blocks meanwhile; then what was seen is of two times, and is looked at again. */
const ATTEMPTS_MAX = 3;

export interface VerifyOptions {
  readonly windowEntries?: number;
  /** Of the account: its creation left the first entry, at that very instant. */
  readonly createdAt?: number;
  /** Ends it, with StoreUnavailable. */
  readonly signal?: AbortSignal;
}

/**
 * Walks an account's chain from where it begins, and compares each block with the entries that it sealed. Reads alone,
 * page by page, while the service runs.
 * @throws StoreUnavailable; Busy where the retention removed entries during every attempt
 */
export async function verifyAudit(
  store: Store,
  accountId: string,
  options: VerifyOptions = {},
): Promise<AuditVerification> {
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const before = await store.get(KEYS.chain(accountId));
    const verification = await walk(store, accountId, before, options);
    if (isSameBeginning(before, await store.get(KEYS.chain(accountId)))) return verification;
  }
  throw new Busy('conflicts', 'The beginning of the audit is being removed; verify it again.');
}

function isSameBeginning(before: Entry | undefined, after: Entry | undefined): boolean {
  const [one, other] = [readHead(before), readHead(after)];
  if (!one || !other) return one === other;
  return one.base.number === other.base.number && one.cutting === other.cutting;
}

function readHead(entry: Entry | undefined): ChainRecord | undefined {
  try {
    return entry && parseRecord(chainSchema, entry).record;
  } catch {
    return undefined;
  }
}

interface Counts {
  entries: number;
  unsealed: number;
  oldestAt: number | undefined;
}

async function walk(
  store: Store,
  accountId: string,
  entry: Entry | undefined,
  { windowEntries = WINDOW_ENTRIES_MAX, createdAt, signal }: VerifyOptions,
): Promise<AuditVerification> {
  const chain = readHead(entry);
  const faults = new FaultList();
  if (entry && !chain) faults.chain(undefined, 'the head of the chain cannot be read');
  const counts: Counts = { entries: 0, unsealed: 0, oldestAt: undefined };
  const blocks = new BlockWalk(store, accountId, chain, faults);
  for await (const window of windowsOf(store, accountId, windowEntries, signal)) {
    await blocks.compare(window, signal);
    judgeRest(window.stored, blocks, faults, counts);
  }
  if (createdAt !== undefined && !chain?.base.number) judgeBeginning(createdAt, counts, faults);
  return {
    accountId,
    entries: counts.entries,
    unsealed: counts.unsealed,
    blocks: blocks.count,
    firstBlock: (chain?.base.number ?? 0) + 1,
    head: chain && chain.number > 0 ? { number: chain.number, digest: chain.digest, at: chain.at } : undefined,
    faults: faults.listed,
    faultCount: faults.count,
  };
}

/** What no block named: new, or added. */
function judgeRest(stored: ReadonlyMap<string, Stored>, blocks: BlockWalk, faults: FaultList, counts: Counts): void {
  for (const [suffix, { revision, sealed }] of stored) {
    // In key order, and so by instant; a key that has none is not the service's.
    counts.oldestAt ??= instantOf(suffix) || undefined;
    if (sealed) {
      counts.entries += 1;
    } else if (revision > blocks.through) {
      counts.unsealed += 1;
      blocks.judgeInstant(suffix, undefined);
    } else if (blocks.isWhole) {
      faults.entry('added', suffix, undefined, 'no block has it, though all of its time are sealed');
    }
  }
}

/**
 * Of a chain that was not cut: also an audit that is gone with its whole chain shows, and one whose chain was begun anew
 * without what came first. What the blocks tell already is not told again.
 */
function judgeBeginning(createdAt: number, { oldestAt }: Counts, faults: FaultList): void {
  if (faults.count > 0 || (oldestAt !== undefined && oldestAt <= createdAt)) return;
  faults.chain(1, 'it does not begin with the creation of the account: what came first was removed');
}

/** One at a time: each may have a window of entries in memory. */
const WAITING_MAX = 8;

export interface AuditVerifier {
  /** @throws Refusal `not_found`; StoreUnavailable; Busy where too many verifications wait already */
  verify(accountId: string, signal: AbortSignal): Promise<AuditVerification>;
}

export function createAuditVerifier({ store, fleet }: { store: Store; fleet: Fleet }): AuditVerifier {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async verify(accountId, signal) {
      const account = await (await fleet.current()).account(accountId);
      if (!account) throw new Refusal('not_found');
      if (waiting >= WAITING_MAX) throw new Busy('queue_full', 'Too many verifications wait already.');
      waiting += 1;
      const mine = last.then(() => verifyAudit(store, accountId, { createdAt: account.record.createdAt, signal }));
      last = mine.catch(() => undefined);
      try {
        return await mine;
      } finally {
        waiting -= 1;
      }
    },
  };
}
