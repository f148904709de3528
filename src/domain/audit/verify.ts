import { expectUnchanged, type Entry, type Store } from '../../store/port.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { type ChainRecord, OPERATOR_AUDIT } from '../records/audit-records.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord, put } from '../records/codec.ts';
import { Busy, Refusal } from '../refusal.ts';
import { FaultList, type AuditFault } from './faults.ts';
import { ownBytesIn } from './own-bytes.ts';
import { readChain } from './seal.ts';
import { BlockWalk } from './verify-blocks.ts';
import { windowsOf, type Stored } from './verify-window.ts';

/** The result of the verification of one account's audit. */
interface AuditVerification {
  readonly accountId: string;
  /** How many sealed entries exist. */
  readonly entries: number;
  /** How many blocks the chain has, and the number of the first: above 1 where the retention has cut the beginning. */
  readonly blocks: number;
  readonly firstBlock: number;
  /** How many entries are new: the leader seals them within seconds. */
  readonly unsealed: number;
  /**
   * The newest block; undefined where there is none. A person who can write the store can rewrite the whole chain, so
   * keep this elsewhere, and compare: in a chain that was not rewritten, the block of this number has this digest until
   * it is cut.
   */
  readonly head: { readonly number: number; readonly digest: string; readonly at: number } | undefined;
  /**
   * The bytes of the sealed entries that the account's own keys and people have written: as they were counted now, and
   * as the quota goes by them; `noted` is undefined while they are not counted, or the oldest ones are being removed.
   */
  readonly own: { readonly bytes: number; readonly noted: number | undefined };
  /** At most 100, in the order in which they were met. */
  readonly faults: readonly AuditFault[];
  /** The number of all faults, also of those that are not listed. */
  readonly faultCount: number;
}

/** Entries in memory at a time. The blocks are read once for each such window of an account. */
const WINDOW_ENTRIES_MAX = 100_000;
/** The retention may remove blocks during a verification; then the verification is repeated. */
const ATTEMPTS_MAX = 3;

interface VerifyOptions {
  readonly windowEntries?: number;
  /** The audit is an account's, which begins with its creation. */
  readonly ofAccount?: boolean;
  /** Ends the verification, with StoreUnavailable. */
  readonly signal?: AbortSignal;
}

/**
 * Walks an account's chain from its beginning, and compares each block with the entries that it sealed. It only reads,
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
    return entry && parseRecord(KEYS.chain, entry).record;
  } catch {
    return undefined;
  }
}

interface Counts {
  entries: number;
  unsealed: number;
  ownBytes: number;
  /** Whether an entry tells of the creation of the account. */
  begins: boolean;
}

async function walk(
  store: Store,
  accountId: string,
  entry: Entry | undefined,
  { windowEntries = WINDOW_ENTRIES_MAX, ofAccount, signal }: VerifyOptions,
): Promise<AuditVerification> {
  const chain = readHead(entry);
  const faults = new FaultList();
  if (entry && !chain) faults.chain(undefined, 'the head of the chain cannot be read');
  const counts: Counts = { entries: 0, unsealed: 0, ownBytes: 0, begins: false };
  const blocks = new BlockWalk(store, accountId, chain, faults);
  for await (const window of windowsOf(store, accountId, windowEntries, signal)) {
    await blocks.compare(window, signal);
    checkRest(window.stored, blocks, faults, counts);
  }
  if (ofAccount === true && !chain?.base.number) checkBeginning(counts, faults);
  return {
    accountId,
    entries: counts.entries,
    unsealed: counts.unsealed,
    blocks: blocks.count,
    firstBlock: (chain?.base.number ?? 0) + 1,
    head: chain && chain.number > 0 ? { number: chain.number, digest: chain.digest, at: chain.at } : undefined,
    own: { bytes: counts.ownBytes, noted: chain && !chain.cutting ? ownBytesIn(chain) : undefined },
    faults: faults.listed,
    faultCount: faults.count,
  };
}

/** Judges the entries that are in no block: they are new, or added. */
function checkRest(stored: ReadonlyMap<string, Stored>, blocks: BlockWalk, faults: FaultList, counts: Counts): void {
  for (const [suffix, { revision, begins, ownBytes, sealed }] of stored) {
    counts.begins ||= begins;
    if (sealed) {
      counts.entries += 1;
      counts.ownBytes += ownBytes;
    } else if (revision > blocks.through) {
      counts.unsealed += 1;
      blocks.checkInstant(suffix, undefined);
    } else if (blocks.isWhole) {
      faults.entry('added', suffix, undefined, 'no block has it, though all of its time are sealed');
    }
  }
}

/**
 * Judges the beginning of a chain that was not cut. So an audit that was removed with its whole chain is found, and one
 * whose chain was begun again without the first entries. It adds nothing where the blocks show a fault already.
 */
function checkBeginning({ begins }: Counts, faults: FaultList): void {
  if (faults.count > 0 || begins) return;
  faults.chain(1, 'it does not begin with the creation of the account: what came first was removed');
}

/** The loop of the quotas counts what a chain does not tell. One that was written meanwhile is left as it is. */
async function forgetOwnBytes(store: Store, accountId: string, noted: number): Promise<void> {
  const chain = await readChain(store, accountId);
  if (chain.record.own?.bytes !== noted) return;
  const { own: _wrong, ...without } = chain.record;
  await store.commit({ expect: [expectUnchanged(chain)], write: [put(KEYS.chain(accountId), without)], quiet: true });
}

/** Verifications run one at a time, as each may have a window of entries in memory; this many may wait. */
const WAITING_MAX = 8;

/** Verifies the audits of accounts, one at a time. */
export interface AuditVerifier {
  /**
   * Verifies the audit of an account; `OPERATOR_AUDIT` is that of the service, whose beginning nothing tells. Where the
   * bytes that the quota goes by are wrong, the leader counts them anew.
   * @throws Refusal `not_found`; StoreUnavailable; Busy where too many verifications wait already
   */
  verify(accountId: string, signal: AbortSignal): Promise<AuditVerification>;
}

/** Creates the verification of audits; see `AuditVerifier`. */
export function createAuditVerifier({ store, fleet }: { store: Store; fleet: Fleet }): AuditVerifier {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    async verify(accountId, signal) {
      const account = await (await fleet.current()).account(accountId);
      if (!account && accountId !== OPERATOR_AUDIT) throw new Refusal('not_found');
      if (waiting >= WAITING_MAX) throw new Busy('queue_full', 'Too many verifications wait already.');
      waiting += 1;
      const mine = last.then(async () => {
        const verification = await verifyAudit(store, accountId, { signal, ofAccount: account !== undefined });
        const { noted, bytes } = verification.own;
        if (noted !== undefined && noted !== bytes) await forgetOwnBytes(store, accountId, noted);
        return verification;
      });
      last = mine.catch(() => undefined);
      try {
        return await mine;
      } finally {
        waiting -= 1;
      }
    },
  };
}
