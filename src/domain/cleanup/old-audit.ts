import type { Log } from '../../log.ts';
import { DAY_MS } from '../../time/utc-days.ts';
import { cutStep } from '../audit/retention.ts';
import { BadRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { Sweep, SweepDeps } from './sweep.ts';

const ACCOUNTS_PER_PIECE_MAX = 100;
/** Of one account in a piece: 50 blocks, 10,000 entries. */
const STEPS_MAX = 200;

/** The audit is kept for so many days; then its oldest blocks go with their entries. */
export function auditSweep({ store, clock, fence }: SweepDeps, keptDays: number, log: Log): Sweep {
  async function cut(accountId: string, signal: AbortSignal): Promise<number> {
    const olderThan = clock.now() - keptDays * DAY_MS;
    let gone = 0;
    for (let step = 0; step < STEPS_MAX && !signal.aborted; step += 1) {
      const { outcome, entries } = await cutStep(store, fence, accountId, olderThan);
      gone += entries;
      if (outcome !== 'more') break;
    }
    // A witness outside the store, as for what is sealed: a beginning that nobody logged was cut by somebody else.
    if (gone > 0) log.info({ accountId, entries: gone, olderThan: new Date(olderThan).toISOString() }, 'audit cut');
    return gone;
  }
  return {
    what: 'audit_entries',
    async piece(from, signal) {
      const page = await store.list({
        prefix: KEYS.chains,
        limit: ACCOUNTS_PER_PIECE_MAX,
        keysOnly: true,
        ...(from !== undefined && { after: from }),
      });
      let gone = 0;
      for (const { key } of page.entries) {
        const accountId = key.slice(KEYS.chains.length);
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
