import { expectUnchanged, type Store } from '../../store/port.ts';
import type { FleetMemory } from '../fleet/memory.ts';
import type { SessionEntry } from '../fleet/reader.ts';
import { KEYS } from '../records/keys.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

/** A session is removed with its refresh token, and a commit has at most 127 operations. */
const SESSIONS_PER_COMMIT_MAX = 50;
const SESSIONS_PER_PIECE_MAX = 500;

/**
 * Removes sessions whose time is over; nobody is let in by one before either. They are found in memory, and each commit
 * expects them as memory has them. The commits are not quiet: sessions are in the watch cache.
 */
export function endedSessionsSweep({ store, clock, fence }: SweepDeps, memory: FleetMemory): Sweep {
  async function remove(sessions: readonly SessionEntry[]): Promise<number> {
    const [first, ...others] = sessions.map(expectUnchanged);
    if (!first) return 0;
    const { outcome } = await store.commit({
      expect: [first, ...others, ...fence],
      write: sessions.flatMap(({ id }) => [{ remove: KEYS.session(id) }, { remove: KEYS.refresh(id) }]),
    });
    return outcome === 'committed' ? sessions.length : 0;
  }
  return {
    what: 'sessions',
    async piece(_from, signal) {
      const ended = endedBefore(memory, clock.now() - EXPIRY_MARGIN_MS);
      let gone = 0;
      for (let start = 0; start < ended.length && !signal.aborted; start += SESSIONS_PER_COMMIT_MAX) {
        gone += await remove(ended.slice(start, start + SESSIONS_PER_COMMIT_MAX));
      }
      // The sessions of this piece are not found again. A piece that removed nothing ends the pass.
      return { gone, next: ended.length === SESSIONS_PER_PIECE_MAX && gone > 0 ? '' : undefined };
    },
  };
}

function endedBefore(memory: FleetMemory, now: number): readonly SessionEntry[] {
  const ended: SessionEntry[] = [];
  for (const { id } of memory.users()) {
    for (const session of memory.sessionsOf(id)) {
      if (session.record.expiresAt <= now) ended.push(session);
      if (ended.length === SESSIONS_PER_PIECE_MAX) return ended;
    }
  }
  return ended;
}

const LISTED_PER_PIECE_MAX = 500;

/** Records under a prefix that tell of something else: the rest of a key names it. */
interface Notes {
  readonly prefix: string;
  readonly isThere: (memory: FleetMemory, id: string) => unknown;
  /** The key of what they tell of. */
  readonly of: (id: string) => string;
}

/** Of users and sessions. */
const SIGN_IN_NOTES: readonly Notes[] = [
  { prefix: KEYS.sessionUses.under(), isThere: (memory, id) => memory.user(id), of: KEYS.user },
  { prefix: KEYS.signIns.under(), isThere: (memory, id) => memory.user(id), of: KEYS.user },
  { prefix: KEYS.refresh.under(), isThere: (memory, id) => memory.session(id), of: KEYS.session },
];

/** Of apps, by account. */
const ofApps = (prefix: string): Notes => ({
  prefix,
  isThere: (memory, id) => memory.appById(appIn(id)[1]),
  of: (id) => KEYS.app(...appIn(id)),
});

function appIn(id: string): readonly [accountId: string, appId: string] {
  const [accountId = '', appId = ''] = id.split('/');
  return [accountId, appId];
}

/** Removes what is known of the sign-ins of users who are gone, and refresh tokens of sessions that are. */
export const signInNotesSweep = (deps: SweepDeps, memory: FleetMemory): Sweep =>
  notesSweep(deps, memory, 'sign_in_notes', SIGN_IN_NOTES);

/** Removes what apps said of themselves that are gone: whoever deletes an app may have left it behind. */
export const appNotesSweep = (deps: SweepDeps, memory: FleetMemory): Sweep =>
  notesSweep(deps, memory, 'app_notes', [ofApps(KEYS.opampAgent.under()), ofApps(KEYS.ack.under())]);

/**
 * The store is asked for what is gone as well, as memory may be behind. The commits are quiet: no replica has these records
 * in memory.
 */
function notesSweep(
  { store, fence }: SweepDeps,
  memory: FleetMemory,
  what: Sweep['what'],
  notes: readonly Notes[],
): Sweep {
  return {
    what,
    async piece(from, signal) {
      const [place, after] = placeOf(from);
      const note = notes[place];
      if (!note) return { gone: 0, next: undefined };
      const page = await store.list({
        prefix: note.prefix,
        limit: LISTED_PER_PIECE_MAX,
        keysOnly: true,
        ...(after !== '' && { after }),
      });
      let gone = 0;
      for (const entry of page.entries) {
        if (signal.aborted) break;
        const id = entry.key.slice(note.prefix.length);
        if (note.isThere(memory, id) || (await isThere(store, note.of(id)))) continue;
        const write = [{ remove: entry.key }];
        const { outcome } = await store.commit({ expect: [expectUnchanged(entry), ...fence], write, quiet: true });
        if (outcome === 'committed') gone += 1;
      }
      if (page.next !== undefined) return { gone, next: `${place}:${page.next}` };
      return { gone, next: place + 1 < notes.length ? `${place + 1}:` : undefined };
    },
  };
}

/** Which of the notes a piece goes on with, and after which key. */
function placeOf(from: string | undefined): readonly [place: number, after: string] {
  const [, place = '0', after = ''] = /^(\d+):(.*)$/s.exec(from ?? '') ?? [];
  return [Number(place), after];
}

const isThere = async (store: Pick<Store, 'get'>, key: string): Promise<boolean> =>
  (await store.get(key)) !== undefined;
