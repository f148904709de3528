import type { IRangeRequest } from 'etcd3';
import type { PageRequest } from '../port.ts';
import { pageRange, type KeySpace } from './wire/key-space.ts';
import type { FoundRange } from './wire/range-codec.ts';

/*
 * etcd counts every key of a range, however few it returns: a page costs the time of all pages that follow it. So a
 * page is asked for in a range that ends soon behind it, by how densely the keys of the page before were. Where that
 * range has more keys than the page takes, the page is the one that was wanted; otherwise a wider range is asked.
 */

/** The keys that came before a cursor: so many, the first of them, and the last, which is the cursor. */
export interface Span {
  readonly first: string;
  readonly last: string;
  readonly keys: number;
}

/** So many times the keys of a page are expected below the first bound, and below the second. */
const PAGES_AHEAD = [8, 128] as const;
/** A page of fewer keys says little about how densely the next ones are. */
const KEYS_MIN = 16;
const REMEMBERED_MAX = 64;

/** Keys are printable ASCII: their characters from an index on are read as a number with digits from 0 to 94. */
const BASE = 95;
const ZERO = 0x20;
const DIGITS = 7;
/** So many characters that the keys of a span share are digits, too: the next keys may change them. */
const SHARED_DIGITS = 2;
/** It comes after every character of a key, and is in none. */
const AFTER_ALL = '\x7f';

/** Returns bounds behind the span, the nearest first, each within the prefix; none where nothing can be foretold. */
export function boundsAfter({ first, last, keys }: Span, { prefix, limit }: PageRequest): string[] {
  if (keys < KEYS_MIN || !first.startsWith(prefix) || !last.startsWith(prefix)) return [];
  const from = Math.max(prefix.length, sharedLength(first, last) - SHARED_DIGITS);
  const [lower, upper] = [numberAt(first, from), numberAt(last, from)];
  if (upper <= lower) return [];
  const widths = PAGES_AHEAD.map((pages) => Math.ceil(((upper - lower) / keys) * limit * pages));
  const ends = widths.map((width) => upper + width).filter((end) => end < BASE ** DIGITS);
  return ends.map((end) => last.slice(0, from) + textOf(end) + AFTER_ALL);
}

function sharedLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

function numberAt(key: string, from: number): number {
  let number = 0;
  for (let index = from; index < from + DIGITS; index += 1) {
    number = number * BASE + (index < key.length ? key.charCodeAt(index) - ZERO : 0);
  }
  return number;
}

function textOf(number: number): string {
  const codes: number[] = [];
  for (let rest = number; codes.length < DIGITS; rest = Math.floor(rest / BASE)) codes.unshift((rest % BASE) + ZERO);
  return String.fromCharCode(...codes);
}

/** Finds pages in ranges that end soon behind them. */
export class BoundedPages {
  readonly #keys: KeySpace;
  /** What came before the cursors that were given out last. */
  readonly #spans = new Map<string, Span>();

  constructor(keys: KeySpace) {
    this.#keys = keys;
  }

  /**
   * Returns what the last question was answered with: the page as the unbounded range has it, or why there is none.
   * @param ask asks etcd for a range; it may answer with a reason, which ends the search
   */
  async find<Found extends FoundRange | string>(
    request: PageRequest,
    ask: (range: IRangeRequest) => Promise<Found>,
  ): Promise<Found> {
    const whole = pageRange(this.#keys, request);
    const span = request.after === undefined ? undefined : this.#spans.get(request.after);
    for (const bound of span ? boundsAfter(span, request) : []) {
      const found = await ask({ ...whole, range_end: this.#keys.bytes(bound) });
      if (typeof found !== 'string' && !found.more) continue;
      this.#remember(found);
      return found;
    }
    const found = await ask(whole);
    this.#remember(found);
    return found;
  }

  #remember(found: FoundRange | string): void {
    if (typeof found === 'string' || !found.more) return;
    const { entries } = found;
    const [first, last] = [entries[0]?.key ?? '', entries.at(-1)?.key ?? ''];
    this.#spans.delete(last);
    this.#spans.set(last, { first, last, keys: entries.length });
    for (const oldest of this.#spans.keys()) {
      if (this.#spans.size <= REMEMBERED_MAX) break;
      this.#spans.delete(oldest);
    }
  }
}
