import type * as z from 'zod';
import type { Numbers } from '../../packed/number-map.ts';
import type { Entry, Store } from '../../store/port.ts';
import { lastSeenAt, type AccountReader, type AppEntry } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OpampAgentRecord } from '../records/opamp-records.ts';
import type { AccountRecord } from '../records/account-records.ts';
import type { AckRecord } from '../records/app-records.ts';

/** How many devices are in which state; the sum is the number of devices that receive the configuration. */
export interface RolloutCounts {
  readonly applied: number;
  readonly failed: number;
  readonly pending: number;
  readonly stale: number;
}

interface RolloutFailure {
  readonly appId: string;
  /** The agent is offered the empty configuration in its place, since it could not load it (OpAMP). */
  readonly emptied: boolean;
  /** The daemon's own text, at most 512 characters; `''` where it sent none. */
  readonly error: string;
  readonly at: number;
}

/** How far the current configuration of an account has come. */
export interface Rollout extends RolloutCounts {
  /** The revision of the configuration, or of its purge; 0 where none was ever stored. */
  readonly revision: number;
  /** Active cloud devices of the account while it is Enterprise (O11). */
  readonly devices: number;
  /** The newest failures first, at most 20. */
  readonly failures: readonly (RolloutFailure & Named)[];
  /** All failures by what the daemons said, the most frequent first, at most 20. */
  readonly failuresByError: readonly FailedWith[];
  /** The devices by the revision that they acknowledged last, the newest first, at most 20. */
  readonly acknowledged: readonly Acknowledged[];
  /** The agents of OpAMP by their health, as far as they report it. */
  readonly health: { readonly healthy: number; readonly unhealthy: number };
  /** The apps that turned unhealthy last first, at most 20. */
  readonly unhealthy: readonly (Unhealthy & Named)[];
}

interface Named {
  /** The name of the app. */
  readonly name: string;
}

/** How many devices have applied a revision, and how many could not, as they said last. */
interface Acknowledged {
  readonly revision: number;
  readonly applied: number;
  readonly failed: number;
}

/** An agent that says it is not healthy. */
interface Unhealthy {
  readonly appId: string;
  /** The agent's own text, at most 512 characters; `''` where it sent none. */
  readonly error: string;
  readonly at: number;
}

/** How many devices failed with the same words. */
interface FailedWith {
  readonly error: string;
  readonly devices: number;
}

export interface RolloutFacts {
  readonly entitlement: AccountRecord['entitlement'];
  readonly revision: number;
  readonly apps: readonly AppEntry[];
  /** Last contacts by slot, as far as they are written to the store. */
  readonly seen: Numbers;
  /** Acknowledgements by app; also of apps that were deleted since. */
  readonly acks: ReadonlyMap<string, AckRecord>;
  /** The reports of agents of OpAMP, by app; also of apps that were deleted since. */
  readonly agents?: ReadonlyMap<string, OpampAgentRecord>;
  readonly now: number;
  readonly staleAfterMs: number;
}

const STALE_AFTER_POLLS = 3;

/**
 * Returns after how many milliseconds without a contact a device is stale. It is never less than twice the delay of the
 * record of last contacts, so that a fleet that polls every few seconds does not look silent.
 */
export const staleAfterMs = (pollIntervalSeconds: number): number =>
  Math.max(STALE_AFTER_POLLS * pollIntervalSeconds * 1000, 2 * LIMITS.heartbeatFlushMaxMs);

/** Computes the rollout of the current revision. */
export function rolloutOf(facts: RolloutFacts): Rollout {
  const { revision, acks, agents } = facts;
  const counts = { applied: 0, failed: 0, pending: 0, stale: 0 };
  const failures: RolloutFailure[] = [];
  const devices = receiversOf(facts);
  for (const device of devices) {
    const { id } = device;
    const state = stateOf(device, facts);
    counts[state] += 1;
    const ack = acks.get(id);
    if (state === 'failed' && ack) {
      const emptied = agents?.get(id)?.failed?.startsWith(`${revision}-`) === true;
      failures.push({ appId: id, error: ack.error ?? '', at: ack.at, emptied });
    }
  }
  failures.sort((a, b) => b.at - a.at || (a.appId < b.appId ? -1 : 1));
  return {
    revision,
    devices: devices.length,
    ...counts,
    failures: withNames(facts.apps, failures.slice(0, LIMITS.rolloutFailuresMax)),
    failuresByError: byError(failures),
    acknowledged: byRevision(devices, acks),
    ...healthOf(facts.apps, agents),
  };
}

/** The devices that receive the configuration. */
export const receiversOf = ({ entitlement, apps }: RolloutFacts): readonly AppEntry[] =>
  entitlement === 'enterprise' ? apps.filter(receives) : [];

/** The state of a device that receives it. An acknowledgement of another revision does not count. */
export function stateOf(device: AppEntry, facts: RolloutFacts): keyof RolloutCounts {
  const { revision, acks } = facts;
  const ack = acks.get(device.id);
  if (ack?.revision === revision) return ack.status;
  return isSilent(device, facts) ? 'stale' : 'pending';
}

