import { HOUR_MS } from '../../time/utc-days.ts';
import { expiredRecords } from '../cleanup/expired-records.ts';
import { EXPIRY_MARGIN_MS } from '../cleanup/sweep.ts';
import { KEYS } from '../records/keys.ts';

export const devices = {
  sweeps: {
    /** An enrollment uses the note of the last hour alone. */
    refusal_notes: expiredRecords(KEYS.refusalNote, ({ at }, now) => now >= at + HOUR_MS + EXPIRY_MARGIN_MS),
  },
};
