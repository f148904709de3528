import type { Written } from '../cluster/follower.ts';
import type { Call, History } from '../judgement/history.ts';
import type { State } from '../judgement/state.ts';

/** A rule that was broken. */
export interface Violation {
  readonly rule: string;
  /** When, in milliseconds of the history; undefined for what was found in the store at the end. */
  readonly at?: number;
  readonly words: string;
}

/** The content of the store at the end, and every revision on the way to it. */
export interface Outcome {
  readonly state: State;
  readonly written: readonly Written[];
}

/** Judges by what happened alone: pure, and the same for the same history. Empty when the rule was kept. */
export type Checker = (history: History, outcome: Outcome) => readonly Violation[];

export function grouped<T, K>(all: Iterable<T>, by: (one: T) => K | undefined): Map<K, T[]> {
  const groups = new Map<K, T[]>();
  for (const one of all) {
    const key = by(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group) group.push(one);
    else groups.set(key, [one]);
  }
  return groups;
}

export const named = ({ kind, replica, requestId }: Call): string =>
  `${kind} through replica ${replica} (${requestId})`;
