import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A text that must not be printed: every way to print it gives `[redacted]`. `reveal()` returns the text itself. */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
