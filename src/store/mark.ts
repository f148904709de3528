/**
 * The record that tells a store from every other one, and from an empty one. A back-end on which a store can be lost
 * while a process uses it makes every call depend on the record's text: a call on a store without it, or with the text
 * of another store, has no effect and throws StoreUnavailable `replaced` (A14).
 */
export interface StoreMark {
  readonly key: string;
  /** The text of the record. Undefined until it was read or written; until then no call depends on it. */
  readonly text: string | undefined;
  /**
   * Judges a text that is another than `text`, or that there is none. A record of the same store may have been written
   * anew, as one that raises the format does; its text is then taken over.
   * @returns whether the store is the same
   */
  accepts(found: string | undefined): boolean;
}
