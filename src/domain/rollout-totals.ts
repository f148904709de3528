import type { Clock } from '../clock.ts';
import { StoreUnavailable, type Store } from '../store/port.ts';
import type { AccountMemory } from './account-memory.ts';
import type { FleetMemory } from './fleet-memory.ts';
import { KEYS, type AckRecord } from './records.ts';
import { ackOf, factsOf, rolloutOf, type RolloutCounts } from './rollout.ts';

export interface RolloutTotalsDeps {
  readonly store: Store;
  readonly memory: FleetMemory;
  readonly clock: Clock;
}

const PAGE = 500;
/** After each page, and after so many accounts that have no page of their own: requests come first. */
const PAUSE_MS = 20;
const ACCOUNTS_AT_ONCE = 100;

/**
 * Where the devices of all Enterprise accounts are that ever stored a configuration. Walks all acknowledgements once, in
 * pages; of one account they lie together. Accounts are counted one after the other, not all at one instant.
 * @returns undefined when the signal aborted
 * @throws StoreUnavailable, also while memory is being filled anew
 */
export async function rolloutTotals(
  deps: RolloutTotalsDeps,
  staleAfterMs: number,
  signal: AbortSignal,
): Promise<RolloutCounts | undefined> {
  const total = { applied: 0, failed: 0, pending: 0, stale: 0 };
  const counted = new Set<string>();
  const count = async (account: AccountMemory, acks: ReadonlyMap<string, AckRecord>): Promise<void> => {
    counted.add(account.id);
    if (!account.otel()) return;
    const rollout = rolloutOf({ ...(await factsOf(account)), acks, now: deps.clock.now(), staleAfterMs });
    for (const state of ['applied', 'failed', 'pending', 'stale'] as const) total[state] += rollout[state];
  };

  for await (const [accountId, acks] of acksByAccount(deps, signal)) {
    const account = wholeMemory(deps.memory).account(accountId);
    if (account) await count(account, acks);
  }
  let others = 0;
  for (const account of wholeMemory(deps.memory).accounts()) {
    if (counted.has(account.id)) continue;
    await count(account, NONE);
    others += 1;
    if (others % ACCOUNTS_AT_ONCE === 0) await deps.clock.sleep(PAUSE_MS, signal);
    if (signal.aborted) return undefined;
  }
  // Dropped in the middle, it would have ended early.
  wholeMemory(deps.memory);
  return signal.aborted ? undefined : total;
}

const NONE: ReadonlyMap<string, AckRecord> = new Map();

function wholeMemory(memory: FleetMemory): FleetMemory {
  if (!memory.whole) throw new StoreUnavailable('timeout', 'Memory is being filled anew.');
  return memory;
}

async function* acksByAccount(
  { store, clock }: RolloutTotalsDeps,
  signal: AbortSignal,
): AsyncGenerator<readonly [accountId: string, acks: ReadonlyMap<string, AckRecord>]> {
  let accountId = '';
  let acks = new Map<string, AckRecord>();
  let after: string | undefined;
  do {
    const page = await store.list({ prefix: KEYS.acks, limit: PAGE, ...(after !== undefined && { after }) });
    for (const entry of page.entries) {
      const [, owner = ''] = entry.key.split('/');
      if (owner !== accountId) {
        if (acks.size > 0) yield [accountId, acks];
        [accountId, acks] = [owner, new Map<string, AckRecord>()];
      }
      acks.set(...ackOf(entry));
    }
    after = page.next;
    if (after !== undefined) await clock.sleep(PAUSE_MS, signal);
    if (signal.aborted) return;
  } while (after !== undefined);
  if (acks.size > 0) yield [accountId, acks];
}
