import { absent } from '../../records/codec.ts';
import { ABSENT, type Entry, type Key } from '../../../store/port.ts';
import type { Clock } from '../../../time/clock.ts';
import { LIMITS } from '../../limits.ts';
import type { RateDecision, RateLeft } from '../local-window.ts';
import {
  NO_LEASES,
  reconciled,
  spendUnit,
  usableUnits,
  withoutConflicted,
  withoutUse,
  withSent,
  type OwnLease,
  type OwnLeases,
} from './own-lease.ts';
import { OwnUsage } from './own-usage.ts';
import { readWindowOrFull } from './record-codec.ts';
import { bucketOf, hasLease, isShared, leaseName, NO_WINDOW, type Known } from './record.ts';
import { RemainingUnits } from './remaining.ts';
import type { RevisionClock } from './revision-clock.ts';
import type { WindowRules } from './rules.ts';

export interface KnownWindowDeps {
  readonly replicaId: string;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly revisions: RevisionClock;
  readonly rules: WindowRules;
  /** Tells the windows of all accounts that the store was put back. */
  readonly putBack: () => void;
}

/** This replica's knowledge of one account's window: the record, its own leases, and what it admitted. */
export class KnownWindow {
  readonly #key: Key;
  readonly #deps: KnownWindowDeps;
  readonly #remaining: RemainingUnits;
  #known: Known | undefined;
  /** When the record was last learnt, on the monotonic clock; what was learnt may have been forgotten since. */
  #learntAt = Number.NEGATIVE_INFINITY;
  /** The revision that `known` has or had: an entry of an older one is no news. */
  #reached = ABSENT;
  /** The last entry that the watch brought; it is parsed when it is needed. */
  #newer: Entry | undefined;
  /** Until this instant a refusal needs no further decision, unless the record changes. */
  #fullUntil = Number.NEGATIVE_INFINITY;
  readonly own: OwnUsage;
  leases: OwnLeases = NO_LEASES;
  /** Others recall the own allotment. */
  isRecalled = false;
  /** Allotments of others that are recalled, by name, with the instant from which no answer is expected any more. */
  readonly recallDeadlines = new Map<string, number>();

  /** @param key of the account's record */
  constructor(key: Key, deps: KnownWindowDeps) {
    this.#key = key;
    this.#deps = deps;
    this.own = new OwnUsage(deps.rules);
    this.#remaining = new RemainingUnits(deps.replicaId, this.own, deps.rules);
  }

  /** Undefined when the store must be asked. */
  get record(): Known | undefined {
    return this.#known;
  }

