import type { Log } from '../../log.ts';
import { ABSENT, type Store } from '../../store/port.ts';
import type { Clock } from '../../time/clock.ts';
import { parseRecord, put } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { keyUsesSchema } from '../records/records.ts';

/** When the API keys of each account were last used (A15), in milliseconds since 1970. */
export interface KeyUses {
  /** Notes that a request was authenticated by a key. It is on the path of every request. */
  used(accountId: string, keyId: string): void;
  /** By key, at most a minute behind what other replicas have seen. @throws StoreUnavailable; BadRecord */
  lastUses(accountId: string): Promise<ReadonlyMap<string, number>>;
  /** Writes what was noted since; what cannot be written is written by the next call. @throws StoreUnavailable; BadRecord */
  flush(): Promise<void>;
  /** The same at the end of the process. Never throws. */
  finish(): Promise<void>;
}

export interface KeyUsesDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
  /** The ids of an account's keys, as memory has them. */
  readonly keysOf: (accountId: string) => readonly string[];
}

/** So often uses are written: with a write that is late they are less than a minute behind. */
export const KEY_USES_EVERY_MS = 30_000;
const WRITTEN_TOGETHER_MAX = 50;

type Uses = ReadonlyMap<string, number>;

/** Creates the notes of this replica: one small record an account, by quiet commits, as with last contacts (ADR 0004). */
export function createKeyUses(deps: KeyUsesDeps): KeyUses {
  const { store, clock, log } = deps;
  let noted = new Map<string, Map<string, number>>();

  function note(accountId: string, keyId: string, at: number): void {
    let keys = noted.get(accountId);
    if (!keys) noted.set(accountId, (keys = new Map<string, number>()));
    keys.set(keyId, Math.max(at, keys.get(keyId) ?? 0));
  }

  async function read(accountId: string): Promise<{ uses: Uses; revision: number }> {
    const entry = await store.get(KEYS.keyUses(accountId));
    const record = entry && parseRecord(keyUsesSchema, entry);
    return { uses: new Map(record?.record.keys), revision: record?.revision ?? ABSENT };
  }

  /** @returns whether the uses are in the store; another replica may have come first */
  async function write(accountId: string, uses: Uses): Promise<boolean> {
    const known = await read(accountId);
    const alive = new Set([...deps.keysOf(accountId), ...uses.keys()]);
    const kept = new Map([...known.uses].filter(([keyId]) => alive.has(keyId)));
    const later = laterOf(kept, uses);
    if (later.size === known.uses.size && [...later].every(([keyId, at]) => known.uses.get(keyId) === at)) return true;
    const { outcome } = await store.commit({
      expect: [{ key: KEYS.keyUses(accountId), revision: known.revision }],
      write: [put(KEYS.keyUses(accountId), { keys: [...later] })],
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
      const written = await Promise.allSettled(some.map(([accountId, uses]) => write(accountId, uses)));
      for (const [index, result] of written.entries()) {
        if (result.status === 'rejected') faults.push(result.reason);
        else if (result.value) continue;
        const [accountId = '', uses = new Map<string, number>()] = some[index] ?? [];
        for (const [keyId, at] of uses) note(accountId, keyId, at);
      }
    }
    if (faults.length > 0) throw faults[0];
  }

  return {
    used: (accountId, keyId) => note(accountId, keyId, clock.now()),
    lastUses: async (accountId) => laterOf((await read(accountId)).uses, noted.get(accountId) ?? new Map()),
    flush,
    async finish() {
      await flush().catch((error: unknown) =>
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
