import { placeAt } from '../../records/audit-records.ts';

/*
 * Positions between entries. The last part of an entry's key is its instant and a random marker, so that an audit can
 * be cut by time, and within a millisecond by the first two digits of markers. A position is milliseconds since 1970,
 * with a fraction of 256ths. A bound is a text that entries are compared with; no entry equals one.
 */

/** The finest step between two positions. */
export const FINEST = 1 / 256;

/** A bound before every entry, and one after each. */
export const BEGINNING = '';
export const END = '~';

/** The bound at a position: entries of it come after. */
export function boundAt(position: number): string {
  const instant = Math.floor(position);
  const fraction = Math.floor((position - instant) * 256);
  return fraction <= 0 ? placeAt(instant) : `${placeAt(instant)}-${fraction.toString(16).padStart(2, '0')}`;
}

/** The bound that comes just after an entry. */
export const boundAfter = (suffix: string): string => `${suffix}0`;

/** A position that is not before a bound or an entry, and hardly after it unless another program made the key. */
export function positionOf(text: string): number {
  const [, instant, marker] = /^([0-9a-z]{9})(?:-(.*))?$/.exec(text) ?? [];
  if (instant === undefined) return Number.parseInt(/^[0-9a-z]{0,9}/.exec(text)?.[0].padEnd(9, 'z') ?? '', 36) + 1;
  const at = Number.parseInt(instant, 36);
  if (marker === undefined) return at;
  const fraction = /^[0-9a-f]{2}/.test(marker) ? Number.parseInt(marker.slice(0, 2), 16) + 1 : 256;
  return at + fraction / 256;
}

/** The instant of a bound, in milliseconds since 1970: infinity at the end. */
export function instantAt(bound: string): number {
  if (bound === END) return Number.POSITIVE_INFINITY;
  return bound === BEGINNING ? 0 : Math.floor(positionOf(bound));
}

/** A bound as a cursor: it has the form of an entry's name, which none has. */
export const cursorAt = (bound: string): string => (bound.includes('-') ? bound : `${bound}-0`);
