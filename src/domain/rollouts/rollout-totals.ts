import { pagesOf } from '../../store/pages.ts';
import { StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { AccountView } from '../fleet/account-memory.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import { KEYS } from '../records/keys.ts';
import type { AckRecord } from '../records/app-records.ts';
import { countApps } from './app-counts.ts';
import { RankedRollouts, type CountedRollouts } from './account-rollouts.ts';
import { factsOf, noteAck, rolloutOf, type Rollout, type RolloutCounts, type RolloutFacts } from './rollout.ts';

interface RolloutTotalsDeps {
  readonly store: Pick<Store, 'list'>;
  readonly memory: FleetMemory;
  readonly clock: Clock;
}

const PAGE = 500;
/** The pause after each page, and after each `COUNTED_AT_ONCE`: requests come first. */
const PAUSE_MS = 20;
/** In devices: they take about a millisecond. An account costs as much as some devices, even if it has none. */
const COUNTED_AT_ONCE = 5000;
const COST_OF_ACCOUNT = 50;

/** The devices of all accounts by their state, and the accounts that stand out. */
export interface RolloutTotals extends CountedRollouts {
  readonly devices: RolloutCounts;
}

/** The daemons of an account as its overview counts them. */
export interface AccountFleet {
  readonly accountId: string;
  readonly active: number;
  readonly silent: number;
  /** Those that could not apply the current configuration. */
  readonly failed: number;
}

/** An account as the walk over all of them finds it. */
export interface WalkedAccount {
  readonly account: AccountView;
  readonly facts: RolloutFacts;
  /** Absent where the account never stored a configuration. */
  readonly rollout: Rollout | undefined;
}

/** Those who look at accounts on the way; without them, accounts that never stored a configuration are passed over. */
interface OnTheWay {
  readonly onFleet?: ((fleet: AccountFleet) => void) | undefined;
  readonly onAccount?: ((walked: WalkedAccount) => void) | undefined;
}

/**
 * Counts the rollout states of the devices of all Enterprise accounts that ever stored a configuration. It reads all
 * acknowledgements once, in pages; those of one account are adjacent. Accounts are counted one after the other, not all
 * at one instant.
 * @param staleAfterMs as `staleAfterMs()`
 * @returns undefined when the signal aborted
 * @throws StoreUnavailable, also while memory is being filled anew
 */
export async function rolloutTotals(
  deps: RolloutTotalsDeps,
  staleAfterMs: number,
  signal: AbortSignal,
  { onFleet, onAccount }: OnTheWay = {},
): Promise<RolloutTotals | undefined> {
  const ranks = new RankedRollouts();
  const devices = { applied: 0, failed: 0, pending: 0, stale: 0 };
  const counted = new Set<string>();
  let sincePause = 0;
  const count = async (account: AccountView, acks: ReadonlyMap<string, AckRecord>): Promise<void> => {
    counted.add(account.id);
    sincePause += COST_OF_ACCOUNT;
    const isConfigured = account.otel() !== undefined;
    if (isConfigured || onFleet || onAccount) {
      const facts = { ...(await factsOf(account)), acks, now: deps.clock.now(), staleAfterMs };
      const rollout = isConfigured ? rolloutOf(facts) : undefined;
      if (rollout) {
        const { revision, applied, failed, pending, stale } = rollout;
        const counts = { applied, failed, pending, stale };
        for (const state of ['applied', 'failed', 'pending', 'stale'] as const) devices[state] += counts[state];
        ranks.add({ accountId: account.id, revision, ...counts });
      }
      if (onFleet) {
        const { active, silent } = countApps(facts);
        onFleet({ accountId: account.id, active, silent, failed: (rollout ?? rolloutOf(facts)).failed });
      }
      onAccount?.({ account, facts, rollout });
      sincePause += facts.apps.length;
    }
    if (sincePause < COUNTED_AT_ONCE) return;
    sincePause = 0;
    await deps.clock.sleep(PAUSE_MS, signal);
  };

  for await (const [accountId, acks] of acksByAccount(deps, signal)) {
    const account = wholeMemory(deps.memory).account(accountId);
    if (account) await count(account, acks);
    if (signal.aborted) return undefined;
  }
  for (const account of wholeMemory(deps.memory).accounts()) {
    if (counted.has(account.id)) continue;
    await count(account, NONE);
    if (signal.aborted) return undefined;
  }
  // If memory was dropped meanwhile, the iteration ended early.
  wholeMemory(deps.memory);
  return signal.aborted ? undefined : { devices, ...ranks.counted(deps.clock.now()) };
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
  for await (const { entries, next } of pagesOf(store, { prefix: KEYS.ack.under(), limit: PAGE })) {
    for (const entry of entries) {
      const [, owner = ''] = entry.key.split('/');
      if (owner !== accountId) {
        if (acks.size > 0) yield [accountId, acks];
        [accountId, acks] = [owner, new Map<string, AckRecord>()];
      }
      noteAck(acks, entry);
    }
    if (next !== undefined) await clock.sleep(PAUSE_MS, signal);
    if (signal.aborted) return;
  }
  if (acks.size > 0) yield [accountId, acks];
}
