import { BUCKET_ENTRIES } from './segment.ts';

/** An audit is described further once so many of its entries are not: its newest segment is written anew each time. */
export const DUE_ENTRIES = 4 * BUCKET_ENTRIES;

/** The audits with entries that no segment describes yet, for one term of one leader. */
export interface Unindexed {
  /** Forgets all: everything is counted again. */
  clear(): void;
  /** The listing has such an entry of an account; those of one account follow each other. */
  listed(accountId: string): void;
  /** So many further entries of an account are in no segment. */
  add(accountId: string, entries: number): void;
  /** The accounts that have enough of them, the one that was settled last at the end. */
  due(now: number): readonly string[];
  /** So many are left, and there is nothing to do before an instant. */
  settle(accountId: string, left: number, notBefore: number): void;
}

/**
 * Creates the list. Memory has two numbers for each account that was written to since all were counted, an hour at
 * most, and for each with half of `DUE_ENTRIES` then.
 */
export function createUnindexed(): Unindexed {
  const left = new Map<string, { readonly entries: number; readonly notBefore: number }>();
  let counted = { accountId: '', entries: 0 };
  const keepCounted = (): void => {
    const { accountId, entries } = counted;
    if (entries >= DUE_ENTRIES / 2) left.set(accountId, { entries, notBefore: 0 });
    counted = { accountId: '', entries: 0 };
  };
  return {
    clear() {
      left.clear();
      counted = { accountId: '', entries: 0 };
    },
    listed(accountId) {
      if (accountId !== counted.accountId) keepCounted();
      counted = { accountId, entries: counted.entries + 1 };
    },
    add(accountId, entries) {
      keepCounted();
      const known = left.get(accountId);
      left.set(accountId, { entries: (known?.entries ?? 0) + entries, notBefore: known?.notBefore ?? 0 });
    },
    due(now) {
      keepCounted();
      return Array.from(left)
        .filter(([, { entries, notBefore }]) => entries >= DUE_ENTRIES && notBefore <= now)
        .map(([accountId]) => accountId);
    },
    settle(accountId, entries, notBefore) {
      left.delete(accountId);
      left.set(accountId, { entries, notBefore });
    },
  };
}
