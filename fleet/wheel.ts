const SLOT_MS = 1;
const NONE = -1;

/** Knows when each of very many devices is due next, with sixteen bytes and no timer for each. */
export class Wheel {
  /** The devices of a slot are a list through `#after`. */
  readonly #first: Int32Array;
  readonly #after: Int32Array;
  readonly #dueMs: Float64Array;
  #slot = 0;

  /** @param horizonMs about the longest wait; a longer one is checked now and then, and put back */
  constructor(devices: number, horizonMs: number) {
    this.#first = new Int32Array(Math.ceil(horizonMs / SLOT_MS) + 1).fill(NONE);
    this.#after = new Int32Array(devices).fill(NONE);
    this.#dueMs = new Float64Array(devices);
  }

  /** The instant that was put last for the device, in milliseconds from the start. */
  dueMs(device: number): number {
    return this.#dueMs[device] ?? 0;
  }

  /** @param dueMs milliseconds from the start; an instant in the past means with the next turn */
  put(device: number, dueMs: number): void {
    this.#dueMs[device] = dueMs;
    this.#insert(device);
  }

  #insert(device: number): void {
    const slots = this.#first.length;
    const ahead = Math.min(Math.max(1, Math.ceil(this.dueMs(device) / SLOT_MS) - this.#slot), slots - 1);
    const slot = (this.#slot + ahead) % slots;
    this.#after[device] = this.#first[slot] ?? NONE;
    this.#first[slot] = device;
  }

  /** Hands over every device that is due by then. */
  turn(nowMs: number, due: (device: number) => void): void {
    const until = Math.floor(nowMs / SLOT_MS);
    while (this.#slot < until) {
      this.#slot += 1;
      const slot = this.#slot % this.#first.length;
      let device = this.#first[slot] ?? NONE;
      this.#first[slot] = NONE;
      while (device !== NONE) {
        const next = this.#after[device] ?? NONE;
        if (this.dueMs(device) <= nowMs) due(device);
        else this.#insert(device);
        device = next;
      }
    }
  }
}
