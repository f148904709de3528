/** Where a text lies. It stays as it is for as long as somebody holds this: a page is never written twice. */
export interface PackedText {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

interface Page {
  readonly bytes: Buffer;
  /** The same memory; cells begin at multiples of 8. */
  readonly words: Uint32Array;
  /** Bytes of the cells that were put here, and of those among them that still count. */
  used: number;
  live: number;
}

export const PAGE_BYTES = 1024 * 1024;
const UNITS_PER_PAGE = PAGE_BYTES / 8;
/** The row, the bytes of the key, the bytes of the value. */
const HEADER_BYTES = 12;

/**
 * Cells of a key and a value each, one after the other on pages outside the heap: a collection sees the pages, not the
 * cells. A cell is written once. One that is released leaves a hole; when more than half of a page is holes, its other
 * cells are moved to the newest page and the page is dropped, so that all pages together are never much more than
 * twice what is held. A cell is named by its `place`, which changes when it is moved: `moved` tells of it.
 */
export class PackedCells {
  readonly #moved: (row: number, place: number) => void;
  readonly #pages: (Page | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  #current = -1;
  #bytes = 0;

  constructor(moved: (row: number, place: number) => void) {
    this.#moved = moved;
  }

  /** Of all pages. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The key is ASCII. @returns the cell's place */
  put(row: number, key: string, value: string): number {
    const valueBytes = Buffer.byteLength(value);
    const place = this.#room(HEADER_BYTES + key.length + valueBytes);
    const { bytes, words } = this.#pageAt(place);
    const start = offsetOf(place);
    words[start / 4] = row;
    words[start / 4 + 1] = key.length;
    words[start / 4 + 2] = valueBytes;
    bytes.write(key, start + HEADER_BYTES, 'latin1');
    bytes.write(value, start + HEADER_BYTES + key.length, 'utf8');
    return place;
  }

  key(place: number): PackedText {
    const { bytes, words } = this.#pageAt(place);
    const start = offsetOf(place) + HEADER_BYTES;
    return { bytes, start, end: start + (words[offsetOf(place) / 4 + 1] ?? 0) };
  }

  value(place: number): PackedText {
    const { bytes, words } = this.#pageAt(place);
    const header = offsetOf(place) / 4;
    const start = offsetOf(place) + HEADER_BYTES + (words[header + 1] ?? 0);
    return { bytes, start, end: start + (words[header + 2] ?? 0) };
  }

  /** The place means nothing any more; others may mean another one after this. */
  release(place: number): void {
    const page = this.#pageAt(place);
    page.live -= cellBytes(page, offsetOf(place));
    // So that whoever goes through the page passes it by.
    page.words[offsetOf(place) / 4] = RELEASED;
    this.#tidy(Math.floor(place / UNITS_PER_PAGE));
  }

  #pageAt(place: number): Page {
    const page = this.#pages[Math.floor(place / UNITS_PER_PAGE)];
    if (!page) throw new RangeError(`There is no cell at ${place}.`);
    return page;
  }

  #room(wanted: number): number {
    const size = roundedUp(wanted);
    const page = this.#pages[this.#current];
    if (!page || page.used + size > page.bytes.length) return this.#roomOnNewPage(size);
    const place = this.#current * UNITS_PER_PAGE + page.used / 8;
    page.used += size;
    page.live += size;
    return place;
  }

  /** A cell larger than a page has one of its own. */
  #roomOnNewPage(size: number): number {
    const closed = this.#current;
    const bytes = Buffer.allocUnsafeSlow(Math.max(PAGE_BYTES, size));
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
    this.#current = this.#freeNumbers.pop() ?? this.#pages.length;
    this.#pages[this.#current] = { bytes, words, used: size, live: size };
    this.#bytes += bytes.length;
    const place = this.#current * UNITS_PER_PAGE;
    if (closed >= 0) this.#tidy(closed);
    return place;
  }

  #tidy(number: number): void {
    const page = this.#pages[number];
    if (!page || number === this.#current || page.live * 2 >= page.used) return;
    // Given back only afterwards: what is moved must not come to lie on a page of the same number.
    for (let offset = 0; offset < page.used; offset += cellBytes(page, offset)) this.#move(page, offset);
    this.#pages[number] = undefined;
    this.#freeNumbers.push(number);
    this.#bytes -= page.bytes.length;
  }

  #move(page: Page, offset: number): void {
    const row = page.words[offset / 4] ?? RELEASED;
    if (row === RELEASED) return;
    const size = cellBytes(page, offset);
    const place = this.#room(size);
    page.bytes.copy(this.#pageAt(place).bytes, offsetOf(place), offset, offset + size);
    this.#moved(row, place);
  }
}

const RELEASED = 0xffff_ffff;

const offsetOf = (place: number): number => (place % UNITS_PER_PAGE) * 8;
const roundedUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;

function cellBytes({ words }: Page, offset: number): number {
  return roundedUp(HEADER_BYTES + (words[offset / 4 + 1] ?? 0) + (words[offset / 4 + 2] ?? 0));
}