/** Tells whether a device has made no contact for longer than three polls. */
export function isSilent(
  device: AppEntry,
  { seen, now, staleAfterMs }: Pick<RolloutFacts, 'seen' | 'now' | 'staleAfterMs'>,
): boolean {
  // The last contact is enough for most devices, and spares reading the record.
  if (now - (seen.get(device.slot) ?? 0) <= staleAfterMs) return false;
  return now - (lastSeenAt(device.record, seen) ?? 0) > staleAfterMs;
}

function byRevision(devices: readonly AppEntry[], acks: ReadonlyMap<string, AckRecord>): readonly Acknowledged[] {
  const counted = new Map<number, { applied: number; failed: number }>();
  for (const { id } of devices) {
    const ack = acks.get(id);
    if (!ack) continue;
    const counts = counted.get(ack.revision) ?? { applied: 0, failed: 0 };
    counts[ack.status] += 1;
    counted.set(ack.revision, counts);
  }
  return Array.from(counted, ([revision, counts]) => ({ revision, ...counts }))
    .sort((a, b) => b.revision - a.revision)
    .slice(0, LIMITS.rolloutFailuresMax);
}

/** The health of active devices, whatever the account is entitled to. */
function healthOf(
  apps: readonly AppEntry[],
  agents: ReadonlyMap<string, OpampAgentRecord> = new Map(),
): Pick<Rollout, 'health' | 'unhealthy'> {
  const health = { healthy: 0, unhealthy: 0 };
  const unhealthy: Unhealthy[] = [];
  for (const { id, status } of apps) {
    const said = status === 'active' ? agents.get(id)?.health : undefined;
    if (!said) continue;
    health[said.healthy ? 'healthy' : 'unhealthy'] += 1;
    if (!said.healthy) unhealthy.push({ appId: id, error: said.error ?? '', at: said.at });
  }
  unhealthy.sort((a, b) => b.at - a.at || (a.appId < b.appId ? -1 : 1));
  return { health, unhealthy: withNames(apps, unhealthy.slice(0, LIMITS.rolloutFailuresMax)) };
}

/** The few that are listed, with the names of their apps. */
function withNames<T extends { readonly appId: string }>(
  apps: readonly AppEntry[],
  listed: readonly T[],
): readonly (T & Named)[] {
  if (listed.length === 0) return [];
  const ids = new Set(listed.map(({ appId }) => appId));
  const names = new Map(apps.filter(({ id }) => ids.has(id)).map(({ id, record }) => [id, record.name]));
  return listed.map((one) => ({ ...one, name: names.get(one.appId) ?? '' }));
}

function byError(failures: readonly RolloutFailure[]): readonly FailedWith[] {
  const counted = new Map<string, number>();
  for (const { error } of failures) counted.set(error, (counted.get(error) ?? 0) + 1);
  return Array.from(counted, ([error, devices]) => ({ error, devices }))
    .sort((a, b) => b.devices - a.devices || (a.error < b.error ? -1 : 1))
    .slice(0, LIMITS.rolloutFailuresMax);
}

const receives = ({ status, connection }: AppEntry): boolean => status === 'active' && connection === 'cloud';

/**
 * Counts how far the current configuration of an account has come; it reads the acknowledgements only where a device
 * may have one.
 * @throws StoreUnavailable
 */
export async function rolloutCounts(
  store: Pick<Store, 'list'>,
  account: AccountReader,
  facts: Pick<RolloutFacts, 'now' | 'staleAfterMs'>,
): Promise<RolloutCounts> {
  const found = await factsOf(account);
  const acks = found.apps.some(receives) ? await acksOf(store, account.id) : new Map<string, AckRecord>();
  const { applied, failed, pending, stale } = rolloutOf({ ...facts, ...found, acks });
  return { applied, failed, pending, stale };
}

/** Reads the facts of an account that a rollout is computed from. @throws StoreUnavailable */
export async function factsOf(
  account: AccountReader,
): Promise<Pick<RolloutFacts, 'entitlement' | 'revision' | 'apps' | 'seen'>> {
  return {
    entitlement: account.record.entitlement,
    revision: (await account.otel())?.record.revision ?? 0,
    apps: await account.apps(),
    seen: (await account.lastSeen()).record,
  };
}

/** An acknowledgement is removed with its app, so an account has no more of them than apps. */
export const ACKS_PAGE = LIMITS.appsPerAccountMax;

/** Reads the acknowledgements of an account's apps, by app. @throws StoreUnavailable */
export async function acksOf(store: Pick<Store, 'list'>, accountId: string): Promise<Map<string, AckRecord>> {
  const page = await store.list({ prefix: KEYS.ack(accountId, ''), limit: ACKS_PAGE });
  const acks = new Map<string, AckRecord>();
  for (const entry of page.entries) noteAck(acks, entry);
  return acks;
}

/**
 * Adds an acknowledgement, by its app. An unreadable one, which is damaged or of a newer version, is ignored: it must
 * not prevent the count of all others.
 */
export function noteAck(acks: Map<string, AckRecord>, entry: Entry): void {
  noteRecord(acks, KEYS.ack, entry);
}

/** Adds a record, by the app that its key ends with; an unreadable one is ignored. */
export function noteRecord<T>(records: Map<string, T>, kind: { readonly schema: z.ZodType<T> }, entry: Entry): void {
  try {
    records.set(entry.key.slice(entry.key.lastIndexOf('/') + 1), parseRecord(kind, entry).record);
  } catch (error) {
    if (!(error instanceof BadRecord)) throw error;
  }
}
