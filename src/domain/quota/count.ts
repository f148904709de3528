import { pagesOf } from '../../store/pages.ts';
import { expectUnchanged, PAGE_ENTRIES_MAX, type Entry, type Expectation, type Store } from '../../store/port.ts';
import { chargeOf, ownBytesIn, ownBytesOf, ownMark } from '../audit/own-bytes.ts';
import { readChain } from '../audit/seal.ts';
import { type ChainRecord, OPERATOR_AUDIT, auditKey } from '../records/audit-records.ts';
import { batchScope, idempotencyScope, keyScopes } from '../records/idempotency-records.ts';
import { KEYS } from '../records/keys.ts';
import { parseRecord, put, type Versioned } from '../records/codec.ts';

/** A count is compared with the chain so often: each time it has those blocks, too, that were sealed meanwhile. */
const ATTEMPTS_MAX = 10;

/**
 * Counts the sealed entries of an account that are its own, once: a store of an earlier version has no count. The
 * service goes on meanwhile, and entries that are sealed during the listing are added from their blocks.
 * @returns the bytes; undefined where the retention removed entries meanwhile, or this replica leads no longer
 * @throws StoreUnavailable, also once the signal has aborted; BadRecord
 */
export async function countAudit(
  store: Store,
  fence: readonly Expectation[],
  accountId: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const first = await readChain(store, accountId);
  // The oldest entries are going: whether one is still there is not known before it is over.
  if (first.record.cutting) return undefined;
  let bytes = 0;
  const prefix = KEYS.audit.under(accountId);
  for await (const { entries } of pagesOf(store, { prefix, limit: PAGE_ENTRIES_MAX }, signal)) {
    for (const entry of entries) if (entry.revision <= first.record.through) bytes += ownBytesOf(entry);
  }
  let counted: Versioned<ChainRecord> = first;
  for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
    const chain = await readChain(store, accountId);
    if (!hasSameBeginning(first.record, chain.record)) return undefined;
    const known = ownBytesIn(chain.record);
    if (known !== undefined) return known;
    for (let number = counted.record.number + 1; number <= chain.record.number; number += 1) {
      bytes += await blockBytes(store, accountId, number);
    }
    counted = chain;
    const next = { ...chain.record, own: ownMark(bytes, chain.record) };
    const change = [expectUnchanged(chain), ...fence] as const;
    const result = await store.commit({ expect: change, write: [put(KEYS.chain(accountId), next)], quiet: true });
    if (result.outcome === 'committed') return bytes;
  }
  return undefined;
}

const hasSameBeginning = (one: ChainRecord, other: ChainRecord): boolean =>
  !one.cutting && !other.cutting && one.base.number === other.base.number;

async function blockBytes(store: Store, accountId: string, number: number): Promise<number> {
  const entry = await store.get(KEYS.seal(accountId, number));
  if (!entry) return 0;
  let bytes = 0;
  for (const [suffix] of parseRecord(KEYS.seal, entry).record.entries) {
    const sealed = await store.get(auditKey(accountId, suffix));
    if (sealed) bytes += ownBytesOf(sealed);
  }
  return bytes;
}

/**
 * Counts the records of an account that its keys and people write: a bounded number. Those of daemons are left out.
 * @throws StoreUnavailable
 */
export async function countRecords(store: Store, accountId: string, signal: AbortSignal): Promise<number> {
  const account = await store.get(KEYS.account(accountId));
  let bytes = account ? chargeOf(account) : 0;
  const prefixes = [
    `${KEYS.account(accountId)}/`,
    idempotencyScope(accountId),
    idempotencyScope(`${OPERATOR_AUDIT}-${accountId}`),
    idempotencyScope(batchScope(accountId)),
    keyScopes(accountId),
    KEYS.link.under(accountId),
    KEYS.otelRevision.under(accountId),
  ];
  for (const prefix of prefixes) {
    for await (const { entries } of pagesOf(store, { prefix, limit: PAGE_ENTRIES_MAX }, signal)) {
      for (const entry of entries) if (!isOfService(accountId, entry)) bytes += chargeOf(entry);
    }
  }
  return bytes;
}

const isOfService = (accountId: string, { key }: Entry): boolean =>
  key === KEYS.lastSeen(accountId) || key === KEYS.stored(accountId);
