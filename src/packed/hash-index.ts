/**
 * Finds rows by the hash of something that they hold. Several rows may have one hash: the caller goes through them by
 * `first` and `next`, and compares. One typed array, open addressing with linear probing, at most three quarters full:
 * 8 bytes a slot, 11 to 21 a row. A removal moves up what follows, so that nothing is left behind by rows that come and
 * go. The index must not change while a caller goes through it: a change moves rows to other slots.
 */
export class PackedIndex {
  /** Pairs of a hash and a row + 1, which is 0 where the slot is free. */
  #slots = new Uint32Array(2 * SLOTS_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#slots.byteLength;
  }

  /** The slot of a row with this hash; -1 where there is none. */
  first(hash: number): number {
    return this.#from(hash & this.#mask, hash);
  }

  /** The next slot with this hash, after the given one; -1 where there is none. */
  next(slot: number, hash: number): number {
    return this.#from((slot + 1) & this.#mask, hash);
  }

  rowAt(slot: number): number {
    return (this.#slots[2 * slot + 1] ?? 0) - 1;
  }

  /** Adds a row, which is not there yet with this hash. */
  add(hash: number, row: number): void {
    if ((this.#size + 1) * 4 > (this.#mask + 1) * 3) this.#resize((this.#mask + 1) * 2);
    this.#insert(hash, row + 1);
    this.#size += 1;
  }

  /** Puts another row of the same hash into the slot. */
  replace(slot: number, row: number): void {
    this.#slots[2 * slot + 1] = row + 1;
  }

  /** Removes a row; does nothing where it is not there with this hash. */
  remove(hash: number, row: number): void {
    let slot = this.first(hash);
    while (slot >= 0 && this.rowAt(slot) !== row) slot = this.next(slot, hash);
    if (slot < 0) return;
    this.#size -= 1;
    this.#moveUp(slot);
  }

  get #mask(): number {
    return this.#slots.length / 2 - 1;
  }

  #from(start: number, hash: number): number {
    const [slots, mask] = [this.#slots, this.#mask];
    for (let slot = start; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      if (slots[2 * slot] === hash) return slot;
    }
    return -1;
  }

  #insert(hash: number, rowAndOne: number): void {
    const [slots, mask] = [this.#slots, this.#mask];
    let slot = hash & mask;
    while (slots[2 * slot + 1] !== 0) slot = (slot + 1) & mask;
    slots[2 * slot] = hash;
    slots[2 * slot + 1] = rowAndOne;
  }

  /** Fills the gap with a row that would not be found beyond it, and so on with the gap that this leaves. */
  #moveUp(emptied: number): void {
    const [slots, mask] = [this.#slots, this.#mask];
    let gap = emptied;
    for (let slot = (gap + 1) & mask; slots[2 * slot + 1] !== 0; slot = (slot + 1) & mask) {
      const home = (slots[2 * slot] ?? 0) & mask;
      if (((slot - home) & mask) < ((slot - gap) & mask)) continue;
      slots[2 * gap] = slots[2 * slot] ?? 0;
      slots[2 * gap + 1] = slots[2 * slot + 1] ?? 0;
      gap = slot;
    }
    slots[2 * gap + 1] = 0;
    if (this.#size * 8 < mask + 1 && mask + 1 > SLOTS_MIN) this.#resize((mask + 1) / 2);
  }

  #resize(capacity: number): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * capacity);
    for (let i = 0; i < old.length; i += 2) {
      const rowAndOne = old[i + 1] ?? 0;
      if (rowAndOne !== 0) this.#insert(old[i] ?? 0, rowAndOne);
    }
  }
}

const SLOTS_MIN = 16;
