import type { KeyPrefix } from '../../store/port.ts';
import { leftBehind, type Notes } from '../cleanup/left-behind.ts';
import { KEYS } from '../records/keys.ts';
import { spendExpiredCodes } from './expired-codes.ts';
import { removeOrphanedCredentials } from './orphaned-credentials.ts';

const ofApps = (prefix: KeyPrefix): Notes => ({
  prefix,
  isThere: (memory, id) => memory.appById(appIn(id)[1]),
  of: (id) => KEYS.app(...appIn(id)),
});

function appIn(id: string): readonly [accountId: string, appId: string] {
  const [accountId = '', appId = ''] = id.split('/');
  return [accountId, appId];
}

export const apps = {
  sweeps: {
    codes: spendExpiredCodes,
    past_credentials: removeOrphanedCredentials,
    /** The deletion of an app may have left behind what the app said of itself. */
    app_notes: leftBehind(ofApps(KEYS.opampAgent.under()), ofApps(KEYS.ack.under())),
  },
};
