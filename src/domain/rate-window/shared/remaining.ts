import type { RateDecision } from '../local-window.ts';
import type { Span } from './clock-interval.ts';
import { ofOthers } from './count.ts';
import { settled, type OwnHold } from './own-hold.ts';
import type { OwnUnits } from './own-usage.ts';
import { NO_WINDOW, pruned, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

interface OfOthers {
  readonly units: number;
  /** When the next of them counts no more; infinite when nothing counts. */
  readonly freesAt: number;
}

/** What answers say of a window (H14). The others' part is counted anew only when it has changed or something has ended. */
export class WindowOutlook {
  readonly #replicaId: string;
  readonly #rules: WindowRules;
  readonly #own: OwnUnits;
  /** Without what this replica holds and admitted. */
  #record: WindowRecord = NO_WINDOW;
  #others: OfOthers | undefined;

  constructor(replicaId: string, own: OwnUnits, rules: WindowRules) {
    this.#replicaId = replicaId;
    this.#own = own;
    this.#rules = rules;
  }

  learn(known: WindowRecord, hold: OwnHold | undefined, now: Span): void {
    const record = settled(known, this.#replicaId, hold);
    this.#record = { ...record, spent: ofOthers(record.spent, this.#own.count(now)) };
    this.#others = undefined;
  }

  answer(admitted: boolean, now: Span): RateDecision {
    const freesInSeconds = Math.max(1, Math.ceil((this.freesAt(now) - now.earliest) / 1000));
    return { admitted, left: admitted ? this.left(now) : 0, freesInSeconds };
  }

  /** Not spent and not held by others, as far as is known here. */
  left(now: Span): number {
    return Math.max(0, this.#rules.requestsMax - this.#own.live(now) - this.#look(now).units);
  }

  /** When the next unit counts no more, or a hold does; holds until then, or until the record changes. */
  freesAt(now: Span): number {
    const freesAt = Math.min(this.#own.freesAt(now), this.#look(now).freesAt);
    return Number.isFinite(freesAt) ? freesAt : now.earliest;
  }

  #look(now: Span): OfOthers {
    if (this.#others && now.earliest < this.#others.freesAt) return this.#others;
    return (this.#others = ofOthersIn(pruned(this.#record, now, this.#rules), this.#rules));
  }
}

function ofOthersIn({ spent, holds }: WindowRecord, { endedCountsMs, bucketCountsMs }: WindowRules): OfOthers {
  const held = Object.values(holds).filter(({ units }) => units > 0);
  const ends = held.map(({ until }) => until + endedCountsMs);
  const [oldest] = spent;
  if (oldest) ends.push(oldest.at + bucketCountsMs);
  const units = [...spent, ...held].reduce((sum, one) => sum + one.units, 0);
  return { units, freesAt: Math.min(...ends) };
}
