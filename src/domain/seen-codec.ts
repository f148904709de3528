/**
 * Last contacts of an account's devices in one small text: for each slot in ascending order, the distance from the slot
 * before and the age against the newest contact, both as base-128 varints, behind the newest contact itself; base64.
 * A thousand devices that poll every minute take about 5 KiB, a thousand that were last seen at any time at most 8 KiB.
 */
export type SeenBySlot = ReadonlyMap<number, number>;

export function packSeen(seen: SeenBySlot): string {
  const slots = [...seen.keys()].sort((a, b) => a - b);
  const newest = slots.reduce((latest, slot) => Math.max(latest, seen.get(slot) ?? 0), 0);
  const bytes: number[] = [];
  pushVarint(bytes, newest);
  let before = -1;
  for (const slot of slots) {
    pushVarint(bytes, slot - before - 1);
    pushVarint(bytes, newest - (seen.get(slot) ?? 0));
    before = slot;
  }
  return Buffer.from(bytes).toString('base64');
}

/** @throws RangeError where the text was not made by `packSeen` */
export function unpackSeen(packed: string): Map<number, number> {
  const bytes = Buffer.from(packed, 'base64');
  const seen = new Map<number, number>();
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
  if (bytes.length === 0) return seen;
  const newest = next();
  for (let slot = -1; at < bytes.length;) {
    slot += next() + 1;
    seen.set(slot, newest - next());
  }
  return seen;
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
