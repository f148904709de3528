import type { Log } from '../../log.ts';
import { pagesOf } from '../../store/pages.ts';
import {
  expectUnchanged,
  StoreUnavailable,
  type Entry,
  type KeyPrefix,
  type Put,
  type Store,
} from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { absent, parseRecord, put, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { callsUntil, dayNumberAt, fromStored, NO_CALLS } from './daily-calls.ts';
import { instantsOf, NONE, pairsOf, readable, storedCalls, together, type Use, type Uses } from './uses.ts';

/**
 * The last uses of the API keys of each account (A15), or of the sessions of each user, in milliseconds since 1970.
 * Their owner is the account or the user.
 */
export interface LastUses {
  /** Notes that a request was authenticated by a key or a session. It is on the path of every request. */
  used(ownerId: string, id: string): void;
  /** The last uses by id, at most as late as other replicas write. @throws StoreUnavailable; BadRecord */
  lastUses(ownerId: string): Promise<ReadonlyMap<string, number>>;
  /**
   * The last uses of many owners; one whose record is damaged has only what this replica noted.
   * @throws StoreUnavailable
   */
  usesOfMany(ownerIds: ReadonlySet<string>): Promise<UsesByOwner>;
  /** The same with the calls, which other replicas write up to `CALLS_HELD_MS` later. @throws as `lastUses` */
  usesAndCalls(ownerId: string): Promise<ReadonlyMap<string, UseAndCalls>>;
  /**
   * Writes what was noted since, and leaves once what is little later than in the store. What cannot be written is
   * written by the next call.
   * @throws StoreUnavailable; BadRecord
   */
  flush(): Promise<void>;
  /** Writes all that was noted, at the end of the process. Never throws. */
  finish(): Promise<void>;
}

/** The last uses by owner and id, in milliseconds since 1970. */
export type UsesByOwner = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** The last use of a key or session, in milliseconds since 1970. */
export interface UseAndCalls {
  readonly at: number;
  /**
   * The calls of an API key today and on the six days before, in UTC: requests that it authenticated. None of a
   * session is counted. What a replica counted and had not written when it was killed is missing, and what was written
   * without an answer of the store counts twice.
   */
  readonly calls: number;
}

interface LastUsesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The ids of an owner's keys or sessions, as memory has them. */
  readonly idsOf: (ownerId: string) => readonly string[];
}

/** A record of last uses, and the write of others in their place. Fields that a later version has added stay. */
interface Opened {
  readonly uses: Uses;
  readonly write: (uses: Uses, today: number) => Put;
}

/**
 * The way in which last uses are kept: one small record an owner, by quiet commits, as with last contacts (ADR 0004).
 */
interface Keeping {
  /** A use that is later than the one in the store by no more than this is left to the next call, once. */
  readonly leftMs: number;
  readonly countsCalls: boolean;
  key(ownerId: string): Put['put'];
  readonly under: KeyPrefix;
  open(ownerId: string, entry: Entry | undefined): Opened;
}

/**
 * The time between two writes of the last uses of API keys. What is left to the next write another replica that serves
 * the key has written by then, as a rule. So the keys of an account cost one write every 25 to 50 s, and not one every
 * 25 s for each replica; and a use is in the store within a minute (A15).
 */
export const KEY_USES_EVERY_MS = 25_000;
/**
 * The calls of a key go with the write of its last use. Where others write that, a replica holds its calls for so long
 * and then writes them: one write more at most, for an account and replica, in that time.
 */
export const CALLS_HELD_MS = 600_000;

