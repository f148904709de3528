import type { RateDecision, RateLeft } from '../local-window.ts';
import { ofOthers } from './count.ts';
import { settled, type OwnLease } from './own-lease.ts';
import type { OwnUsage } from './own-usage.ts';
import { NO_WINDOW, pruned, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

interface OthersUnits {
  readonly units: number;
  /** When the next of them counts no more; infinite when nothing counts. */
  readonly freesAt: number;
}

/**
 * The remaining units of a window, as answers report them (H14). The units of other replicas are summed up anew only
 * when the record changed or something in it ended.
 */
export class RemainingUnits {
  readonly #replicaId: string;
  readonly #rules: WindowRules;
  readonly #own: OwnUsage;
  /** The record without the lease and the units of this replica. */
  #record: WindowRecord = NO_WINDOW;
  #others: OthersUnits | undefined;

  constructor(replicaId: string, own: OwnUsage, rules: WindowRules) {
    this.#replicaId = replicaId;
    this.#own = own;
    this.#rules = rules;
  }

  learn(known: WindowRecord, lease: OwnLease | undefined): void {
    const record = settled(known, this.#replicaId, lease, this.#rules);
    this.#record = { ...record, spent: ofOthers(record.spent, this.#replicaId) };
    this.#others = undefined;
  }

  answer(admitted: boolean, now: number): RateDecision {
    const { left, freesInSeconds } = this.at(now);
    return { admitted, left: admitted ? left : 0, freesInSeconds };
  }

  at(now: number): RateLeft {
    return { left: this.left(now), freesInSeconds: Math.max(1, Math.ceil((this.freesAt(now) - now) / 1000)) };
  }

  /** Units that are neither spent nor leased by others, as far as this replica knows. */
  left(now: number): number {
    return Math.max(0, this.#rules.requestsMax - this.#own.live(now) - this.#othersNow(now).units);
  }

  /** When the next unit or lease counts no more. The answer is true until then, or until the record changes. */
  freesAt(now: number): number {
    const freesAt = Math.min(this.#own.freesAt(now), this.#othersNow(now).freesAt);
    return Number.isFinite(freesAt) ? freesAt : now;
  }

  #othersNow(now: number): OthersUnits {
    if (this.#others && now < this.#others.freesAt) return this.#others;
    return (this.#others = sumOf(pruned(this.#record, now, this.#rules), this.#rules));
  }
}

function sumOf({ spent, leases }: WindowRecord, { endedCountsMs, othersCountMs }: WindowRules): OthersUnits {
  const leased = Object.values(leases).filter(({ units }) => units > 0);
  let freesAt = Number.POSITIVE_INFINITY;
  for (const { until } of leased) freesAt = Math.min(freesAt, until + endedCountsMs);
  for (const { at } of spent) freesAt = Math.min(freesAt, at + othersCountMs);
  const units = [...spent, ...leased].reduce((sum, one) => sum + one.units, 0);
  return { units, freesAt };
}
