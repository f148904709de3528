import type { Numbers } from '../../packed/number-map.ts';
import type { Entry, Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { lastSeenAt, type AccountReader, type AppEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { ackSchema, type AccountRecord, type AckRecord } from '../records/records.ts';
import { Refusal } from '../refusal.ts';

/** How many devices are where; they add up to all that are to receive the configuration. */
export interface RolloutCounts {
  readonly applied: number;
  readonly failed: number;
  readonly pending: number;
  readonly stale: number;
}

export interface RolloutFailure {
  readonly appId: string;
  /** In the daemon's words, at most 512 characters; `''` where it had none. */
  readonly error: string;
  readonly at: number;
}

export interface Rollout extends RolloutCounts {
  /** Of the configuration, or of its purge; 0 where none was ever stored. */
  readonly revision: number;
  /** Active cloud devices of the account while it is Enterprise (O11). */
  readonly devices: number;
  /** The newest first, at most 20. */
  readonly failures: readonly RolloutFailure[];
}

export interface RolloutFacts {
  readonly entitlement: AccountRecord['entitlement'];
  readonly revision: number;
  readonly apps: readonly AppEntry[];
  /** Last contacts by slot, as far as they are written. */
  readonly seen: Numbers;
  /** By app; of apps that are gone since, too. */
  readonly acks: ReadonlyMap<string, AckRecord>;
  readonly now: number;
  readonly staleAfterMs: number;
}

const STALE_AFTER_POLLS = 3;

/**
 * A device that let this time pass is stale. Never less than twice what the record of last contacts may be behind, so
 * that a fleet that polls every few seconds does not look silent.
 */
export const staleAfterMs = (pollIntervalSeconds: number): number =>
  Math.max(STALE_AFTER_POLLS * pollIntervalSeconds * 1000, 2 * LIMITS.heartbeatFlushMaxMs);

/** Whatever a device said of another revision than this one says nothing of this one. */
export function rolloutOf(facts: RolloutFacts): Rollout {
  const { revision, seen, acks, now } = facts;
  const counts = { applied: 0, failed: 0, pending: 0, stale: 0 };
  const failures: RolloutFailure[] = [];
  const devices = facts.entitlement === 'enterprise' ? facts.apps.filter(receives) : [];
  const isStale = (device: AppEntry): boolean => {
    // The last contact mostly tells, and leaves the record unread.
    if (now - (seen.get(device.slot) ?? 0) <= facts.staleAfterMs) return false;
    return now - (lastSeenAt(device.record, seen) ?? 0) > facts.staleAfterMs;
  };
  for (const device of devices) {
    const { id } = device;
    const ack = acks.get(id);
    if (ack?.revision === revision) {
      counts[ack.status] += 1;
      if (ack.status === 'failed') failures.push({ appId: id, error: ack.error ?? '', at: ack.at });
    } else {
      counts[isStale(device) ? 'stale' : 'pending'] += 1;
    }
  }
  failures.sort((a, b) => b.at - a.at || (a.appId < b.appId ? -1 : 1));
  return { revision, devices: devices.length, ...counts, failures: failures.slice(0, LIMITS.rolloutFailuresMax) };
}

const receives = ({ status, connection }: AppEntry): boolean => status === 'active' && connection === 'cloud';

export interface Rollouts {
  /** Refuses with `not_found`. */
  of(accountId: string): Promise<Rollout>;
}

export interface RolloutDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
}

/** The counts are read when they are asked for, and kept nowhere (ADR 0010). */
export function createRollouts({ store, fleet, clock }: RolloutDeps, pollIntervalSeconds: number): Rollouts {
  return {
    async of(accountId) {
      // First: of a revision that is newer than the account as it is read then, there is no acknowledgement here.
      const acks = await acksOf(store, accountId);
      const account = await (await fleet.current()).account(accountId);
      if (!account) throw new Refusal('not_found');
      return rolloutOf({
        ...(await factsOf(account)),
        acks,
        now: clock.now(),
        staleAfterMs: staleAfterMs(pollIntervalSeconds),
      });
    },
  };
}

export async function factsOf(
  account: AccountReader,
): Promise<Pick<RolloutFacts, 'entitlement' | 'revision' | 'apps' | 'seen'>> {
  return {
    entitlement: account.record.entitlement,
    revision: (await account.otel())?.record.revision ?? 0,
    apps: await account.apps(),
    seen: await account.seen(),
  };
}

/** An acknowledgement goes with its app, so an account has no more of them than apps. */
const ACKS_PAGE = LIMITS.appsPerAccountMax;

async function acksOf(store: Store, accountId: string): Promise<Map<string, AckRecord>> {
  const page = await store.list({ prefix: KEYS.ack(accountId, ''), limit: ACKS_PAGE });
  const acks = new Map<string, AckRecord>();
  for (const entry of page.entries) noteAck(acks, entry);
  return acks;
}

/**
 * Adds an acknowledgement, by its app. One that cannot be read, by damage or since a newer version wrote it, says nothing
 * of its device, and must not hold up the count of all others.
 */
export function noteAck(acks: Map<string, AckRecord>, entry: Entry): void {
  try {
    acks.set(entry.key.slice(entry.key.lastIndexOf('/') + 1), parseRecord(ackSchema, entry).record);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
  }
}
