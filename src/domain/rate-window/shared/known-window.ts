import { ABSENT, type Entry } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import type { Versioned } from '../../records/codec.ts';
import type { RateDecision } from '../local-window.ts';
import type { Span } from './clock-interval.ts';
import { NO_PART, reconciled, refused, sent, spendUnit, usableUnits, type OwnHold, type OwnPart } from './own-hold.ts';
import { OwnUnits } from './own-usage.ts';
import { hasHold, NO_WINDOW, readWindowOrFull, sliceName, type WindowRecord } from './record.ts';
import { WindowOutlook } from './remaining.ts';
import type { WindowRules } from './rules.ts';

export interface KnownWindowDeps {
  readonly replicaId: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly wall: () => Span;
  readonly rules: WindowRules;
}

export type Known = Versioned<WindowRecord>;

/** What this replica knows of one account's window: the record, its own part in it, and what it admitted. */
export class KnownWindow {
  readonly #deps: KnownWindowDeps;
  readonly #outlook: WindowOutlook;
  #known: Known | undefined;
  /** The revision that `known` has or had: what is older than this is no news. */
  #reached = ABSENT;
  /** What the watch brought last; read when it is needed. */
  #newer: Entry | undefined;
  /** Until then a refusal needs no second look, unless the record changes. */
  #fullUntil = Number.NEGATIVE_INFINITY;
  readonly own: OwnUnits;
  part: OwnPart = NO_PART;
  /** Others want back what is held. */
  isAskedBack = false;
  /** Slices of others that someone asked for, with the instant from which no answer is expected any more. */
  readonly asked = new Map<string, number>();

  constructor(deps: KnownWindowDeps) {
    this.#deps = deps;
    this.own = new OwnUnits(deps.rules);
    this.#outlook = new WindowOutlook(deps.replicaId, this.own, deps.rules);
  }

  /** Undefined when the store must be asked. */
  get record(): Known | undefined {
    return this.#known;
  }

  /** @returns whether it is news */
  saw(entry: Entry): boolean {
    if (entry.revision <= Math.max(this.#newer?.revision ?? ABSENT, this.#reached)) return false;
    this.#newer = entry;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Whether this seems to ask for what is held here; many records pass by, and are not parsed for it. */
  asksBack({ value }: Entry): boolean {
    const { hold } = this.part;
    return hold?.slice === true && value.includes(`"${sliceName(this.#deps.replicaId, hold.nonce)}"`);
  }

  /** Nothing may be refused by what was known before. */
  forget(): void {
    this.#known = undefined;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
  }

  takeNewer(): void {
    const newer = this.#newer;
    this.#newer = undefined;
    if (newer && newer.revision > this.#reached) this.#learn(this.#parsed(newer));
  }

  /** What the store answered. */
  read(entry: Entry | undefined): Known {
    return this.#learn(entry ? this.#parsed(entry) : { record: NO_WINDOW, revision: ABSENT });
  }

  sent(hold: OwnHold, expects: number): void {
    this.part = sent(this.part, { hold, expects });
  }

  /** What the watch brought may be newer; else the store is asked. */
  refused(nonce: number): void {
    this.part = refused(this.part, nonce);
    this.#known = undefined;
  }

  committed(known: Known): void {
    this.isAskedBack = false;
    this.#learn(known);
  }

  /** One request from what is held; undefined when there is nothing. */
  admit(now: Span): RateDecision | undefined {
    const { hold } = this.part;
    if (!hold || usableUnits(this.part, now) <= 0) return undefined;
    spendUnit(hold, now, this.#deps.rules);
    this.own.admitted(now);
    return this.#outlook.answer(true, now);
  }

  /** Undefined when there may be something by now. */
  refuse(now: Span): RateDecision | undefined {
    return now.earliest < this.#fullUntil ? this.#outlook.answer(false, now) : undefined;
  }

  /** It was decided that there is nothing. */
  full(now: Span): RateDecision {
    this.#fullUntil = this.#outlook.freesAt(now);
    return this.#outlook.answer(false, now);
  }

  decided(now: Span): RateDecision {
    return this.admit(now) ?? this.full(now);
  }

  /** What was taken for requests that waited, and not ahead, and is not spent yet: for others it is gone. */
  charged(now: Span): number {
    return this.part.hold?.slice === false ? usableUnits(this.part, now) : 0;
  }

  left(now: Span): number {
    return this.#outlook.left(now);
  }

  #learn(known: Known): Known {
    const { replicaId, wall, clock, rules } = this.#deps;
    const before = this.part;
    this.#known = known;
    this.#reached = known.revision;
    this.part = reconciled(before, known, replicaId);
    const { hold } = this.part;
    const isUnknown = hold !== undefined && known.record.holds[replicaId]?.nonce !== hold.nonce;
    if (isUnknown) this.own.doubt();
    this.isAskedBack ||= hold?.slice === true && known.record.wanted.includes(sliceName(replicaId, hold.nonce));
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#outlook.learn(known.record, hold, wall());
    for (const name of this.asked.keys()) if (!hasHold(known.record, name)) this.asked.delete(name);
    for (const name of known.record.wanted) {
      if (!this.asked.has(name)) this.asked.set(name, clock.monotonic() + rules.recallMs);
    }
    return known;
  }

  #parsed(entry: Entry): Known {
    return { record: readWindowOrFull(entry, this.#deps.rules), revision: entry.revision };
  }
}
