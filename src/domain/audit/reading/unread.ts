import type { Entry } from '../../../store/port.ts';
import { placeAt } from '../../records/audit-records.ts';
import type { BoundedReads } from './bounded-reads.ts';
import { between, END_OF_TIME, GapBackwards } from './gaps.ts';
import { BEGINNING, boundAfter, cursorAt, END, instantAt } from './positions.ts';
import type { AuditBounds, Found } from './question.ts';
import { beginOf, endOf, type Piece, type Segments } from './segments.ts';
import { SPREAD_MS, type Place } from '../store-order.ts';

/** What a page has not read yet, in one of the two orders. */
export interface Unread {
  /** The parts of closed stretches that may have what is asked for, and come before the rest. */
  readonly plan: Piece[];
  readonly isEmpty: boolean;
  /** Whether an entry of the plan, or of the rest, may stand before one that was read. */
  planMayPrecede(found: Found): boolean;
  restMayPrecede(found: Found): boolean;
  /** Reads on in the rest: plans parts of a closed stretch, or reads entries that no segment describes. */
  extend(): Promise<readonly Entry[]>;
  /** The cursor of the place up to which everything is read. */
  cursor(): string;
}

export interface UnreadDeps {
  readonly reads: BoundedReads;
  readonly prefix: string;
  readonly segments: Segments | undefined;
  readonly bounds: AuditBounds;
  /** The place where the page before has ended. */
  readonly place: Place | undefined;
}

const later = (one: string, other: string): string => (one > other ? one : other);
const earlier = (one: string, other: string): string => (one < other ? one : other);

/** The bounds of the instants that are asked for. */
function bounded({ from, to }: AuditBounds): readonly [string, string] {
  return [
    // A bound with a marker is fit for a cursor.
    from === undefined || from <= 0 ? BEGINNING : `${placeAt(Math.min(from, END_OF_TIME) - 1)}-${'f'.repeat(40)}`,
    to === undefined || to > END_OF_TIME ? END : placeAt(to),
  ];
}

/** From the newest entry on. */
export class UnreadBackwards implements Unread {
  readonly plan: Piece[] = [];
  readonly #deps: UnreadDeps;
  readonly #gap: GapBackwards;
  readonly #from: string;
  #to: string;
  #number: number | undefined;

  constructor(deps: UnreadDeps) {
    this.#deps = deps;
    this.#gap = new GapBackwards(deps.reads, deps.prefix);
    const { place, bounds } = deps;
    [this.#from, this.#to] = bounded(bounds);
    if (!place) return;
    const isThere = place.revision !== undefined;
    this.#to = earlier(this.#to, isThere ? placeAt(place.instant + SPREAD_MS + 1) : place.suffix);
  }

  get isEmpty(): boolean {
    return this.plan.length === 0 && !(this.#from < this.#to);
  }

  planMayPrecede({ instant, revision }: Found): boolean {
    return this.plan.some(({ before, high }) => high > revision && instantAt(before) + SPREAD_MS >= instant);
  }

  restMayPrecede({ instant }: Found): boolean {
    return this.#from < this.#to && instantAt(this.#to) + SPREAD_MS >= instant;
  }

  async extend(): Promise<readonly Entry[]> {
    const { segments } = this.#deps;
    const segment = segments && (await this.#next(segments));
    if (!segment || endOf(segment) < this.#to) {
      const floor = segment ? later(this.#from, endOf(segment)) : this.#from;
      const { entries, to } = await this.#gap.read(floor, this.#to);
      this.#to = to;
      return entries;
    }
    const revision = this.#deps.place?.revision ?? Number.POSITIVE_INFINITY;
    const pieces = segments.piecesOf(segment, this.#from, this.#to);
    this.plan.push(...pieces.filter(({ low }) => low <= revision).toReversed());
    this.#to = later(this.#from, beginOf(segment));
    return [];
  }

  /** The newest segment that begins before the bound. */
  async #next(segments: Segments) {
    this.#number ??= this.#to === END ? segments.last : await segments.newestBefore(this.#to);
    for (; this.#number >= segments.first; this.#number -= 1) {
      const segment = await segments.at(this.#number, -1);
      if (segment && beginOf(segment) < this.#to) return segment;
    }
    return undefined;
  }

  cursor(): string {
    return cursorAt(this.plan[0]?.before ?? this.#to);
  }
}

/** From the oldest entry on. */
export class UnreadForwards implements Unread {
  readonly plan: Piece[] = [];
  readonly #deps: UnreadDeps;
  readonly #to: string;
  #from: string;
  #number: number | undefined;

  constructor(deps: UnreadDeps) {
    this.#deps = deps;
    const { place, bounds } = deps;
    [this.#from, this.#to] = bounded(bounds);
    if (!place) return;
    const isThere = place.revision !== undefined;
    this.#from = later(this.#from, isThere ? placeAt(place.instant - SPREAD_MS) : place.suffix);
  }

  get isEmpty(): boolean {
    return this.plan.length === 0 && !(this.#from < this.#to);
  }

  planMayPrecede({ instant, revision }: Found): boolean {
    return this.plan.some(({ after, low }) => low < revision && instantAt(after) <= instant + SPREAD_MS);
  }

  restMayPrecede({ instant }: Found): boolean {
    return this.#from < this.#to && instantAt(this.#from) <= instant + SPREAD_MS;
  }

  async extend(): Promise<readonly Entry[]> {
    const { segments, reads, prefix } = this.#deps;
    const segment = segments && (await this.#next(segments));
    if (!segment || beginOf(segment) > this.#from) {
      const end = segment ? earlier(this.#to, beginOf(segment)) : this.#to;
      const { entries, isWhole } = await between(reads, prefix, this.#from, end);
      const last = entries.at(-1);
      this.#from = isWhole || !last ? end : boundAfter(last.key.slice(prefix.length));
      return entries;
    }
    const revision = this.#deps.place?.revision ?? 0;
    const pieces = segments.piecesOf(segment, this.#from, this.#to);
    this.plan.push(...pieces.filter(({ high }) => high >= revision));
    this.#from = earlier(this.#to, endOf(segment));
    return [];
  }

  /** The oldest segment that ends after the bound. */
  async #next(segments: Segments) {
    const { first, last } = segments;
    this.#number ??= this.#from === BEGINNING ? first : Math.max(first, await segments.newestBefore(this.#from));
    for (; this.#number <= last; this.#number += 1) {
      const segment = await segments.at(this.#number, 1);
      if (segment && endOf(segment) > this.#from) return segment;
    }
    return undefined;
  }

  cursor(): string {
    return cursorAt(this.plan[0]?.after ?? this.#from);
  }
}
