/** The fullness of a store, as one look tells it. */
export interface Look {
  readonly inUseBytes: number;
  readonly capacityBytes: number;
  /** The store refuses every put, whatever is in use; undefined where the look cannot tell. */
  readonly refusesPuts?: boolean;
}

const TICK_MS = 1000;
/** From here on every tick looks; below, every tenth one, or when this process has written much meanwhile. */
const WATCHED_FROM = 0.6;
const TICKS_BETWEEN_LOOKS = 10;
const MUCH = 0.02;
/** A bound on what a store needs for the bytes of a commit: indices, and pages that are not filled. */
const BYTES_PER_BYTE = 1.5;
/** 1 is for a store that refuses every put, which no estimate can tell. */
const ESTIMATE_MAX = 0.999;

/**
 * How full a store is, as last seen, plus what this process has written since and is about to write: however much comes
 * between two looks, or waits for a slow store, no client can write past the reserve (A12).
 */
export class Fullness implements Disposable {
  readonly #look: () => Promise<Look | undefined>;
  readonly #timer: NodeJS.Timeout;
  #seen: Look | undefined;
  /** Bytes of commits that wait, or are under way. */
  #pending = 0;
  /** Bytes that were ever written, and how many of them had been when the last two looks began. */
  #written = 0;
  #writtenAtLook = 0;
  #writtenBefore = 0;
  #ticks = 0;
  #refusedAtTick = Number.NEGATIVE_INFINITY;
  #lookedAtTick = 0;
  #valueAtLook = Number.NaN;
  #looking = false;

  /** @param look asks the store, once; it resolves with undefined, or rejects, where there is no answer */
  constructor(look: () => Promise<Look | undefined>) {
    this.#look = look;
    this.#timer = setInterval(() => void this.#tick(), TICK_MS).unref();
  }

  /** 0 to 1: 1 where the store refuses every put; NaN before the first look that succeeds. */
  get value(): number {
    if (this.#refuses) return 1;
    if (this.#seen === undefined) return Number.NaN;
    const { inUseBytes, capacityBytes } = this.#seen;
    // The sight of a look may lag behind what was written just before it.
    const since = (this.#pending + this.#written - this.#writtenBefore) * BYTES_PER_BYTE;
    return Math.min(ESTIMATE_MAX, (inUseBytes + since) / capacityBytes);
  }

  /** Called with the bytes of each commit when it comes: those that come behind it are judged with it in the store. */
  began(bytes: number): void {
    this.#pending += bytes;
  }

  /**
   * Called when a commit has ended.
   * @param bytes as it began
   * @param isSent whether the store may have them
   */
  ended(bytes: number, isSent: boolean): void {
    this.#pending -= bytes;
    if (isSent) this.#written += bytes;
  }

  /** Called when the store has refused a put for want of room. */
  refused(): void {
    this.#refusedAtTick = this.#ticks;
  }

  /** Looks once, now. Never rejects: a look that fails leaves the fullness as it is. */
  async check(): Promise<void> {
    const [began, beganAtTick] = [this.#written, this.#ticks];
    const look = await this.#look().catch(() => undefined);
    this.#lookedAtTick = this.#ticks;
    if (look === undefined) return;
    this.#seen = look;
    this.#writtenBefore = this.#writtenAtLook;
    this.#writtenAtLook = began;
    // A look that began after the refusal, and was told of no alarm, ends it.
    if (look.refusesPuts === false && this.#refusedAtTick < beganAtTick) this.#refusedAtTick = Number.NEGATIVE_INFINITY;
    this.#valueAtLook = this.value;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  get #refuses(): boolean {
    return this.#seen?.refusesPuts === true || this.#ticks - this.#refusedAtTick < TICKS_BETWEEN_LOOKS;
  }

  async #tick(): Promise<void> {
    this.#ticks += 1;
    if (this.#looking || !this.#isDue()) return;
    this.#looking = true;
    await this.check();
    this.#looking = false;
  }

  #isDue(): boolean {
    const { value } = this;
    if (value >= WATCHED_FROM || value - this.#valueAtLook >= MUCH) return true;
    return this.#ticks - this.#lookedAtTick >= TICKS_BETWEEN_LOOKS;
  }
}
