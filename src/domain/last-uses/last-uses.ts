import type { Log } from '../../log.ts';
import { expectUnchanged, StoreUnavailable, type Entry, type Put, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { absent, parseRecord, put, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

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
   * Writes what was noted since, and leaves once what is little later than in the store. What cannot be written is
   * written by the next call.
   * @throws StoreUnavailable; BadRecord
   */
  flush(): Promise<void>;
  /** Writes all that was noted, at the end of the process. Never throws. */
  finish(): Promise<void>;
}

interface LastUsesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The ids of an owner's keys or sessions, as memory has them. */
  readonly idsOf: (ownerId: string) => readonly string[];
}

type Pairs = [id: string, at: number][];

/** A record of last uses, and the write of others in their place. Fields that a later version has added stay. */
interface Opened {
  readonly pairs: Pairs;
  readonly write: (pairs: Pairs) => Put;
}

/**
 * The way in which last uses are kept: one small record an owner, by quiet commits, as with last contacts (ADR 0004).
 */
interface Keeping {
  /** A use that is later than the one in the store by no more than this is left to the next call, once. */
  readonly leftMs: number;
  key(ownerId: string): Put['put'];
  open(ownerId: string, entry: Entry | undefined): Opened;
}

/**
 * The time between two writes of the last uses of API keys. What is left to the next write another replica that serves
 * the key has written by then, as a rule. So the keys of an account cost one write every 25 to 50 s, and not one every
 * 25 s for each replica; and a use is in the store within a minute (A15).
 */
export const KEY_USES_EVERY_MS = 25_000;

const KEEPINGS = {
  'API keys': {
    leftMs: KEY_USES_EVERY_MS,
    key: KEYS.keyUses,
    open(accountId, entry) {
      const { keys, ...added } = entry ? parseRecord(KEYS.keyUses, entry).record : { keys: [] };
      return { pairs: keys, write: (pairs) => put(KEYS.keyUses(accountId), { ...added, keys: pairs }) };
    },
  },
  sessions: {
    // Each use is in the store within `LIMITS.sessionUsesEveryMs`, since idle sessions are judged by it.
    leftMs: 0,
    key: KEYS.sessionUses,
    open(userId, entry) {
      const { sessions, ...added } = entry ? parseRecord(KEYS.sessionUses, entry).record : { sessions: [] };
      return { pairs: sessions, write: (pairs) => put(KEYS.sessionUses(userId), { ...added, sessions: pairs }) };
    },
  },
} satisfies Record<string, Keeping>;

const WRITTEN_TOGETHER_MAX = 50;
const ATTEMPTS_MAX = 5;

type Uses = ReadonlyMap<string, number>;

/** These uses of an owner are not in the store yet. */
interface Noted {
  readonly uses: Uses;
  /** The last call left these to others; this one writes them if the others did not. */
  readonly left: Uses;
}
const NONE: Uses = new Map();
/** Tells whether the store knows an earlier use, or one that is earlier by more than `byMs`. */
const isBehind = (known: Uses, [id, at]: readonly [string, number], byMs = 0): boolean =>
  at - (known.get(id) ?? Number.NEGATIVE_INFINITY) > byMs;

/** Creates the notes of this replica; see `LastUses`. */
export function createLastUses(of: keyof typeof KEEPINGS, deps: LastUsesDeps): LastUses {
  const { store, clock, log } = deps;
  const keeping: Keeping = KEEPINGS[of];
  let noted = new Map<string, Map<string, number>>();
  /** The map holds, by owner, what the last call left to others. */
  let left = new Map<string, Uses>();
  /** These uses are being written: they are neither in the store nor noted. */
  let leaving: ReadonlyMap<string, Uses> = new Map();

  function note(ownerId: string, id: string, at: number): void {
    let uses = noted.get(ownerId);
    if (!uses) noted.set(ownerId, (uses = new Map<string, number>()));
    uses.set(id, Math.max(at, uses.get(id) ?? 0));
  }

  function noteAgain(ownerId: string, { uses, left: before }: Noted): void {
    for (const [id, at] of uses) note(ownerId, id, at);
    left.set(ownerId, before);
  }

  async function read(ownerId: string): Promise<Versioned<Uses> & Pick<Opened, 'write'>> {
    const key = keeping.key(ownerId);
    const entry = await store.get(key);
    const { pairs, write } = keeping.open(ownerId, entry);
    const uses = new Map(pairs);
    return { ...(entry ? versioned(entry, uses) : absent(key, uses)), write };
  }

  /** Writes the uses, or leaves them once. @param isLast nothing is left to others */
  async function write(ownerId: string, taken: Noted, isLast: boolean, attempt = 1): Promise<void> {
    const { uses } = taken;
    const known = await read(ownerId);
    if (![...uses].some((use) => isBehind(known.record, use))) return;
    const isUrgent =
      isLast ||
      [...uses].some((use) => isBehind(known.record, use, keeping.leftMs)) ||
      [...taken.left].some((use) => isBehind(known.record, use));
    if (!isUrgent) return noteAgain(ownerId, { uses, left: uses });
    const alive = new Set([...deps.idsOf(ownerId), ...uses.keys()]);
    const kept = new Map([...known.record].filter(([id]) => alive.has(id)));
    const { outcome } = await store.commit({
      expect: [expectUnchanged(known)],
      write: [known.write([...laterOf(kept, uses)])],
      quiet: true,
    });
    if (outcome === 'committed') return;
    // Another replica came first. The next round would be too late for a use that was left by the one before.
    if (attempt < ATTEMPTS_MAX) return await write(ownerId, taken, isLast, attempt + 1);
    throw new StoreUnavailable('failed', 'Other replicas came first again and again.');
  }

  async function writeAll(isLast: boolean): Promise<void> {
    const taken = [...noted].map(([ownerId, uses]) => [ownerId, { uses, left: left.get(ownerId) ?? NONE }] as const);
    leaving = noted;
    noted = new Map();
    left = new Map();
    const faults: unknown[] = [];
    for (let start = 0; start < taken.length; start += WRITTEN_TOGETHER_MAX) {
      const writes = taken.slice(start, start + WRITTEN_TOGETHER_MAX).map(async ([ownerId, one]) => {
        await write(ownerId, one, isLast).catch((error: unknown) => {
          noteAgain(ownerId, one);
          faults.push(error);
        });
      });
      await Promise.all(writes);
    }
    leaving = new Map();
    if (faults.length > 0) throw faults[0];
  }

  return {
    used: (ownerId, id) => note(ownerId, id, clock.now()),
    async lastUses(ownerId) {
      // Taken before the read: what is written meanwhile is in neither of them afterwards.
      const own = laterOf(leaving.get(ownerId) ?? NONE, noted.get(ownerId) ?? NONE);
      return laterOf((await read(ownerId)).record, own);
    },
    flush: async () => await writeAll(false),
    async finish() {
      await writeAll(true).catch((error: unknown) =>
        log.warn({ err: error }, `the last uses of ${of} could not be written`),
      );
    },
  };
}

/** Gives the later use of each key or session. */
function laterOf(one: Uses, other: Uses): Uses {
  const later = new Map(one);
  for (const [id, at] of other) later.set(id, Math.max(at, later.get(id) ?? 0));
  return later;
}
