import type { RandomSource } from '../domain/credentials/random-ids.ts';
import type { Fleet } from '../domain/fleet/fleet.ts';
import { isLate, meterNight, type Night } from '../domain/metering/meter-night.ts';
import { priceOfNight, readPrices } from '../domain/metering/prices.ts';
import { pruneChanges } from '../domain/metering/prune-changes.ts';
import { advanceWatermark, moveDayOn, readWatermark, type Watermark } from '../domain/metering/watermark.ts';
import type { ClockWatch } from '../domain/status-history/clock-trust.ts';
import { dayAfter, daysBefore } from '../domain/status-history/day-record.ts';
import type { Log } from '../log.ts';
import type { Store } from '../store/port.ts';
import type { Clock } from '../time/clock.ts';
import { dayAt, endOfDay } from '../time/utc-days.ts';
import type { Term } from './leader.ts';
import type { Reconciler } from './loop.ts';
import type { MeteringMetrics } from './metrics.ts';

export interface MeteringDeps {
  readonly store: Store;
  readonly fleet: Fleet;
  readonly clock: Clock;
  readonly clockWatch: ClockWatch;
  readonly random: RandomSource;
  readonly log: Log;
  readonly metrics: MeteringMetrics;
  /** M2a: a night is metered so many milliseconds after its midnight. */
  readonly meteringDelayMs: number;
  /** The shortest pause between two batches of a night; 0 meters it in one go. */
  readonly meteringPauseMs?: number;
}

const CHECK_EVERY_MS = 5000;
const PAUSE_MS = 20;

/**
 * M1–M4: meters the oldest night that is due, one a round; then prunes the status changes that no night needs any more.
 * A round that is stopped anywhere is continued by the next one. No night is metered by a clock that is not trusted, or
 * before a price is on record. A round throws `StoreUnavailable` and `BadRecord`.
 */
export function meteringReconciler(deps: MeteringDeps, { fence, signal: term }: Term): Reconciler {
  const { store, fleet, clock, clockWatch, log, metrics } = deps;
  const fenced = { store, fence };
  const nightDeps = { ...deps, fence, pauseMs: deps.meteringPauseMs ?? PAUSE_MS };
  /** The night up to which all changes are pruned, and the key up to which those of the next one are. */
  let prunedThrough: string | undefined;
  let prunedTo: string | undefined;
  let night: Night | undefined;
  term.addEventListener('abort', () => metrics.meteredThrough(undefined), { once: true });
  return { name: 'metering', everyMs: CHECK_EVERY_MS, reconcile };

  async function reconcile(signal: AbortSignal): Promise<void> {
    // It is read in each round: a restore may have taken nights away that were metered. It is told by whatever clock.
    const watermark = await readWatermark(store);
    show(watermark.through);
    if (!clockWatch.trusted()) return;
    const due = daysBefore(dayAt(clock.now() - deps.meteringDelayMs), 1);
    const day = await nextNight(watermark, due);
    if (day !== undefined) return await meter(day, watermark, signal);
    if (watermark.through === prunedThrough) return;
    const { all, to } = await pruneChanges(fenced, watermark, prunedTo);
    prunedTo = to;
    if (all) prunedThrough = watermark.through;
  }

  function show(through: string | undefined): void {
    if (!term.aborted) metrics.meteredThrough(through === undefined ? 0 : endOfDay(through) / 1000);
  }

  /** The oldest night that is due, once its day has ended; undefined where there is none, or none yet. */
  async function nextNight({ through }: Watermark, due: string): Promise<string | undefined> {
    if (through !== undefined && through >= due) return undefined;
    const reader = await fleet.current();
    // The watch cache is being filled, or there is no account to meter.
    if (!reader.atOnce || !fleet.memory.whole || fleet.memory.accountCount === 0) return undefined;
    const current = fleet.memory.day();
    const next = through === undefined ? current?.record.since : dayAfter(through);
    if (next !== undefined && next > due) return undefined;
    if (current && next !== undefined && current.record.day > next) return next;
    const moved = await moveDayOn(fenced, current, dayAt(clock.now()));
    return moved ? next : undefined;
  }

  async function meter(day: string, before: Watermark, signal: AbortSignal): Promise<void> {
    const startedAt = clock.monotonic();
    if (night?.day !== day) {
      const prices = await readPrices(store);
      // The loop that records the price begins its term together with this one.
      if (prices.entries.length === 0) return;
      night = { day, doneTo: '', price: priceOfNight(prices, day) };
    }
    if (!(await meterNight(nightDeps, night, signal))) return;
    const late = isLate(day, clock.now());
    const { newest } = night;
    night = undefined;
    if (!(await advanceWatermark(fenced, before, day, newest))) return;
    const seconds = (clock.monotonic() - startedAt) / 1000;
    metrics.nightMetered({ late, seconds });
    show(day);
    log.info({ day, late, seconds }, 'a night is metered');
  }
}
