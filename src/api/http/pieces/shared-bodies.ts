import { crc32 } from 'node:zlib';

interface Shared {
  readonly key: string;
  readonly bytes: Buffer;
  answers: number;
}

/**
 * The bytes of the long texts that are being sent. An answer whose text is the same as that of another one shares its
 * bytes: a list that a client asks for again and again, without reading it, lies in memory once.
 */
export class SharedBodies {
  readonly #shared = new Map<string, Shared>();

  /** One more answer sends the text. @returns what it is to `leave` when it is closed */
  join(text: string): Shared {
    const bytes = Buffer.from(text);
    const key = `${bytes.length} ${crc32(bytes)}`;
    const known = this.#shared.get(key);
    // The checksum alone could be made alike by whoever names what is listed.
    const shared = known?.bytes.equals(bytes) === true ? known : { key, bytes, answers: 0 };
    shared.answers += 1;
    if (known === undefined) this.#shared.set(key, shared);
    return shared;
  }

  /** One answer less sends it. */
  leave(shared: Shared): void {
    shared.answers -= 1;
    if (shared.answers === 0 && this.#shared.get(shared.key) === shared) this.#shared.delete(shared.key);
  }
}
