import { expiredRecords } from '../cleanup/expired-records.ts';
import { EXPIRY_MARGIN_MS } from '../cleanup/sweep.ts';
import { KEYS } from '../records/keys.ts';

export const resourceBindings = {
  sweeps: {
    /** Consents that resources take up bindings of former UIDs. */
    recoveries: expiredRecords(KEYS.recovery, ({ until }, now) => now >= until + EXPIRY_MARGIN_MS),
  },
};
