import { DAY_MS } from '../../time/utc-days.ts';
import { expiredRecords } from '../cleanup/expired-records.ts';
import { LIMITS } from '../limits.ts';
import { KEYS } from '../records/keys.ts';

export const accessAudit = {
  sweeps: {
    /** The counts that such a note is about are forgotten after a day. Notes that a user sees are kept longer. */
    attempt_notes: expiredRecords(
      KEYS.attempted,
      ({ at, last }, now) => now >= at + (last ? LIMITS.refusedSignInsKeptMs : DAY_MS),
    ),
  },
};
