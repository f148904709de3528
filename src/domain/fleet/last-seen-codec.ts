import type { Numbers } from '../../packed/number-map.ts';
import type { Entry, Key } from '../../store/port.ts';
import { absent, parseRecord, versioned, type Versioned } from '../records/codec.ts';
import type { LastSeenRecord } from '../records/app-records.ts';
import { KEYS } from '../records/keys.ts';

/**
 * The last contacts of an account's devices, by slot. `packLastSeen` makes one small text of them. Behind the newest
 * contact come the runs of neighbouring slots in ascending order: the distance from the run before, the length, and
 * each slot's age against the newest contact, all as base-128 varints; base64. A thousand devices that poll every
 * minute take about 4 KiB; where the slots are dense, a thousand that were last seen at any time within a century take
 * at most 8 KiB.
 */
export type LastSeenBySlot = Numbers;

/** @param seen instants in milliseconds since 1970, by slot */
export function packLastSeen(seen: LastSeenBySlot): string {
  const slots = Array.from(seen, ([slot]) => slot).sort((a, b) => a - b);
  const newest = slots.reduce((latest, slot) => Math.max(latest, seen.get(slot) ?? 0), 0);
  const bytes: number[] = [];
  pushVarint(bytes, newest);
  let end = 0;
  for (const { first, length } of runsOf(slots)) {
    pushVarint(bytes, first - end);
    pushVarint(bytes, length);
    end = first + length;
    for (let slot = first; slot < end; slot += 1) pushVarint(bytes, newest - (seen.get(slot) ?? 0));
  }
  return Buffer.from(bytes).toString('base64');
}

/** @throws RangeError where the text was not made by `packLastSeen` */
export function unpackLastSeen(packed: string): Map<number, number> {
  const seen = new Map<number, number>();
  eachLastSeen(packed, (slot, at) => seen.set(slot, at));
  return seen;
}

/** The contacts that are written, with the senders of some of them, by slot. */
export type KnownContacts = Versioned<Numbers> & {
  readonly senders: Numbers;
  /** The fields that a later version has added. */
  readonly added: object;
};

/** The contacts of a stored record; none where there is no such key. @throws BadRecord; RangeError */
export function lastSeenIn(key: Key, entry: Entry | undefined): KnownContacts {
  if (!entry) return { ...absent<Numbers>(key, new Map()), senders: NO_SENDERS, added: NOTHING_ADDED };
  const { record } = parseRecord(KEYS.lastSeen, entry);
  return { ...versioned(entry, unpackLastSeen(record.packed)), senders: sendersOf(record), added: addedTo(record) };
}

/** The senders of a record, by slot. @throws RangeError */
export const sendersOf = ({ senders }: LastSeenRecord): Numbers =>
  senders === undefined ? NO_SENDERS : unpackLastSeen(senders);

export const NO_SENDERS: Numbers = new Map();

/** There is one of these for as many accounts as have no such field. */
export const NOTHING_ADDED: object = {};

/** The fields of a record that this version does not know. */
export function addedTo({ packed: _packed, senders: _senders, ...added }: LastSeenRecord): object {
  return Object.keys(added).length === 0 ? NOTHING_ADDED : added;
}

/**
 * Calls `take` for each slot in ascending order, with its last contact.
 * @throws RangeError where the text was not made by `packLastSeen`
 */
export function eachLastSeen(packed: string, take: (slot: number, at: number) => void): void {
  const bytes = Buffer.from(packed, 'base64');
  let at = 0;
  const next = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at];
      if (byte === undefined || factor > Number.MAX_SAFE_INTEGER) throw new RangeError('seen record: broken off');
      at += 1;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  if (bytes.length === 0) return;
  const newest = next();
  for (let slot = 0; at < bytes.length;) {
    slot += next();
    for (let left = next(); left > 0; left -= 1, slot += 1) take(slot, newest - next());
  }
}

interface Run {
  readonly first: number;
  length: number;
}

function runsOf(slots: readonly number[]): readonly Run[] {
  const runs: Run[] = [];
  for (const slot of slots) {
    const last = runs.at(-1);
    if (last && last.first + last.length === slot) last.length += 1;
    else runs.push({ first: slot, length: 1 });
  }
  return runs;
}

/** Arithmetic rather than shifts: instants do not fit in 32 bits. */
function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= 128) {
    bytes.push((rest % 128) | 128);
    rest = Math.floor(rest / 128);
  }
  bytes.push(rest);
}
