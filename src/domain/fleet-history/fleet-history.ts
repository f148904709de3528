import { expectUnchanged, type Expectation, type Store, type Write } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { dayAt, HOUR_MS } from '../../time/utc-days.ts';
import { put, replaceable } from '../records/codec.ts';
import type { Listening } from '../devices/listening.ts';
import type { FleetDayRecord } from '../records/account-records.ts';
import { KEYS } from '../records/keys.ts';
import type { AccountFleet } from '../rollouts/rollout-totals.ts';
import type { ClockWatch } from '../status-history/clock-trust.ts';
import { dayNumberOf, hourOfDay } from './days.ts';

/*
 * Once an hour the leader keeps how many daemons each account had (ADR 0078). The counts are those of a round that
 * counts all rollouts anyway; here they wait until they are written, a batch of accounts at a time.
 */

/** Accounts of one commit: their records are read together, and expected by it. */
const ACCOUNTS_PER_COMMIT = 50;
/**
 * The least pause after a commit, so that 10,000 accounts take 10 s at least. It is twice as long as the commit took,
 * if that is more.
 */
const PAUSE_MS = 50;
const PAUSE_MAX_MS = 1000;
/** A batch whose records were written meanwhile is read again so often in a round. */
const ATTEMPTS_MAX = 3;

/** Keeps the fleets of all accounts, for one term of one leader. */
export interface FleetHistory {
  /**
   * The hour that is still to be counted, in hours since 1970; undefined after it is, while the clock is wrong, and
   * until this replica has been listening for as long as a daemon may be without a contact: before, the contacts that
   * are missing may be those of a time in which the service was down.
   */
  due(): number | undefined;
  /** Takes the counts of an hour, in place of those that still wait. */
  counted(hour: number, fleets: readonly AccountFleet[]): void;
  /** Writes what waits. @throws StoreUnavailable; what was not written is written by a later round */
  round(signal: AbortSignal): Promise<void>;
}

interface FleetHistoryDeps {
  readonly store: Pick<Store, 'get' | 'commit'>;
  readonly clock: Clock;
  readonly clockWatch: Pick<ClockWatch, 'trusted'>;
  readonly listening: Pick<Listening, 'forMs'>;
  /** As `staleAfterMs()`. */
  readonly staleAfterMs: number;
}

/** Creates it for a term. @param fence the expectations of every commit of the term */
export function createFleetHistory(
  { store, clock, clockWatch, listening, staleAfterMs }: FleetHistoryDeps,
  fence: readonly Expectation[],
): FleetHistory {
  let countedHour: number | undefined;
  let waiting: { readonly hour: number; readonly fleets: readonly AccountFleet[] } | undefined;

  /** Writes the points of a batch that are not there yet. */
  async function write(
    hour: number,
    fleets: readonly AccountFleet[],
    signal: AbortSignal,
  ): Promise<'done' | 'conflict'> {
    const changes = (await Promise.all(fleets.map((fleet) => changeOf(store, hour, fleet)))).flat();
    const [first, ...others] = changes.map(({ expect }) => expect);
    if (!first) return 'done';
    const startedAt = clock.monotonic();
    const { outcome } = await store.commit({
      expect: [first, ...others, ...fence],
      write: changes.map(({ write }) => write),
      quiet: true,
    });
    const pauseMs = Math.min(Math.max(PAUSE_MS, 2 * (clock.monotonic() - startedAt)), PAUSE_MAX_MS);
    await clock.sleep(pauseMs, signal);
    return outcome === 'conflict' ? 'conflict' : 'done';
  }

  return {
    due() {
      const hour = Math.floor(clock.now() / HOUR_MS);
      const isHeard = listening.forMs() >= staleAfterMs;
      return hour !== countedHour && isHeard && clockWatch.trusted() ? hour : undefined;
    },
    counted(hour, fleets) {
      countedHour = hour;
      waiting = { hour, fleets };
    },
    async round(signal) {
      for (let attempt = 1; waiting && attempt <= ATTEMPTS_MAX && !signal.aborted;) {
        const { hour, fleets } = waiting;
        const outcome = await write(hour, fleets.slice(0, ACCOUNTS_PER_COMMIT), signal);
        attempt = outcome === 'done' ? 1 : attempt + 1;
        // Another hour may have been counted meanwhile.
        if (outcome === 'conflict' || waiting.hour !== hour) continue;
        const left = fleets.slice(ACCOUNTS_PER_COMMIT);
        waiting = left.length > 0 ? { hour, fleets: left } : undefined;
      }
    },
  };
}

/**
 * The change that adds a point to the record of its day: none where that hour has one, so that a second leader, or the
 * same one after a restart, changes nothing.
 */
async function changeOf(
  store: Pick<Store, 'get'>,
  hour: number,
  { accountId, active, silent, failed }: AccountFleet,
): Promise<readonly { readonly expect: Expectation; readonly write: Write }[]> {
  const key = KEYS.fleetDay(accountId, dayNumberOf(hour));
  const read = replaceable(KEYS.fleetDay, key, await store.get(key));
  const day = dayAt(hour * HOUR_MS);
  const before = read.record?.day === day ? read.record : undefined;
  const index = hourOfDay(hour);
  // An account without daemons has no history of zeros; on the day on which it lost them the zero tells that.
  if (before?.hours[index] || (!before && active === 0)) return [];
  const hours = Array.from(
    { length: Math.max(index + 1, before?.hours.length ?? 0) },
    (_, at) => before?.hours[at] ?? null,
  );
  hours[index] = [active, silent, failed];
  const record: FleetDayRecord = { ...before, day, hours };
  return [{ expect: expectUnchanged(read), write: put(key, record) }];
}
