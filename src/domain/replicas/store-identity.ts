import type { StoreMark } from '../../store/mark.ts';
import { KEYS } from '../records/keys.ts';

/**
 * The store that this process works on, by the id in the record of its format (docs/adr/0029-a-lost-store.md). While
 * the process runs, another id, or none, is another store.
 */
export class StoreIdentity implements StoreMark {
  readonly key = KEYS.format();
  /** The id that the configuration names; undefined where a start takes whatever store it finds. */
  readonly expected: string | undefined;
  #storeId: string | undefined;
  #text: string | undefined;

  constructor(expected?: string) {
    this.expected = expected;
  }

  get text(): string | undefined {
    return this.#text;
  }

  /** From here on this is the store, and no other. */
  settle(storeId: string, text: string): void {
    this.#storeId = storeId;
    this.#text = text;
  }

  accepts(found: string | undefined): boolean {
    const storeId = found === undefined ? undefined : storeIdIn(found);
    if (storeId === undefined || storeId !== this.#storeId) return false;
    this.#text = found;
    return true;
  }
}

function storeIdIn(text: string): string | undefined {
  try {
    return KEYS.format.schema.safeParse(JSON.parse(text)).data?.storeId;
  } catch {
    return undefined;
  }
}
