import { expectAsFound, type Entry } from '../../store/port.ts';
import { unlessDamaged, type Sweep, type SweepDeps } from '../cleanup/sweep.ts';
import { parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

const LISTED_PER_PIECE_MAX = 500;

/**
 * Removes the revisions that a purge by a replica of an earlier version has left (O10): those of accounts whose
 * configuration keeps none. Nothing shows them meanwhile (revisions.ts).
 */
export const removeOrphanedRevisions: Sweep = async (deps, from, signal) => {
  const prefix = KEYS.otelRevision.under();
  const page = await deps.store.list({ prefix, limit: LISTED_PER_PIECE_MAX, keysOnly: true, after: from });
  let gone = 0;
  for (const [accountId, entries] of byAccount(page.entries)) {
    if (signal.aborted) break;
    if (deps.memory.account(accountId)?.otel()?.record.config?.keptFrom !== undefined) continue;
    gone += (await unlessDamaged(removeUnlessKept(deps, accountId))) === true ? entries.length : 0;
  }
  return { gone, next: page.next };
};

function byAccount(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  return Map.groupBy(entries, ({ key }) => key.split('/')[1] ?? '');
}

/** The store is asked, as memory may be behind. */
async function removeUnlessKept({ store, fence }: SweepDeps, accountId: string): Promise<boolean> {
  const entry = await store.get(KEYS.otel(accountId));
  if (entry && parseRecord(KEYS.otel, entry).record.config?.keptFrom !== undefined) return false;
  const { outcome } = await store.commit({
    expect: [expectAsFound(KEYS.otel(accountId), entry), ...fence],
    write: [{ removeAll: KEYS.otelRevision.under(accountId) }],
    quiet: true,
  });
  return outcome === 'committed';
}
