import { hash, randomBytes } from 'node:crypto';

/** Very many daemons in few bytes each: their credentials are derived when they are needed, their tags are shared. */
export class Devices {
  readonly count: number;
  readonly #seed = randomBytes(32).toString('base64url');
  /** The poll interval in seconds, from the enrollment; 0 before it. */
  readonly #interval: Uint32Array;
  readonly #tag: Uint32Array;
  readonly #tags: string[] = [''];
  readonly #numberOfTag = new Map<string, number>();

  constructor(count: number) {
    this.count = count;
    this.#interval = new Uint32Array(count);
    this.#tag = new Uint32Array(count);
  }

  /** The credential that the device generates itself: the service keeps its hash alone. */
  credential(device: number): string {
    return `mst_dev_${hash('sha256', `${this.#seed}/${device}`, 'base64url')}`;
  }

  credentialHash(device: number): string {
    return hash('sha256', this.credential(device));
  }

  enrolled(device: number, intervalSeconds: number): void {
    this.#interval[device] = intervalSeconds;
  }

  /** The poll interval in seconds; 0 where the device is not enrolled. */
  intervalSeconds(device: number): number {
    return this.#interval[device] ?? 0;
  }

  /** The ETag of the configuration that the device has; empty where it has none. */
  tag(device: number): string {
    return this.#tags[this.#tag[device] ?? 0] ?? '';
  }

  received(device: number, tag: string): void {
    let number = this.#numberOfTag.get(tag);
    if (number === undefined) {
      number = this.#tags.push(tag) - 1;
      this.#numberOfTag.set(tag, number);
    }
    this.#tag[device] = number;
  }
}
