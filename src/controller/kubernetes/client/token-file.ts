import { boundedContent } from '../../../config/files/bounded-content.ts';
import type { Clock } from '../../../time/clock.ts';

/** As every file of the configuration (ADR 0060). */
const LOOK_MS = 10_000;
/** A token of a service account has about 1 KB. */
const BYTES_MAX = 65_536;

/**
 * The bearer token in a file that something else renews. It is read again every ten seconds. Content that cannot be
 * read or used changes nothing, as kubectl has it.
 */
export class TokenFile {
  readonly #path: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #token: string | undefined;
  #lookAt = -Infinity;
  /** The last look: requests at the same moment wait for it, too. */
  #look: Promise<void> | undefined;

  constructor(path: string, clock: Pick<Clock, 'monotonic'>) {
    this.#path = path;
    this.#clock = clock;
  }

  /** The token that was read last; undefined where none was. Never rejects. */
  async current(): Promise<string | undefined> {
    const now = this.#clock.monotonic();
    if (now >= this.#lookAt) {
      this.#lookAt = now + LOOK_MS;
      this.#look = this.#read();
    }
    await this.#look;
    return this.#token;
  }

  async #read(): Promise<void> {
    this.#token = (await readToken(this.#path).catch(() => undefined)) ?? this.#token;
  }

  /** Has the file read before the next request: the server refused the token. */
  refused(): void {
    this.#lookAt = -Infinity;
  }
}

async function readToken(path: string): Promise<string | undefined> {
  const text = (await boundedContent(path, BYTES_MAX)).toString().trim();
  // Other characters cannot stand in a header.
  return /^[\x21-\x7e]+$/.test(text) ? text : undefined;
}
