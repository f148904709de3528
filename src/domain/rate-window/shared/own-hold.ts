import type { Versioned } from '../../records/codec.ts';
import type { Span } from './clock-interval.ts';
import { addSpent, bucketOf, type Hold, type Spent, type WindowRecord } from './record.ts';
import type { WindowRules } from './rules.ts';

/** A hold as its holder sees it. */
export interface OwnHold extends Hold {
  /** Its holder admits nothing from it from then on, by its own clock. */
  readonly usedUntil: number;
  readonly takenAt: number;
  /** What was admitted from it and is not in the record yet, by bucket; and how much of it. */
  readonly spends: Map<number, number>;
  spent: number;
}

/** A hold whose commit was sent and not answered yet: it happened, or will, or never, at this revision of the record. */
export interface Unanswered {
  readonly hold: OwnHold;
  readonly expects: number;
}

/** What a replica knows of its own part. */
export interface OwnPart {
  readonly hold: OwnHold | undefined;
  /** Oldest first. One of those that expect the same revision happened, or none. */
  readonly unanswered: readonly Unanswered[];
}

export const NO_PART: OwnPart = { hold: undefined, unanswered: [] };

/** More cannot be waiting for an answer; of an older one that did happen nothing is ever admitted. */
const UNANSWERED_MAX = 20;

export const sent = ({ hold, unanswered }: OwnPart, one: Unanswered): OwnPart => ({
  hold,
  unanswered: [...unanswered.slice(1 - UNANSWERED_MAX), one],
});

/** After a conflict: it did not happen, and never will. */
export const refused = ({ hold, unanswered }: OwnPart, nonce: number): OwnPart => ({
  hold,
  unanswered: unanswered.filter((one) => one.hold.nonce !== nonce),
});

/**
 * What may be admitted without asking. Nothing while a commit is unanswered: it may have settled the hold, or may yet, with
 * what was spent until it was sent; what is spent after that would be in no record.
 */
export function usableUnits({ hold, unanswered }: OwnPart, now: Span): number {
  return hold && unanswered.length === 0 && now.latest < hold.usedUntil ? hold.units - hold.spent : 0;
}

/** One unit goes. The bucket is that of the latest time it may be: counted too long rather than too short. */
export function spendUnit(hold: OwnHold, now: Span, rules: WindowRules): void {
  const at = bucketOf(now.latest, rules);
  hold.spends.set(at, (hold.spends.get(at) ?? 0) + 1);
  hold.spent += 1;
}

export const spendsOf = (hold: OwnHold | undefined): readonly Spent[] =>
  hold ? [...hold.spends].map(([at, units]) => ({ at, units })) : [];

/** What is in force by a record that was read: after a lost answer the nonce tells whether the commit happened. */
export function reconciled(part: OwnPart, known: Versioned<WindowRecord>, replicaId: string): OwnPart {
  const mine = known.record.holds[replicaId];
  // Others may have added to it.
  const asKnown = (hold: OwnHold): OwnHold =>
    mine && mine.units !== hold.units ? { ...hold, units: mine.units } : hold;
  const happened = part.unanswered.find(({ hold }) => hold.nonce === mine?.nonce);
  if (happened) return { hold: asKnown(happened.hold), unanswered: [] };
  // Once the record has moved on, what expected an older revision can happen no more.
  const unanswered = part.unanswered.filter(({ expects }) => expects >= known.revision);
  if (!part.hold) return { hold: undefined, unanswered };
  if (part.hold.nonce === mine?.nonce) return { hold: asKnown(part.hold), unanswered };
  // Not what the store knows: forgotten as too old, or another store. Nothing more comes out of it; what did is told.
  return { hold: { ...part.hold, units: part.hold.spent }, unanswered };
}

/** The record with what was admitted here told exactly, in place of the hold it came from. */
export function settled(record: WindowRecord, replicaId: string, hold: OwnHold | undefined): WindowRecord {
  const { [replicaId]: mine, ...holds } = record.holds;
  // One that this replica does not know as its own hold counts in full.
  const foreign = mine && mine.nonce !== hold?.nonce && mine.units > 0 ? [{ at: mine.until, units: mine.units }] : [];
  return { ...record, spent: addSpent(record.spent, [...foreign, ...spendsOf(hold)]), holds };
}
