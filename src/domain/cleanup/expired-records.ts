import { expectUnchanged, type Entry, type Expectation, type Store, type Write } from '../../store/port.ts';
import { DAY_MS, HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { KEYS } from '../records/keys.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 500;
/** An idempotency record is removed with its slot, and a commit has at most 127 operations. */
const REMOVED_PER_COMMIT_MAX = 50;

/** Further expectations and writes of the commit that removes a record. */
interface Companion {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

interface RecordSweep {
  readonly what: Sweep['what'];
  readonly prefix: string;
  /** Whether a record has expired. @throws BadRecord; such a record stays */
  isExpired(entry: Entry, now: number): boolean;
  /** Tells what is removed with it. @throws BadRecord; then both stay */
  companion(entry: Entry): Promise<Companion>;
}

const none = async (): Promise<Companion> => ({ expect: [], write: [] });

/** A sweep over records that hold their own time. The commits are quiet: no replica has these records in memory. */
function recordSweep({ store, clock, fence }: SweepDeps, rule: RecordSweep): Sweep {
  const { prefix } = rule;
  async function remove(expired: readonly Entry[]): Promise<number> {
    const found = await Promise.all(
      expired.map(async (entry) => ({ entry, companion: await companionOf(rule, entry) })),
    );
    const entries = found.filter(({ companion }) => companion !== undefined).map(({ entry }) => entry);
    const companions = found.map((each) => each.companion).filter((each) => each !== undefined);
    const [first, ...others] = entries.map(expectUnchanged);
    if (!first) return 0;
    const { outcome } = await store.commit({
      expect: [first, ...others, ...companions.flatMap(({ expect }) => expect), ...fence],
      write: [...entries.map(({ key }) => ({ remove: key })), ...companions.flatMap(({ write }) => write)],
      quiet: true,
    });
    // After a conflict one of the records is in use again: the next pass checks it.
    return outcome === 'committed' ? entries.length : 0;
  }
  return {
    what: rule.what,
    async piece(from, signal) {
      const page = await store.list({
        prefix,
        limit: LISTED_PER_PIECE_MAX,
        after: from,
      });
      const now = clock.now();
      const expired = page.entries.filter((entry) => isExpired(rule, entry, now));
      let gone = 0;
      for (let start = 0; start < expired.length && !signal.aborted; start += REMOVED_PER_COMMIT_MAX) {
        gone += await remove(expired.slice(start, start + REMOVED_PER_COMMIT_MAX));
      }
      return { gone, next: page.next };
    },
  };
}

/** Undefined where the record cannot be read: one damaged record must not keep the others. */
async function companionOf(rule: RecordSweep, entry: Entry): Promise<Companion | undefined> {
  try {
    return await rule.companion(entry);
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

function isExpired(rule: RecordSweep, entry: Entry, now: number): boolean {
  try {
    return rule.isExpired(entry, now);
  } catch {
    return false;
  }
}

/** H19: removes idempotency records of a day ago, each with its slot, unless another record has taken the slot. */
export function idempotencyRecordsSweep(deps: SweepDeps): Sweep {
  return recordSweep(deps, {
    what: 'idempotency_records',
    prefix: KEYS.idempotencySlot.under(),
    isExpired: (entry, now) => {
      const name = nameOf(entry.key);
      const keptMs = LIMITS.idempotencyKeptMs + EXPIRY_MARGIN_MS;
      return name !== undefined && now >= parseRecord(KEYS.idempotencyRecord, entry).record.at + keptMs;
    },
    companion: (entry) => slotOf(deps.store, entry),
  });
}

function nameOf(key: string): { accountId: string; name: string } | undefined {
  const [accountId = '', kind, name = ''] = key.slice(KEYS.idempotencySlot.under().length).split('/');
  return kind === 'answer' ? { accountId, name } : undefined;
}

async function slotOf(store: Store, entry: Entry): Promise<Companion> {
  const { accountId, name } = nameOf(entry.key) ?? { accountId: '', name: '' };
  const key = KEYS.idempotencySlot(accountId, parseRecord(KEYS.idempotencyRecord, entry).record.slot);
  const slot = await store.get(key);
  if (!slot || parseRecord(KEYS.idempotencySlot, slot).record.key !== name) return { expect: [], write: [] };
  return { expect: [expectUnchanged(slot)], write: [{ remove: key }] };
}

/** Removes notes of refused enrollments: an enrollment uses the note of the last hour alone. */
export const refusalNotesSweep = (deps: SweepDeps): Sweep =>
  recordSweep(deps, {
    what: 'refusal_notes',
    prefix: KEYS.refusalNote.under(),
    isExpired: (entry, now) => now >= parseRecord(KEYS.refusalNote, entry).record.at + HOUR_MS + EXPIRY_MARGIN_MS,
    companion: none,
  });

/** Removes links that nobody has used in time. */
export const linksSweep = (deps: SweepDeps): Sweep =>
  recordSweep(deps, {
    what: 'links',
    prefix: KEYS.link.under(),
    isExpired: (entry, now) => now >= parseRecord(KEYS.link, entry).record.expiresAt + EXPIRY_MARGIN_MS,
    companion: none,
  });

/**
 * Removes notes of failed secrets that nobody has tried for a day: the counts that they are about are forgotten. Those that
 * a user sees are kept longer.
 */
export const attemptNotesSweep = (deps: SweepDeps): Sweep =>
  recordSweep(deps, {
    what: 'attempt_notes',
    prefix: KEYS.attempted.under(),
    isExpired(entry, now) {
      const { at, last } = parseRecord(KEYS.attempted, entry).record;
      return now >= at + (last ? LIMITS.refusedSignInsKeptMs : DAY_MS);
    },
    companion: none,
  });