const KEEPINGS = {
  'API keys': {
    leftMs: KEY_USES_EVERY_MS,
    countsCalls: true,
    key: KEYS.keyUses,
    under: KEYS.keyUses.under(),
    open(accountId, entry) {
      const { keys, calls = [], ...added } = entry ? parseRecord(KEYS.keyUses, entry).record : { keys: [] };
      const callsOf = new Map(calls.map(([id, ...stored]) => [id, fromStored(stored)]));
      return {
        uses: new Map(keys.map(([id, at]) => [id, { at, calls: callsOf.get(id) ?? NO_CALLS }])),
        write: (uses, today) =>
          put(KEYS.keyUses(accountId), { ...added, keys: pairsOf(uses), calls: storedCalls(uses, today) }),
      };
    },
  },
  sessions: {
    // Each use is in the store within `LIMITS.sessionUsesEveryMs`, since idle sessions are judged by it.
    leftMs: 0,
    countsCalls: false,
    key: KEYS.sessionUses,
    under: KEYS.sessionUses.under(),
    open(userId, entry) {
      const { sessions, ...added } = entry ? parseRecord(KEYS.sessionUses, entry).record : { sessions: [] };
      return {
        uses: new Map(sessions.map(([id, at]) => [id, { at, calls: NO_CALLS }])),
        write: (uses) => put(KEYS.sessionUses(userId), { ...added, sessions: pairsOf(uses) }),
      };
    },
  },
} satisfies Record<string, Keeping>;

const WRITTEN_TOGETHER_MAX = 50;
/** The most records that are read one by one; for more owners the whole range is listed. */
const READ_ALONE_MAX = 1000;
const READ_TOGETHER_MAX = 50;
const LISTED_PER_PAGE_MAX = 500;
const ATTEMPTS_MAX = 5;

/** These uses of an owner are not in the store yet. */
interface Noted {
  readonly uses: Map<string, { at: number; calls: Map<number, number> }>;
  /** The instant at which the first of their calls was noted, in milliseconds since 1970. */
  since: number;
  /** The last call left these to others; this one writes them if the others did not. */
  left: Uses;
}

/** Tells whether the store knows an earlier use, or one that is earlier by more than `byMs`. */
const isBehind = (known: Uses, [id, { at }]: readonly [string, Use], byMs = 0): boolean =>
  at - (known.get(id)?.at ?? Number.NEGATIVE_INFINITY) > byMs;

