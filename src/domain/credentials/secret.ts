import { inspect } from 'node:util';

const REDACTED = '[redacted]';

/** A text that must not be printed. Whoever needs it says so: `secret.reveal()`. */
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