  /** Takes an entry that the watch brought. @returns whether it is news */
  observe(entry: Entry): boolean {
    if (entry.revision <= Math.max(this.#newer?.revision ?? ABSENT, this.#reached)) return false;
    this.#newer = entry;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    return true;
  }

  /** Whether an entry seems to recall the own allotment: most entries do not, and are not parsed to find out. */
  recallsOwn({ value }: Entry): boolean {
    const { lease } = this.leases;
    return lease?.isAllotment === true && value.includes(`"${leaseName(this.#deps.replicaId, lease.nonce)}"`);
  }

  /** Forgets the record, so that nothing is refused by what was known before. */
  forget(): void {
    this.#known = undefined;
    this.#fullUntil = Number.NEGATIVE_INFINITY;
  }

  /**
   * The store was put back to an earlier state, and gives out its revisions again: what was known of it holds no more,
   * and nothing is admitted from leases that others do not know of.
   */
  wasPutBack(): void {
    this.forget();
    this.voidLeases();
    this.#reached = ABSENT;
    this.#newer = undefined;
  }

  /** After the machine stood still: for others the own lease may have ended. */
  voidLeases(): void {
    this.leases = withoutUse(this.leases);
    this.#learntAt = Number.NEGATIVE_INFINITY;
  }

  takeNewer(): void {
    const newer = this.#newer;
    this.#newer = undefined;
    if (newer && newer.revision > this.#reached) this.#learn(this.#parsed(newer));
  }

  /** Takes the answer of the store. */
  read(entry: Entry | undefined): Known {
    if (entry && this.#deps.revisions.found(entry.revision, this.#reached)) this.#deps.putBack();
    return this.#learn(entry ? this.#parsed(entry) : absent(this.#key, NO_WINDOW));
  }

  sent(lease: OwnLease, expects: number): void {
    this.leases = withSent(this.leases, { lease, expects });
  }

  /** After a conflict: the watch may have brought the newer record; otherwise the store is asked. */
  conflicted(nonce: number): void {
    this.leases = withoutConflicted(this.leases, nonce);
    this.#known = undefined;
  }

  committed(known: Known): void {
    this.isRecalled = false;
    this.#learn(known);
  }

  /** Admits one request from the own lease; undefined when it has no usable unit. */
  admit(now: number): RateDecision | undefined {
    const { lease } = this.leases;
    if (!lease || usableUnits(this.leases, now) <= 0) return undefined;
    const bucket = bucketOf(this.#deps.clock.now(), this.#deps.rules);
    spendUnit(lease, now, bucket, this.#deps.rules);
    this.own.admitted(now);
    return this.#remaining.answer(true, now);
  }

  /** Refuses one request while the window is known to be full; undefined when something may be free by now. */
  refuse(now: number): RateDecision | undefined {
    return now < this.#fullUntil ? this.#remaining.answer(false, now) : undefined;
  }

  /** Refuses after a decision that nothing is free, and remembers until when that holds. */
  full(now: number): RateDecision {
    this.#fullUntil = this.#remaining.freesAt(now);
    return this.#remaining.answer(false, now);
  }

  decided(now: number): RateDecision {
    return this.admit(now) ?? this.full(now);
  }

  /** The units of an own charge that are not spent yet: for the other replicas they are gone. */
  charged(now: number): number {
    return this.leases.lease?.isAllotment === false ? usableUnits(this.leases, now) : 0;
  }

  left(now: number): number {
    return this.#remaining.left(now);
  }

  /** Returns how much of the window is used, 0 to 1. */
  fill(now: number): number {
    return Math.min(1, 1 - this.left(now) / this.#deps.rules.requestsMax);
  }

  /**
   * The units that are left, also by a record that was forgotten; undefined where none was learnt within the last
   * minute.
   */
  remaining(now: number): RateLeft | undefined {
    const isKnown = this.#deps.clock.monotonic() - this.#learntAt < LIMITS.rateWindowMs;
    return isKnown ? this.#remaining.at(now) : undefined;
  }

  #learn(known: Known): Known {
    const { replicaId, clock, rules } = this.#deps;
    this.#known = known;
    this.#learntAt = clock.monotonic();
    this.#reached = known.revision;
    this.leases = reconciled(this.leases, known, replicaId);
    const { lease } = this.leases;
    this.own.isShared = isShared(known.record, replicaId);
    this.isRecalled ||=
      lease?.isAllotment === true && known.record.recalled.includes(leaseName(replicaId, lease.nonce));
    this.#fullUntil = Number.NEGATIVE_INFINITY;
    this.#remaining.learn(known.record, lease);
    for (const name of this.recallDeadlines.keys()) {
      if (!hasLease(known.record, name)) this.recallDeadlines.delete(name);
    }
    for (const name of known.record.recalled) {
      if (!this.recallDeadlines.has(name)) this.recallDeadlines.set(name, clock.monotonic() + rules.recallMs);
    }
    return known;
  }

  #parsed(entry: Entry): Known {
    const { clock, revisions, rules } = this.#deps;
    const instantOf = (revision: number): number => revisions.instantOf(revision);
    return readWindowOrFull(entry, { now: clock.monotonic(), wall: clock.now(), instantOf }, rules);
  }
}
