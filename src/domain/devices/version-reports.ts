import { expectUnchanged, isFull } from '../../store/port.ts';
import type { FoundApp } from '../fleet/reader.ts';
import { LIMITS } from '../limits.ts';
import { mutate } from '../mutation/mutation.ts';
import type { MutationDeps, Origin } from '../mutation/step.ts';
import { put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { stillBound } from './authenticate.ts';

/** The platform and the version that a poll reports; undefined where it reports none. */
export interface Reported {
  readonly platform: string | undefined;
  readonly agentVersion: string | undefined;
}

/**
 * Writes the platform and version that a poll reports. It runs in the background, at most once per app in
 * `LIMITS.reportedVersionEveryMs`, over all replicas by the app's record: a poll does not wait for it, and a daemon
 * that reports something else at every poll does not fill the audit. A report that cannot be written is logged and
 * dropped.
 */
export function createVersionReports(
  deps: MutationDeps,
): (found: FoundApp, reported: Reported, origin: Origin) => void {
  const until = new Map<string, number>();

  function mayWrite(appId: string, now: number): boolean {
    if ((until.get(appId) ?? 0) > now) return false;
    for (const [old, end] of until) {
      if (end > now) break;
      until.delete(old);
    }
    until.set(appId, now + LIMITS.reportedVersionEveryMs);
    return true;
  }

  return (found, reported, origin) => {
    const { platform = found.app.record.platform, agentVersion = found.app.record.agentVersion } = reported;
    const { record } = found.app;
    if (record.platform === platform && record.agentVersion === agentVersion) return;
    if (!mayWrite(found.app.id, deps.clock.monotonic())) return;
    const write = mutate<void>(deps, origin, async (reader) => {
      const now = await stillBound(reader, found.app);
      const { reportedAt } = now.app.record;
      if (reportedAt !== undefined && origin.at - reportedAt < LIMITS.reportedVersionEveryMs)
        return { unchanged: undefined };
      return {
        accountId: now.account.id,
        action: 'app.reported',
        appId: now.app.id,
        detail: { platform, agentVersion },
        expect: [expectUnchanged(now.app), expectUnchanged(now.account)],
        write: [
          put(KEYS.app(now.account.id, now.app.id), {
            ...now.app.record,
            platform,
            agentVersion,
            reportedAt: origin.at,
          }),
        ],
        result: undefined,
      };
    });
    write.catch((error: unknown) => {
      // A full store refuses the next one too: the report waits as if it had been written.
      if (!isFull(error)) until.delete(found.app.id);
      deps.log.info({ err: error, appId: found.app.id }, 'a reported version could not be written');
    });
  };
}
