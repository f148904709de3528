import { expiredRecords } from '../cleanup/expired-records.ts';
import { EXPIRY_MARGIN_MS } from '../cleanup/sweep.ts';
import { KEYS } from '../records/keys.ts';
import { removeUnusedUsers } from './unused-users.ts';

export const users = {
  sweeps: {
    /** Links that nobody has used in time. */
    links: expiredRecords(KEYS.link, ({ expiresAt }, now) => now >= expiresAt + EXPIRY_MARGIN_MS),
    unused_users: removeUnusedUsers,
  },
};
