import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Log } from '../../../log.ts';
import { BadRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { headsOf } from '../heads.ts';
import { indexMore, type IndexDeps, type Indexed } from './build.ts';

/** An audit is described further once so many of its entries are not: its newest page is written anew each time. */
export const DUE_ENTRIES = 64;
/** A round ends with the step after so many entries: a large audit that has no index delays no other. */
const ROUND_ENTRIES = 5000;

/** Keeps the indexes of all audits up to date, for one term of leadership. */
export interface Indexing {
  /** So many further entries of an account are sealed. */
  sealed(accountId: string, entries: number): void;
  /** Describes what is due. @throws StoreUnavailable; a later round goes on */
  round(signal: AbortSignal): Promise<void>;
}

/**
 * Creates the indexing. Its first round finds what was left undone, by the blocks between the heads of a chain and of
 * its index; from then on it is told what was sealed. Memory has a number for each account of that kind.
 */
export function createIndexing(deps: IndexDeps & { readonly log: Log }): Indexing {
  const { store, log } = deps;
  const undescribed = new Map<string, number>();
  let isListed = false;

  async function listAll(): Promise<void> {
    const indexed = new Map<string, number>();
    for await (const [accountId, { block }] of headsOf(store, KEYS.auditIndex)) indexed.set(accountId, block);
    for await (const [accountId, { number, base }] of headsOf(store, KEYS.chain)) {
      const blocks = number - Math.max(base.number, indexed.get(accountId) ?? 0);
      if (blocks >= DUE_ENTRIES) add(accountId, blocks);
    }
    isListed = true;
  }

  function add(accountId: string, entries: number): void {
    undescribed.set(accountId, (undescribed.get(accountId) ?? 0) + entries);
  }

  /** @returns how many entries were described, and whether there is more */
  async function step(accountId: string): Promise<Indexed> {
    try {
      return await indexMore(deps, accountId);
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      log.error({ err: error, accountId }, 'the audit is not indexed any further; see: muster audit verify');
      return { entries: 0, outcome: 'whole' };
    }
  }

  return {
    sealed: add,
    async round(signal) {
      if (!isListed) await listAll();
      let left = ROUND_ENTRIES;
      const due = Array.from(undescribed).filter(([, entries]) => entries >= DUE_ENTRIES);
      for (const [accountId, entries] of due) {
        // It comes last the next time.
        undescribed.delete(accountId);
        try {
          for (let outcome: Indexed['outcome'] = 'more'; outcome !== 'whole';) {
            if (signal.aborted || left <= 0 || outcome === 'conflict') {
              add(accountId, entries);
              break;
            }
            const done = await step(accountId);
            ({ outcome } = done);
            left -= done.entries;
            // An embedded store answers at once: other work runs between two steps.
            await nextTurn();
          }
        } catch (error) {
          add(accountId, entries);
          throw error;
        }
      }
    },
  };
}
