import { pagesOf } from '../../store/pages.ts';
import type { Store } from '../../store/port.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import type { OtelRecord } from '../records/otel-records.ts';

/** `in-history`: the last change was a purge, and the store may still hold what was purged. */
type PurgeState = 'none' | 'in-history' | 'forgotten';

const NOTES_PAGE = 500;

/**
 * Tells how far the purge of a configuration has come (O10). The notes of purges are gone once the history is; those of
 * other accounts at the same instant hold this one up at most as long as they last.
 * @throws StoreUnavailable
 */
export async function purgeStateOf(store: Pick<Store, 'list'>, otel: OtelRecord | undefined): Promise<PurgeState> {
  if (!otel || otel.config) return 'none';
  for await (const { entries } of pagesOf(store, { prefix: KEYS.purge.under(), limit: NOTES_PAGE })) {
    for (const entry of entries) if (isOf(otel.at, entry)) return 'in-history';
  }
  return 'forgotten';
}

/** A note that cannot be read may be this one. */
function isOf(at: number, entry: Parameters<typeof parseRecord>[1]): boolean {
  try {
    return parseRecord(KEYS.purge, entry).record.at === at;
  } catch (error) {
    if (error instanceof BadRecord) return true;
    throw error;
  }
}
