/** A place in the chain: before an entry of a block, by its position from 0. */
export interface Spot {
  readonly block: number;
  readonly at: number;
}

/**
 * A place among the entries that were in no block when the first of them was given. Later pages go by the head of the
 * chain as it was then, whatever was sealed meanwhile.
 */
export interface Unsealed {
  /** The number of the newest block, and the revision up to which all was in a block. */
  readonly number: number;
  readonly through: number;
  /** Many entries come in the order of their keys: this is the part of a key that the reading has come to. */
  readonly key?: string | undefined;
  /** Few entries come in the order of the store: this is the name of the last one that was given. */
  readonly given?: string | undefined;
  /** All of those few have keys before this part of one. */
  readonly end?: string | undefined;
}

/** A place between two pages of an audit: in the chain, among what is in no block, or after an entry, by its name. */
export type Cursor =
  | { readonly spot: Spot; readonly unsealed?: undefined; readonly name?: undefined }
  | { readonly spot?: undefined; readonly unsealed: Unsealed; readonly name?: undefined }
  | { readonly spot?: undefined; readonly unsealed?: undefined; readonly name: string };

const SPOT = /^B(\d{1,12})A(\d{1,4})$/;
const UNSEALED = /^U(\d{1,12})R(\d{1,16})(?:K([0-9a-z-]{0,60}))?(?:N([0-9a-z-]{1,60}))?(?:E([0-9a-z]{9}))?$/;

/** The text of a cursor. Capital letters stand before its parts: the name of an entry has none. */
export function cursorText({ spot, unsealed, name }: Cursor): string {
  if (spot) return `B${spot.block}A${spot.at}`;
  if (!unsealed) return name;
  const { number, through, key, given, end } = unsealed;
  const part = (letter: string, text: string | undefined): string => (text === undefined ? '' : `${letter}${text}`);
  return `U${number}R${through}${part('K', key)}${part('N', given)}${part('E', end)}`;
}

/** Reads a cursor. Any other text is taken for the name of an entry, which earlier versions give. */
export function cursorOf(text: string): Cursor {
  const [, block, at] = SPOT.exec(text) ?? [];
  if (block !== undefined) return { spot: { block: Number(block), at: Number(at) } };
  const [, number, through, key, given, end] = UNSEALED.exec(text) ?? [];
  if (number === undefined) return { name: text };
  return { unsealed: { number: Number(number), through: Number(through), key, given, end } };
}

/** Tells whether a cursor is the name of an entry. */
export const isName = (text: string): boolean => cursorOf(text).name !== undefined;
