/**
 * Bodies that are on their way before anything authenticates their requests. Each may lie in memory up to its limit, and
 * whoever sends it slowly decides how long: when there are too many, the one that is waited for longest is given up.
 * An honest body comes with its head, or right behind it.
 */
export class AwaitedBodies {
  readonly #max: number;
  readonly #giveUps = new Set<() => void>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Registers a body.
   * @param giveUp ends the wait for it
   * @returns to be called when it is no longer waited for
   */
  await(giveUp: () => void): () => void {
    const entry = (): void => giveUp();
    this.#giveUps.add(entry);
    if (this.#giveUps.size > this.#max) this.#giveUps.values().next().value?.();
    return () => void this.#giveUps.delete(entry);
  }
}