/** Creates the notes of this replica; see `LastUses`. */
export function createLastUses(of: keyof typeof KEEPINGS, deps: LastUsesDeps): LastUses {
  const { store, clock, log } = deps;
  const keeping: Keeping = KEEPINGS[of];
  let noted = new Map<string, Noted>();
  /** These are being written: they are neither in the store nor noted. */
  let leaving = new Map<string, Noted>();

  function notesOf(ownerId: string, since: number): Noted {
    let notes = noted.get(ownerId);
    if (!notes) noted.set(ownerId, (notes = { uses: new Map(), since, left: NONE }));
    return notes;
  }

  function note({ uses }: Noted, id: string, at: number, day: number, calls: number): void {
    let use = uses.get(id);
    if (!use) uses.set(id, (use = { at, calls: new Map() }));
    use.at = Math.max(use.at, at);
    if (keeping.countsCalls) use.calls.set(day, calls + (use.calls.get(day) ?? 0));
  }

  function noteAgain(ownerId: string, taken: Noted, left: Uses): void {
    const notes = notesOf(ownerId, taken.since);
    notes.since = Math.min(notes.since, taken.since);
    notes.left = left;
    for (const [id, { at, calls }] of taken.uses) {
      note(notes, id, at, dayNumberAt(at), 0);
      for (const [day, count] of calls) note(notes, id, at, day, count);
    }
  }

  async function read(ownerId: string): Promise<Versioned<Uses> & Pick<Opened, 'write'>> {
    const key = keeping.key(ownerId);
    const entry = await store.get(key);
    const { uses, write } = keeping.open(ownerId, entry);
    return { ...(entry ? versioned(entry, uses) : absent(key, uses)), write };
  }

  /** Writes the uses, or leaves them once. @param isLast nothing is left to others */
  async function write(ownerId: string, taken: Noted, isLast: boolean, attempt = 1): Promise<void> {
    const { uses } = taken;
    const now = clock.now();
    const known = await read(ownerId);
    const isLater = [...uses].some((use) => isBehind(known.record, use));
    if (!isLater && !keeping.countsCalls) return;
    const isUrgent =
      isLast ||
      [...uses].some((use) => isBehind(known.record, use, keeping.leftMs)) ||
      [...taken.left].some((use) => isBehind(known.record, use)) ||
      now - taken.since >= CALLS_HELD_MS;
    if (!isUrgent) return noteAgain(ownerId, taken, uses);
    const alive = new Set([...deps.idsOf(ownerId), ...uses.keys()]);
    const kept = new Map([...known.record].filter(([id]) => alive.has(id)));
    const { outcome } = await store.commit({
      expect: [expectUnchanged(known)],
      write: [known.write(together(kept, uses), dayNumberAt(now))],
      quiet: true,
    });
    if (outcome === 'committed') return;
    // Another replica came first. The next round would be too late for a use that was left by the one before.
    if (attempt < ATTEMPTS_MAX) return await write(ownerId, taken, isLast, attempt + 1);
    throw new StoreUnavailable('failed', 'Other replicas came first again and again.');
  }

  async function writeAll(isLast: boolean): Promise<void> {
    const taken = [...noted];
    leaving = noted;
    noted = new Map();
    const faults: unknown[] = [];
    for (let start = 0; start < taken.length; start += WRITTEN_TOGETHER_MAX) {
      const writes = taken.slice(start, start + WRITTEN_TOGETHER_MAX).map(async ([ownerId, one]) => {
        await write(ownerId, one, isLast).catch((error: unknown) => {
          noteAgain(ownerId, one, one.left);
          faults.push(error);
        });
        leaving.delete(ownerId);
      });
      await Promise.all(writes);
    }
    if (faults.length > 0) throw faults[0];
  }

  async function usesOf(ownerId: string): Promise<Uses> {
    // Taken before the read: what is written meanwhile is in neither of them afterwards.
    const own = ownOf(ownerId);
    return together((await read(ownerId)).record, own);
  }

  /** The uses that this replica noted and the store does not know yet. */
  const ownOf = (ownerId: string): Uses =>
    together(leaving.get(ownerId)?.uses ?? NONE, noted.get(ownerId)?.uses ?? NONE);

  async function usesOfMany(ownerIds: ReadonlySet<string>): Promise<UsesByOwner> {
    // Taken before the read, as in `usesOf`.
    const all = new Map(Array.from(ownerIds, (ownerId) => [ownerId, ownOf(ownerId)]));
    const add = (ownerId: string, entry: Entry | undefined): void => {
      const own = all.get(ownerId);
      if (entry && own)
        all.set(
          ownerId,
          together(
            readable(() => keeping.open(ownerId, entry).uses),
            own,
          ),
        );
    };
    const ids = [...ownerIds];
    for (let start = 0; ids.length <= READ_ALONE_MAX && start < ids.length; start += READ_TOGETHER_MAX) {
      const some = ids.slice(start, start + READ_TOGETHER_MAX);
      await Promise.all(some.map(async (ownerId) => add(ownerId, await store.get(keeping.key(ownerId)))));
    }
    if (ids.length > READ_ALONE_MAX) {
      for await (const { entries } of pagesOf(store, { prefix: keeping.under, limit: LISTED_PER_PAGE_MAX })) {
        for (const entry of entries) add(entry.key.slice(keeping.under.length), entry);
      }
    }
    return new Map(Array.from(all, ([ownerId, uses]) => [ownerId, instantsOf(uses)]));
  }

  return {
    used(ownerId, id) {
      const at = clock.now();
      note(notesOf(ownerId, at), id, at, dayNumberAt(at), 1);
    },
    lastUses: async (ownerId) => instantsOf(await usesOf(ownerId)),
    usesOfMany,
    async usesAndCalls(ownerId) {
      const today = dayNumberAt(clock.now());
      const uses = [...(await usesOf(ownerId))];
      return new Map(uses.map(([id, { at, calls }]) => [id, { at, calls: callsUntil(calls, today) }]));
    },
    flush: async () => await writeAll(false),
    async finish() {
      await writeAll(true).catch((error: unknown) =>
        log.warn({ err: error }, `the last uses of ${of} could not be written`),
      );
    },
  };
}
