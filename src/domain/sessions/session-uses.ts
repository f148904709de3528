import type { Log } from '../../log.ts';
import { expectUnchanged, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import type { SessionEntry } from '../fleet/reader.ts';
import { absent, parseRecord, put, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/** When sessions were last used, in milliseconds since 1970: one small record a user, by quiet commits (ADR 0004). */
export interface SessionUses {
  /** Notes that a request was authenticated by the session. */
  used(session: SessionEntry): void;
  /**
   * Tells whether nobody has used the session for longer than it may be idle. The store is asked only where this
   * replica has not seen the session lately.
   * @throws StoreUnavailable; BadRecord
   */
  isIdle(session: SessionEntry): Promise<boolean>;
  /** By session, at most `LIMITS.sessionUsesEveryMs` behind other replicas. @throws StoreUnavailable; BadRecord */
  lastUses(userId: string): Promise<ReadonlyMap<string, number>>;
  /** Writes what was noted since; what cannot be written is written by the next call. @throws StoreUnavailable; BadRecord */
  flush(): Promise<void>;
  /** The same at the end of the process. Never throws. */
  finish(): Promise<void>;
}

interface SessionUsesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The ids of a user's sessions, as memory has them. */
  readonly sessionsOf: (userId: string) => readonly string[];
  /** A session that nobody uses for so long has ended. */
  readonly idleMs: number;
}

/** Sessions whose last use this replica remembers; the oldest are forgotten first, and are read again. */
const KNOWN_MAX = 10_000;
const WRITTEN_TOGETHER_MAX = 50;

/** Creates the notes of this replica; see `SessionUses`. */
export function createSessionUses(deps: SessionUsesDeps): SessionUses {
  const { store, clock, log } = deps;
  /** Not yet written, by user. */
  let noted = new Map<string, Map<string, number>>();
  const known = new Map<string, number>();

  function note(userId: string, sessionId: string, at: number): void {
    let sessions = noted.get(userId);
    if (!sessions) noted.set(userId, (sessions = new Map<string, number>()));
    sessions.set(sessionId, Math.max(at, sessions.get(sessionId) ?? 0));
  }

  function know(sessionId: string, at: number): void {
    const later = Math.max(at, known.get(sessionId) ?? 0);
    known.delete(sessionId);
    known.set(sessionId, later);
    const [oldest] = known.keys();
    if (known.size > KNOWN_MAX && oldest !== undefined) known.delete(oldest);
  }

  /** @returns the uses, and in `added` the fields that a later version has added */
  async function read(userId: string): Promise<Versioned<ReadonlyMap<string, number>> & { readonly added: object }> {
    const key = KEYS.sessionUses(userId);
    const entry = await store.get(key);
    if (!entry) return { ...absent(key, new Map<string, number>()), added: {} };
    const { sessions, ...added } = parseRecord(KEYS.sessionUses, entry).record;
    return { ...versioned(entry, new Map(sessions)), added };
  }

  async function write(userId: string, uses: ReadonlyMap<string, number>): Promise<boolean> {
    const before = await read(userId);
    const alive = new Set([...deps.sessionsOf(userId), ...uses.keys()]);
    const later = new Map([...before.record].filter(([sessionId]) => alive.has(sessionId)));
    for (const [sessionId, at] of uses) later.set(sessionId, Math.max(at, later.get(sessionId) ?? 0));
    const { outcome } = await store.commit({
      expect: [expectUnchanged(before)],
      write: [put(KEYS.sessionUses(userId), { ...before.added, sessions: [...later] })],
      quiet: true,
    });
    return outcome === 'committed';
  }

  async function flush(): Promise<void> {
    const taken = [...noted];
    noted = new Map();
    const faults: unknown[] = [];
    for (let start = 0; start < taken.length; start += WRITTEN_TOGETHER_MAX) {
      const some = taken.slice(start, start + WRITTEN_TOGETHER_MAX);
      const written = await Promise.allSettled(some.map(([userId, uses]) => write(userId, uses)));
      for (const [index, result] of written.entries()) {
        if (result.status === 'rejected') faults.push(result.reason);
        else if (result.value) continue;
        const [userId = '', uses = new Map<string, number>()] = some[index] ?? [];
        for (const [sessionId, at] of uses) note(userId, sessionId, at);
      }
    }
    if (faults.length > 0) throw faults[0];
  }

  return {
    used({ id, record }) {
      const at = clock.now();
      note(record.userId, id, at);
      know(id, at);
    },
    async isIdle({ id, record }) {
      const since = (at: number): boolean => clock.now() - at <= deps.idleMs;
      if (since(Math.max(record.createdAt, known.get(id) ?? 0))) return false;
      const { record: uses } = await read(record.userId);
      const last = uses.get(id) ?? record.createdAt;
      know(id, last);
      return !since(last);
    },
    async lastUses(userId) {
      const uses = new Map((await read(userId)).record);
      for (const [sessionId, at] of noted.get(userId) ?? []) {
        uses.set(sessionId, Math.max(at, uses.get(sessionId) ?? 0));
      }
      return uses;
    },
    flush,
    async finish() {
      await flush().catch((error: unknown) =>
        log.warn({ err: error }, 'the last uses of sessions could not be written'),
      );
    },
  };
}
