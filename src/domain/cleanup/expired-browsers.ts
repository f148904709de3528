import { expectUnchanged } from '../../store/port.ts';
import { BadRecord, parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 100;

/**
 * Removes the browsers by which users are known no more, since nobody has signed in from them for so long. The commits are
 * quiet: no replica has these records in memory.
 */
export function expiredBrowsersSweep({ store, clock, fence }: SweepDeps): Sweep {
  return {
    what: 'known_browsers',
    async piece(from, signal) {
      const prefix = KEYS.signIns.under();
      const page = await store.list({
        prefix,
        limit: LISTED_PER_PIECE_MAX,
        after: from,
      });
      let gone = 0;
      for (const entry of page.entries) {
        if (signal.aborted) break;
        const record = readable(entry)?.record;
        if (!record) continue;
        const kept = record.known?.filter(({ until }) => until > clock.now() - EXPIRY_MARGIN_MS) ?? [];
        const expired = (record.known?.length ?? 0) - kept.length;
        if (expired === 0) continue;
        const { outcome } = await store.commit({
          expect: [expectUnchanged(entry), ...fence],
          write: [put(KEYS.signIns(entry.key.slice(KEYS.signIns.under().length)), { ...record, known: kept })],
          quiet: true,
        });
        if (outcome === 'committed') gone += expired;
      }
      return { gone, next: page.next };
    },
  };
}

/** A damaged record is not this sweep's to mend, and must not keep the others from it. */
function readable(entry: Parameters<typeof parseRecord>[1]) {
  try {
    return parseRecord(KEYS.signIns, entry);
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}
