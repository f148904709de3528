import { RecentMap } from '../../packed/recent-map.ts';
import type { Clock } from '../../time/clock.ts';
import type { SessionEntry } from '../fleet/reader.ts';
import type { LastUses } from '../last-uses/last-uses.ts';

/** The last uses of sessions, by which some are idle. */
export interface SessionUses extends Pick<LastUses, 'lastUses'> {
  /** Notes that a request was authenticated by the session. */
  used(session: SessionEntry): void;
  /**
   * Tells whether nobody has used the session for longer than it may be idle. The store is asked only where this
   * replica has not seen the session lately.
   * @throws StoreUnavailable; BadRecord
   */
  isIdle(session: SessionEntry): Promise<boolean>;
}

interface SessionUsesDeps {
  readonly lastUses: Pick<LastUses, 'used' | 'lastUses'>;
  readonly clock: Pick<Clock, 'now'>;
  /** A session that nobody uses for so long has ended. */
  readonly idleMs: number;
}

/** Sessions whose last use this replica remembers; the oldest are forgotten first, and are read again. */
const KNOWN_MAX = 10_000;

/** Creates the judge of idle sessions of this replica; see `SessionUses`. */
export function createSessionUses({ lastUses: uses, clock, idleMs }: SessionUsesDeps): SessionUses {
  const known = new RecentMap<string, number>(KNOWN_MAX);
  // A use that came during a read is later than what was read.
  const know = (id: string, at: number): void => void known.set(id, Math.max(at, known.get(id) ?? 0));
  return {
    used({ id, record }) {
      uses.used(record.userId, id);
      know(id, clock.now());
    },
    async isIdle({ id, record }) {
      const since = (at: number): boolean => clock.now() - at <= idleMs;
      if (since(Math.max(record.createdAt, known.get(id) ?? 0))) return false;
      const last = (await uses.lastUses(record.userId)).get(id) ?? record.createdAt;
      know(id, last);
      return !since(last);
    },
    lastUses: (userId) => uses.lastUses(userId),
  };
}
