import type { IRangeRequest } from 'etcd3';
import { RecentMap } from '../../packed/recent-map.ts';
import type { PageRequest } from '../port.ts';
import { pageRange, type KeySpace } from './wire/key-space.ts';
import type { FoundRange } from './wire/range-codec.ts';

/*
 * etcd counts every key of a range, however few it returns: a page costs the time of all pages that follow it. So a
 * page is asked for in a range that ends soon behind it, by how densely the keys of the pages before were. Where that
 * range has more keys than the page takes, the page is the one that was wanted; otherwise a wider range is asked.
 */

/** The keys that came before a cursor: so many, the first of them, and the last, which is the cursor. */
interface Span {
  readonly first: string;
  readonly last: string;
  readonly keys: number;
}

/** The first key of a page, and how many keys came before it in the same listing. */
interface PageStart {
  readonly first: string;
  readonly before: number;
}
/** The entries that a listing has returned up to a cursor, which is its last key. */
interface Listed {
  readonly last: string;
  readonly keys: number;
  /** The latest pages of the listing, the last one first. */
  readonly pages: readonly PageStart[];
}

/**
 * A bound is where so many pages are expected, by the density of keys in so many of the latest pages. Pages within one
 * account tell nothing about the next account; pages of many groups of keys tell little about any.
 */
const BOUNDS = [
  { ahead: 4, measured: 8 },
  { ahead: 4, measured: 64 },
  { ahead: 32, measured: 64 },
] as const;
const PAGES_KEPT = 64;
/** Fewer keys say little about how densely the next ones are. */
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

/** Returns where so many keys are expected behind the span, within the prefix; undefined where that is unknown. */
export function boundAfter({ first, last, keys }: Span, prefix: string, expected: number): string | undefined {
  if (keys < KEYS_MIN || !first.startsWith(prefix) || !last.startsWith(prefix)) return undefined;
  const from = Math.max(prefix.length, sharedLength(first, last) - SHARED_DIGITS);
  const [lower, upper] = [numberAt(first, from), numberAt(last, from)];
  const end = upper + Math.ceil(((upper - lower) / keys) * expected);
  return end > upper && end < BASE ** DIGITS ? last.slice(0, from) + textOf(end) + AFTER_ALL : undefined;
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
  /** The map holds, by cursor, what came before the cursors that were given out last. */
  readonly #listed = new RecentMap<string, Listed>(REMEMBERED_MAX);

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
    const listed = request.after === undefined ? undefined : this.#listed.get(request.after);
    for (const bound of listed ? boundsAfter(listed, request) : []) {
      const found = await ask({ ...whole, range_end: this.#keys.bytes(bound) });
      if (typeof found !== 'string' && !found.more) continue;
      this.#remember(found, listed);
      return found;
    }
    const found = await ask(whole);
    this.#remember(found, listed);
    return found;
  }

  #remember(found: FoundRange | string, listed: Listed | undefined): void {
    if (typeof found === 'string' || !found.more) return;
    const { entries } = found;
    const [first, last] = [entries[0]?.key ?? '', entries.at(-1)?.key ?? ''];
    const before = listed?.keys ?? 0;
    const pages = [{ first, before }, ...(listed?.pages ?? [])].slice(0, PAGES_KEPT);
    this.#listed.set(last, { last, keys: before + entries.length, pages });
  }
}

/** Returns the bounds that a page may be asked with, one after the other. */
function boundsAfter({ last, keys, pages }: Listed, { prefix, limit }: PageRequest): ReadonlySet<string> {
  const bounds = BOUNDS.map(({ ahead, measured }) => {
    const start = pages[Math.min(measured, pages.length) - 1];
    return start && boundAfter({ first: start.first, last, keys: keys - start.before }, prefix, limit * ahead);
  });
  return new Set(bounds.filter((bound) => bound !== undefined));
}
