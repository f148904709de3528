import { DAY_MS } from '../../time/utc-days.ts';
import type { Sweep, SweepDeps } from '../cleanup/sweep.ts';
import { BadRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { cutStep } from './retention.ts';

const ACCOUNTS_PER_PIECE_MAX = 100;
/** Steps of one account in a piece: 50 blocks, 10,000 entries. */
const STEPS_MAX = 200;

/** Removes the blocks of the audit that are older than the retention, with their entries. */
export const cutOldAudit: Sweep = async (deps, from, signal) => {
  const prefix = KEYS.chain.under();
  const page = await deps.store.list({ prefix, limit: ACCOUNTS_PER_PIECE_MAX, keysOnly: true, after: from });
  let gone = 0;
  for (const { key } of page.entries) {
    const accountId = key.slice(prefix.length);
    try {
      gone += await cut(deps, accountId, signal);
    } catch (error) {
      if (!(error instanceof BadRecord)) throw error;
      deps.log.error({ err: error, accountId }, 'nothing of this audit is removed; see: muster audit verify');
    }
  }
  return { gone, next: page.next };
};

async function cut(
  { store, clock, log, fence, auditRetentionDays }: SweepDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<number> {
  const olderThan = clock.now() - auditRetentionDays * DAY_MS;
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
