import type { RateDecision } from '../rate-window.ts';
import { type Outlook, outlookOf } from './decide.ts';
import type { OwnHold } from './own-hold.ts';
import { NO_WINDOW, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';
import type { Span } from './wall.ts';

/** What answers say of a window (H14), counted anew only when the record has changed or something in it has ended. */
export class WindowOutlook {
  readonly #replicaId: string;
  readonly #rules: WindowRules;
  #record: WindowRecord = NO_WINDOW;
  #outlook: Outlook | undefined;

  constructor(replicaId: string, rules: WindowRules) {
    this.#replicaId = replicaId;
    this.#rules = rules;
  }

  learn(record: WindowRecord): void {
    this.#record = record;
    this.#outlook = undefined;
  }

  answer(admitted: boolean, hold: OwnHold | undefined, now: Span): RateDecision {
    const freesInSeconds = Math.max(1, Math.ceil((this.freesAt(hold, now) - now.earliest) / 1000));
    return { admitted, left: admitted ? this.left(hold, now) : 0, freesInSeconds };
  }

  left(hold: OwnHold | undefined, now: Span): number {
    return Math.max(0, this.#look(now).left - (hold?.spent ?? 0));
  }

  freesAt(hold: OwnHold | undefined, now: Span): number {
    const [first] = hold?.spends.keys() ?? [];
    const own = first === undefined ? Number.POSITIVE_INFINITY : first + this.#rules.bucketCountsMs;
    const freesAt = Math.min(own, this.#look(now).freesAt);
    return Number.isFinite(freesAt) ? freesAt : now.earliest;
  }

  #look(now: Span): Outlook {
    if (this.#outlook && now.earliest < this.#outlook.freesAt) return this.#outlook;
    return (this.#outlook = outlookOf(this.#record, this.#replicaId, now, this.#rules));
  }
}
