import type { Log } from '../../log.ts';
import { expectUnchanged, StoreUnavailable, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { absent, parseRecord, put, versioned, type Versioned } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';

/** When the API keys of each account were last used (A15), in milliseconds since 1970. */
export interface KeyUses {
  /** Notes that a request was authenticated by a key. It is on the path of every request. */
  used(accountId: string, keyId: string): void;
  /** By key, at most a minute behind what other replicas have seen. @throws StoreUnavailable; BadRecord */
  lastUses(accountId: string): Promise<ReadonlyMap<string, number>>;
  /**
   * Writes what was noted since, and leaves once what is little later than in the store. What cannot be written is
   * written by the next call.
   * @throws StoreUnavailable; BadRecord
   */
  flush(): Promise<void>;
  /** Writes all that was noted, at the end of the process. Never throws. */
  finish(): Promise<void>;
}

interface KeyUsesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The ids of an account's keys, as memory has them. */
  readonly keysOf: (accountId: string) => readonly string[];
}

/**
 * The time between two writes of the last uses. A use that is later than the one in the store by no more than this is
 * left to the next write, once: as a rule another replica that serves the key has written a later one by then. So the
 * keys of an account cost one write every 25 to 50 s, and not one every 25 s for each replica; and a use is in the store
 * within a minute (A15).
 */
export const KEY_USES_EVERY_MS = 25_000;
const WRITTEN_TOGETHER_MAX = 50;
const ATTEMPTS_MAX = 5;

type Uses = ReadonlyMap<string, number>;

/** These uses of an account are not in the store yet. */
interface Noted {
  readonly uses: Uses;
  /** The last call left these to others; this one writes them if the others did not. */
  readonly left: Uses;
}
const NONE: Uses = new Map();
/** Whether the store knows an earlier use of the key, or one that is earlier by more than `byMs`. */
const isBehind = (known: Uses, [keyId, at]: readonly [string, number], byMs = 0): boolean =>
  at - (known.get(keyId) ?? Number.NEGATIVE_INFINITY) > byMs;

/** Creates the notes of this replica: one small record an account, by quiet commits, as with last contacts (ADR 0004). */
export function createKeyUses(deps: KeyUsesDeps): KeyUses {
  const { store, clock, log } = deps;
  let noted = new Map<string, Map<string, number>>();
  /** The map holds, by account, what the last call left to others. */
  let left = new Map<string, Uses>();
  /** These uses are being written: they are neither in the store nor noted. */
  let leaving: ReadonlyMap<string, Uses> = new Map();

  function note(accountId: string, keyId: string, at: number): void {
    let keys = noted.get(accountId);
    if (!keys) noted.set(accountId, (keys = new Map<string, number>()));
    keys.set(keyId, Math.max(at, keys.get(keyId) ?? 0));
  }

  function noteAgain(accountId: string, { uses, left: before }: Noted): void {
    for (const [keyId, at] of uses) note(accountId, keyId, at);
    left.set(accountId, before);
  }

  /** @returns the uses, and in `added` the fields that a later version has added */
  async function read(accountId: string): Promise<Versioned<Uses> & { readonly added: object }> {
    const key = KEYS.keyUses(accountId);
    const entry = await store.get(key);
    if (!entry) return { ...absent(key, NONE), added: {} };
    const { keys, ...added } = parseRecord(KEYS.keyUses, entry).record;
    return { ...versioned(entry, new Map(keys)), added };
  }

  /** Writes the uses, or leaves them once. @param isLast nothing is left to others */
  async function write(accountId: string, taken: Noted, isLast: boolean, attempt = 1): Promise<void> {
    const { uses } = taken;
    const known = await read(accountId);
    if (![...uses].some((use) => isBehind(known.record, use))) return;
    const isUrgent =
      isLast ||
      [...uses].some((use) => isBehind(known.record, use, KEY_USES_EVERY_MS)) ||
      [...taken.left].some((use) => isBehind(known.record, use));
    if (!isUrgent) return noteAgain(accountId, { uses, left: uses });
    const alive = new Set([...deps.keysOf(accountId), ...uses.keys()]);
    const kept = new Map([...known.record].filter(([keyId]) => alive.has(keyId)));
    const { outcome } = await store.commit({
      expect: [expectUnchanged(known)],
      write: [put(KEYS.keyUses(accountId), { ...known.added, keys: [...laterOf(kept, uses)] })],
      quiet: true,
    });
    if (outcome === 'committed') return;
    // Another replica came first. The next round would be too late for a use that was left by the one before.
    if (attempt < ATTEMPTS_MAX) return await write(accountId, taken, isLast, attempt + 1);
    throw new StoreUnavailable('failed', 'Other replicas came first again and again.');
  }

  async function writeAll(isLast: boolean): Promise<void> {
    const taken = [...noted].map(
      ([accountId, uses]) => [accountId, { uses, left: left.get(accountId) ?? NONE }] as const,
    );
    leaving = noted;
    noted = new Map();
    left = new Map();
    const faults: unknown[] = [];
    for (let start = 0; start < taken.length; start += WRITTEN_TOGETHER_MAX) {
      const writes = taken.slice(start, start + WRITTEN_TOGETHER_MAX).map(async ([accountId, one]) => {
        await write(accountId, one, isLast).catch((error: unknown) => {
          noteAgain(accountId, one);
          faults.push(error);
        });
      });
      await Promise.all(writes);
    }
    leaving = new Map();
    if (faults.length > 0) throw faults[0];
  }

  return {
    used: (accountId, keyId) => note(accountId, keyId, clock.now()),
    async lastUses(accountId) {
      // Taken before the read: what is written meanwhile is in neither of them afterwards.
      const own = laterOf(leaving.get(accountId) ?? NONE, noted.get(accountId) ?? NONE);
      return laterOf((await read(accountId)).record, own);
    },
    flush: async () => await writeAll(false),
    async finish() {
      await writeAll(true).catch((error: unknown) =>
        log.warn({ err: error }, 'the last uses of API keys could not be written'),
      );
    },
  };
}

/** The later use of each key. */
function laterOf(one: Uses, other: Uses): Uses {
  const later = new Map(one);
  for (const [keyId, at] of other) later.set(keyId, Math.max(at, later.get(keyId) ?? 0));
  return later;
}
