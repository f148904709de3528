import { expectUnchanged } from '../../store/port.ts';
import { EXPIRY_MARGIN_MS, type Sweep } from '../cleanup/sweep.ts';
import { put, replaceable } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

const LISTED_PER_PIECE_MAX = 100;

/**
 * Removes the browsers by which users are known no more, since nobody has signed in from them for so long. The commits
 * are quiet: no replica has these records in memory.
 */
export const forgetExpiredBrowsers: Sweep = async ({ store, clock, fence }, from, signal) => {
  const prefix = KEYS.signIns.under();
  const page = await store.list({ prefix, limit: LISTED_PER_PIECE_MAX, after: from });
  let gone = 0;
  for (const entry of page.entries) {
    if (signal.aborted) break;
    // A damaged record is not this sweep's to mend.
    const { record } = replaceable(KEYS.signIns, entry.key, entry);
    if (!record?.known) continue;
    const kept = record.known.filter(({ until }) => until > clock.now() - EXPIRY_MARGIN_MS);
    const expired = record.known.length - kept.length;
    if (expired === 0) continue;
    const { outcome } = await store.commit({
      expect: [expectUnchanged(entry), ...fence],
      write: [put(KEYS.signIns(entry.key.slice(prefix.length)), { ...record, known: kept })],
      quiet: true,
    });
    if (outcome === 'committed') gone += expired;
  }
  return { gone, next: page.next };
};
