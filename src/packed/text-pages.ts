/** The bytes of a text on a page. They stay as they are while somebody holds this: a page is never written twice. */
export interface PackedText {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

interface Page {
  readonly bytes: Buffer;
  /** The same memory as words; slots begin at multiples of 8. */
  readonly words: Uint32Array;
  /** Bytes of all slots that were put here. */
  used: number;
  /** Bytes of the slots among them that are not released. */
  live: number;
}

export const PAGE_BYTES = 1024 * 1024;
const UNITS_PER_PAGE = PAGE_BYTES / 8;
/** A larger slot has a page of its own, so that a page which has no room for the next slot is nearly full. */
const SHARED_SLOT_MAX = PAGE_BYTES / 4;
/** The header of a slot: the row, the length of the key and the length of the value, four bytes each. */
const HEADER_BYTES = 12;

/**
 * Slots of a key and a value each, one after the other on pages outside the heap: a garbage collection visits the
 * pages, not the slots. A slot is written once. A slot that is released leaves a hole; when less than half of a page is
 * in use, its slots are moved to the newest page and the page is dropped, so that all pages but the newest are never
 * more than twice what is held. A slot is found by its `offset`, in units of 8 bytes over all pages; `moved` is
 * called with the new offset when a slot is moved.
 */
export class TextPages {
  readonly #moved: (row: number, offset: number) => void;
  readonly #pages: (Page | undefined)[] = [];
  readonly #freeNumbers: number[] = [];
  #current = -1;
  #bytes = 0;

  constructor(moved: (row: number, offset: number) => void) {
    this.#moved = moved;
  }

  /** Bytes of all pages. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Writes a slot; the key is ASCII. @returns the offset of the slot */
  put(row: number, key: string, value: string): number {
    const valueBytes = Buffer.byteLength(value);
    const offset = this.#room(HEADER_BYTES + key.length + valueBytes);
    const { bytes, words } = this.#pageAt(offset);
    const start = byteOf(offset);
    words[start / 4] = row;
    words[start / 4 + 1] = key.length;
    words[start / 4 + 2] = valueBytes;
    bytes.write(key, start + HEADER_BYTES, 'latin1');
    // ASCII is the same in both encodings, and copied at once in this one.
    bytes.write(value, start + HEADER_BYTES + key.length, valueBytes === value.length ? 'latin1' : 'utf8');
    return offset;
  }

  key(offset: number): PackedText {
    const { bytes, words } = this.#pageAt(offset);
    const start = byteOf(offset) + HEADER_BYTES;
    return { bytes, start, end: start + (words[byteOf(offset) / 4 + 1] ?? 0) };
  }

  value(offset: number): PackedText {
    const { bytes, words } = this.#pageAt(offset);
    const header = byteOf(offset) / 4;
    const start = byteOf(offset) + HEADER_BYTES + (words[header + 1] ?? 0);
    return { bytes, start, end: start + (words[header + 2] ?? 0) };
  }

  /** Releases a slot. Its offset must not be used any more, and releasing may move other slots. */
  release(offset: number): void {
    const page = this.#pageAt(offset);
    page.live -= slotBytes(page, byteOf(offset));
    // `#tidy` passes by a released slot.
    page.words[byteOf(offset) / 4] = RELEASED;
    this.#tidy(Math.floor(offset / UNITS_PER_PAGE));
  }

  #pageAt(offset: number): Page {
    const page = this.#pages[Math.floor(offset / UNITS_PER_PAGE)];
    if (!page) throw new RangeError(`There is no slot at ${offset}.`);
    return page;
  }

  #room(wanted: number): number {
    const size = roundedUp(wanted);
    if (size > SHARED_SLOT_MAX) return this.#newPage(size, size) * UNITS_PER_PAGE;
    const page = this.#pages[this.#current];
    if (!page || page.used + size > PAGE_BYTES) return this.#roomOnNewPage(size);
    const offset = this.#current * UNITS_PER_PAGE + page.used / 8;
    page.used += size;
    page.live += size;
    return offset;
  }

  #roomOnNewPage(size: number): number {
    const closed = this.#current;
    this.#current = this.#newPage(PAGE_BYTES, size);
    const offset = this.#current * UNITS_PER_PAGE;
    if (closed >= 0) this.#tidy(closed);
    return offset;
  }

  /** Makes a page whose first slot takes this many bytes. @returns the number of the page */
  #newPage(length: number, size: number): number {
    const bytes = Buffer.allocUnsafeSlow(length);
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset, length / 4);
    const number = this.#freeNumbers.pop() ?? this.#pages.length;
    this.#pages[number] = { bytes, words, used: size, live: size };
    this.#bytes += length;
    return number;
  }

  #tidy(number: number): void {
    const page = this.#pages[number];
    if (!page || number === this.#current || page.live * 2 >= page.bytes.length) return;
    // The number is given back afterwards: a moved slot must not come to lie on a page of the same number.
    for (let byte = 0; byte < page.used; byte += slotBytes(page, byte)) this.#move(page, byte);
    this.#pages[number] = undefined;
    this.#freeNumbers.push(number);
    this.#bytes -= page.bytes.length;
  }

  #move(page: Page, byte: number): void {
    const row = page.words[byte / 4] ?? RELEASED;
    if (row === RELEASED) return;
    const size = slotBytes(page, byte);
    const offset = this.#room(size);
    page.bytes.copy(this.#pageAt(offset).bytes, byteOf(offset), byte, byte + size);
    this.#moved(row, offset);
  }
}

const RELEASED = 0xffff_ffff;

const byteOf = (offset: number): number => (offset % UNITS_PER_PAGE) * 8;
const roundedUp = (bytes: number): number => Math.ceil(bytes / 8) * 8;

function slotBytes({ words }: Page, byte: number): number {
  return roundedUp(HEADER_BYTES + (words[byte / 4 + 1] ?? 0) + (words[byte / 4 + 2] ?? 0));
}
