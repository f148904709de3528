import type { Sweep, SweepDeps } from '../../cleanup/sweep.ts';
import { BadRecord } from '../../records/codec.ts';
import { KEYS } from '../../records/keys.ts';
import { cutIndex } from './build.ts';

const ACCOUNTS_PER_PIECE_MAX = 100;

/** Removes the pages of the indexes whose blocks the retention has removed, the oldest hundred of each at most. */
export async function cutOldPages(
  deps: Pick<SweepDeps, 'store' | 'fence'>,
  from: string | undefined,
  signal: AbortSignal,
): ReturnType<Sweep> {
  const prefix = KEYS.auditIndex.under();
  const page = await deps.store.list({ prefix, limit: ACCOUNTS_PER_PIECE_MAX, keysOnly: true, after: from });
  let gone = 0;
  for (const { key } of page.entries) {
    if (signal.aborted) break;
    try {
      gone += await cutIndex(deps, key.slice(prefix.length));
    } catch (error) {
      // A chain whose head cannot be read keeps its index; the sweep of its entries logs it.
      if (!(error instanceof BadRecord)) throw error;
    }
  }
  return { gone, next: page.next };
}
