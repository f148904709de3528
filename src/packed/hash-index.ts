/**
 * Finds rows by the hash of something that they hold. Which of the rows with that hash is meant, the caller knows: it
 * goes through them by `first` and `next`, and compares. One typed array, open addressing with linear probing, at
 * most three quarters full: 8 bytes a place, 11 to 21 a row. A removal moves up what follows, so that nothing is left
 * behind by rows that come and go. No change while somebody goes through it.
 */
export class PackedIndex {
  /** Pairs of a hash and a row + 1; 0 where the place is free. */
  #places = new Uint32Array(2 * PLACES_MIN);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#places.byteLength;
  }

  /** The place of a row with this hash; -1 where there is none. */
  first(hash: number): number {
    return this.#from(hash & this.#mask, hash);
  }

  /** The place of another one, after this place. */
  next(place: number, hash: number): number {
    return this.#from((place + 1) & this.#mask, hash);
  }

  rowAt(place: number): number {
    return (this.#places[2 * place + 1] ?? 0) - 1;
  }

  /** The row is not there yet with this hash. */
  add(hash: number, row: number): void {
    if ((this.#size + 1) * 4 > (this.#mask + 1) * 3) this.#resize((this.#mask + 1) * 2);
    this.#insert(hash, row + 1);
    this.#size += 1;
  }

  /** At this place another row of the same hash is to be found from now on. */
  replace(place: number, row: number): void {
    this.#places[2 * place + 1] = row + 1;
  }

  remove(hash: number, row: number): void {
    let place = this.first(hash);
    while (place >= 0 && this.rowAt(place) !== row) place = this.next(place, hash);
    if (place < 0) return;
    this.#size -= 1;
    this.#moveUp(place);
  }

  get #mask(): number {
    return this.#places.length / 2 - 1;
  }

  #from(start: number, hash: number): number {
    const [places, mask] = [this.#places, this.#mask];
    for (let place = start; places[2 * place + 1] !== 0; place = (place + 1) & mask) {
      if (places[2 * place] === hash) return place;
    }
    return -1;
  }

  #insert(hash: number, mark: number): void {
    const [places, mask] = [this.#places, this.#mask];
    let place = hash & mask;
    while (places[2 * place + 1] !== 0) place = (place + 1) & mask;
    places[2 * place] = hash;
    places[2 * place + 1] = mark;
  }

  /** Fills the gap with what would not be found beyond it, and so on with the gap that this leaves. */
  #moveUp(emptied: number): void {
    const [places, mask] = [this.#places, this.#mask];
    let gap = emptied;
    for (let place = (gap + 1) & mask; places[2 * place + 1] !== 0; place = (place + 1) & mask) {
      const home = (places[2 * place] ?? 0) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      places[2 * gap] = places[2 * place] ?? 0;
      places[2 * gap + 1] = places[2 * place + 1] ?? 0;
      gap = place;
    }
    places[2 * gap + 1] = 0;
    if (this.#size * 8 < mask + 1 && mask + 1 > PLACES_MIN) this.#resize((mask + 1) / 2);
  }

  #resize(capacity: number): void {
    const old = this.#places;
    this.#places = new Uint32Array(2 * capacity);
    for (let i = 0; i < old.length; i += 2) {
      const mark = old[i + 1] ?? 0;
      if (mark !== 0) this.#insert(old[i] ?? 0, mark);
    }
  }
}

const PLACES_MIN = 16;
