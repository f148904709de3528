import type { Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { DAY_MS, dayAt } from '../../time/utc-days.ts';
import { lastBackupAt } from '../backup/last-backup.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { oldestPurgeAt } from '../history/purges.ts';
import type { InTime, Usages } from '../metering/usage.ts';
import { readWatermark } from '../metering/watermark.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { ReplicaRecord } from '../records/replica-records.ts';
import { Refusal } from '../refusal.ts';
import type { Replicas } from '../replicas/replicas.ts';

/** A replica that lives. */
interface LiveReplica extends Pick<ReplicaRecord, 'replicaId' | 'version' | 'startedAt'> {
  readonly leader: boolean;
  /** How far its clock is ahead of this one's, in milliseconds; undefined where it is not known. */
  readonly clockSkewMs: number | undefined;
  readonly self: boolean;
}

/** A night over all accounts. */
interface ServiceNight {
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly activeDaemons: number;
  readonly late: boolean;
}

/** The state of the service, for its operators. Times are milliseconds since 1970. */
interface ServiceState {
  readonly store: Store['backend'];
  /** 0 to 1; NaN where it cannot be told. */
  readonly fullness: number;
  readonly accounts: number;
  readonly apps: number;
  readonly users: number;
  readonly replicas: readonly LiveReplica[];
  readonly leaderSince: number | undefined;
  readonly nights: {
    readonly meteredThrough: string | undefined;
    readonly due: string;
    readonly month: string;
    /** Empty where there are more accounts than one report holds. */
    readonly days: readonly ServiceNight[];
  };
  /** Purges that the history may still hold, up to 1000, and the oldest one. */
  readonly purges: { readonly waiting: number; readonly oldestAt: number | undefined };
  readonly lastBackupAt: number | undefined;
}

interface ServiceStateDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Pick<Clock, 'now'>;
  readonly replicaId: string;
  readonly replicas: Pick<Replicas, 'live' | 'skewOf'>;
  readonly usages: Usages;
}

/** Reads the state of the service. @throws StoreUnavailable; BadRecord */
export type ReadServiceState = (inTime: InTime) => Promise<ServiceState>;

const PURGES_COUNTED_MAX = 1000;

/** Creates the reader of the state; it is read when somebody asks. */
export function createServiceState(deps: ServiceStateDeps): ReadServiceState {
  const { store, fleet, clock } = deps;
  return async (inTime) => {
    const memory = await inTime(fleet.whole());
    const leader = await inTime(store.get(KEYS.leader()));
    const leading = leader && parseRecord(KEYS.leader, leader).record;
    const notes = await inTime(store.list({ prefix: KEYS.purge.under(), limit: PURGES_COUNTED_MAX, keysOnly: true }));
    const due = dayAt(clock.now() - DAY_MS);
    return {
      store: store.backend,
      fullness: store.fullness(),
      accounts: memory.accountCount,
      apps: memory.appCount,
      users: memory.userCount(),
      replicas: await inTime(liveReplicas(deps, leading?.replicaId)),
      leaderSince: leading?.since,
      nights: {
        meteredThrough: (await inTime(readWatermark(store))).through,
        due,
        month: due.slice(0, 7),
        days: await nightsOf(deps, due.slice(0, 7), inTime),
      },
      purges: { waiting: notes.entries.length, oldestAt: await inTime(oldestPurgeAt(store)) },
      lastBackupAt: await inTime(lastBackupAt(store)),
    };
  };
}

async function liveReplicas(
  { replicas, replicaId: own }: ServiceStateDeps,
  leader: string | undefined,
): Promise<readonly LiveReplica[]> {
  const live = (await replicas.live()).map(({ replicaId, version, startedAt }) => ({
    replicaId,
    version,
    startedAt,
    leader: replicaId === leader,
    clockSkewMs: replicaId === own ? 0 : replicas.skewOf(replicaId),
    self: replicaId === own,
  }));
  return live.sort((a, b) => a.startedAt - b.startedAt || (a.replicaId < b.replicaId ? -1 : 1));
}

async function nightsOf({ usages }: ServiceStateDeps, month: string, inTime: InTime): Promise<readonly ServiceNight[]> {
  const days = new Map<string, { activeDaemons: number; late: boolean }>();
  try {
    for (const { nights } of (await usages.read({ month, of: 'all' }, inTime)).accounts) {
      for (const { day, activeDaemons, late } of nights) {
        const before = days.get(day);
        days.set(day, {
          activeDaemons: activeDaemons + (before?.activeDaemons ?? 0),
          late: late || before?.late === true,
        });
      }
    }
  } catch (error) {
    // More accounts than one report holds, or a sum beyond all bounds: the reports of usage say so themselves.
    if (error instanceof Refusal) return [];
    throw error;
  }
  return Array.from(days, ([day, night]) => ({ day, ...night })).sort((a, b) => (a.day < b.day ? -1 : 1));
}
