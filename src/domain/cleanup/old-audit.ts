import type { Log } from '../../log.ts';
import { DAY_MS } from '../../time/utc-days.ts';
import { cutStep } from '../audit/retention.ts';
import { BadRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Sweep, SweepDeps } from './sweep.ts';

const ACCOUNTS_PER_PIECE_MAX = 100;
/** Steps of one account in a piece: 50 blocks, 10,000 entries. */
const STEPS_MAX = 200;

/** Removes the blocks of the audit that are older than `keptDays`, with their entries. */
export function auditSweep({ store, clock, fence }: SweepDeps, keptDays: number, log: Log): Sweep {
  async function cut(accountId: string, signal: AbortSignal): Promise<number> {
    const olderThan = clock.now() - keptDays * DAY_MS;
    let gone = 0;
    let isHalfway = false;
    for (let step = 0; (step < STEPS_MAX || isHalfway) && !signal.aborted; step += 1) {
      const cut = await cutStep(store, fence, accountId, olderThan);
      gone += cut.entries;
      isHalfway = cut.isHalfway;
      if (cut.outcome !== 'more') break;
    }
    // The log is a witness outside of the store: a chain whose beginning is cut and not logged was cut by someone else.
    if (gone > 0) log.info({ accountId, entries: gone, olderThan: new Date(olderThan).toISOString() }, 'audit cut');
    return gone;
  }
  return {
    what: 'audit_entries',
    async piece(from, signal) {
      const page = await store.list({
        prefix: KEYS.chain.under(),
        limit: ACCOUNTS_PER_PIECE_MAX,
        keysOnly: true,
        after: from,
      });
      let gone = 0;
      for (const { key } of page.entries) {
        const accountId = key.slice(KEYS.chain.under().length);
        try {
          gone += await cut(accountId, signal);
        } catch (error) {
          if (!(error instanceof BadRecord)) throw error;
          log.error({ err: error, accountId }, 'nothing of this audit is removed; see: muster audit verify');
        }
      }
      return { gone, next: page.next };
    },
  };
}
