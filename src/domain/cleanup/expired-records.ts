import * as z from 'zod';
import type { Entry, Expectation, Store, Write } from '../../store/port.ts';
import { HOUR_MS } from '../../time/utc-days.ts';
import { LIMITS } from '../limits.ts';
import { savedSchema } from '../rate-window/saved-windows.ts';
import { BadRecord, parseRecord } from '../records/codec.ts';
import { KEYS } from '../records/keys.ts';
import { idempotencyRecordSchema, idempotencySlotSchema, noteSchema } from '../records/records.ts';
import { EXPIRY_MARGIN_MS, type Sweep, type SweepDeps } from './sweep.ts';

const LISTED_PER_PIECE_MAX = 500;
/** A kept answer brings its place of the ring along, and a commit has 127 operations. */
const REMOVED_PER_COMMIT_MAX = 50;

/** What goes together with a record. */
interface Along {
  readonly expect: readonly Expectation[];
  readonly write: readonly Write[];
}

interface RecordSweep {
  readonly what: Sweep['what'];
  readonly prefix: string;
  /** @throws BadRecord; such a record stays */
  isOver(entry: Entry, now: number): boolean;
  /** @throws BadRecord; then both stay */
  along(entry: Entry): Promise<Along>;
}

const alone = async (): Promise<Along> => ({ expect: [], write: [] });

/** A sweep over records that say themselves when they are over. Quiet: nobody reads them from memory. */
function recordSweep({ store, clock, fence }: SweepDeps, rule: RecordSweep): Sweep {
  const { prefix } = rule;
  async function remove(over: readonly Entry[]): Promise<number> {
    const found = await Promise.all(over.map(async (entry) => ({ entry, along: await alongOf(rule, entry) })));
    const entries = found.filter(({ along }) => along !== undefined).map(({ entry }) => entry);
    const along = found.map((each) => each.along).filter((each) => each !== undefined);
    const [first, ...others] = entries.map(({ key, revision }) => ({ key, revision }));
    if (!first) return 0;
    const { outcome } = await store.commit({
      expect: [first, ...others, ...along.flatMap(({ expect }) => expect), ...fence],
      write: [...entries.map(({ key }) => ({ remove: key })), ...along.flatMap(({ write }) => write)],
      quiet: true,
    });
    // After a conflict one of them is somebody's again: the next pass looks anew.
    return outcome === 'committed' ? entries.length : 0;
  }
  return {
    what: rule.what,
    async piece(from, signal) {
      const page = await store.list({
        prefix,
        limit: LISTED_PER_PIECE_MAX,
        ...(from !== undefined && { after: from }),
      });
      const now = clock.now();
      const over = page.entries.filter((entry) => isOver(rule, entry, now));
      let gone = 0;
      for (let start = 0; start < over.length && !signal.aborted; start += REMOVED_PER_COMMIT_MAX) {
        gone += await remove(over.slice(start, start + REMOVED_PER_COMMIT_MAX));
      }
      return { gone, next: page.next };
    },
  };
}

/** Undefined where it cannot be read: one damaged record does not keep the others. */
async function alongOf(rule: RecordSweep, entry: Entry): Promise<Along | undefined> {
  try {
    return await rule.along(entry);
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}

function isOver(rule: RecordSweep, entry: Entry, now: number): boolean {
  try {
    return rule.isOver(entry, now);
  } catch {
    return false;
  }
}

/** H19: answers of a day ago, each with its place of the ring. A place that another answer has taken is that one's. */
export function idempotencyRecordsSweep(deps: SweepDeps): Sweep {
  return recordSweep(deps, {
    what: 'idempotency_records',
    prefix: KEYS.idempotencyRecordsAll,
    isOver: (entry, now) => {
      const place = placeOfAnswer(entry.key);
      const keptMs = LIMITS.idempotencyKeptMs + EXPIRY_MARGIN_MS;
      return place !== undefined && now >= parseRecord(idempotencyRecordSchema, entry).record.at + keptMs;
    },
    along: (entry) => placeOfRing(deps.store, entry),
  });
}

function placeOfAnswer(key: string): { accountId: string; name: string } | undefined {
  const [accountId = '', kind, name = ''] = key.slice(KEYS.idempotencyRecordsAll.length).split('/');
  return kind === 'answer' ? { accountId, name } : undefined;
}

async function placeOfRing(store: Store, entry: Entry): Promise<Along> {
  const { accountId, name } = placeOfAnswer(entry.key) ?? { accountId: '', name: '' };
  const key = KEYS.idempotencySlot(accountId, parseRecord(idempotencyRecordSchema, entry).record.slot);
  const slot = await store.get(key);
  if (!slot || parseRecord(idempotencySlotSchema, slot).record.key !== name) return { expect: [], write: [] };
  return { expect: [{ key, revision: slot.revision }], write: [{ remove: key }] };
}

/** An enrollment looks at the note of an hour. */
export const refusalNotesSweep = (deps: SweepDeps): Sweep =>
  recordSweep(deps, {
    what: 'refusal_notes',
    prefix: KEYS.refusalNotes,
    isOver: (entry, now) => now >= parseRecord(noteSchema, entry).record.at + HOUR_MS + EXPIRY_MARGIN_MS,
    along: alone,
  });

/** What the embedded store keeps over a restart, and nothing else: another record of that range may be in use. */
const leftWindowSchema = z.strictObject(savedSchema.shape);

/**
 * Windows that the embedded store kept for a start that never read them: a window is over after a minute. On etcd none
 * are kept, and what lies there is not looked at.
 */
export function rateRecordsSweep(deps: SweepDeps): Sweep {
  const sweep = recordSweep(deps, {
    what: 'rate_records',
    prefix: KEYS.rateWindows,
    isOver: (entry, now) => {
      const { instants } = parseRecord(leftWindowSchema, entry).record;
      return now >= Math.max(0, ...instants) + LIMITS.rateWindowMs + EXPIRY_MARGIN_MS;
    },
    along: alone,
  });
  if (deps.store.backend === 'sqlite') return sweep;
  return { what: sweep.what, piece: async () => ({ gone: 0, next: undefined }) };
}
