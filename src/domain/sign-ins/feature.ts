import { leftBehind } from '../cleanup/left-behind.ts';
import { KEYS } from '../records/keys.ts';
import { forgetExpiredBrowsers } from './expired-browsers.ts';

export const signIns = {
  sweeps: {
    /** They are the sign-ins of users who are gone, and refresh tokens of sessions that are gone. */
    sign_in_notes: leftBehind(
      { prefix: KEYS.sessionUses.under(), isThere: (memory, id) => memory.user(id), of: KEYS.user },
      { prefix: KEYS.signIns.under(), isThere: (memory, id) => memory.user(id), of: KEYS.user },
      { prefix: KEYS.refresh.under(), isThere: (memory, id) => memory.session(id), of: KEYS.session },
    ),
    known_browsers: forgetExpiredBrowsers,
  },
};
