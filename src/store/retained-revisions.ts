import type { Retained } from './port.ts';

/** The revisions that listings still read, and which compactions therefore leave alone. */
export class RetainedRevisions {
  readonly #retained = new Set<{ readonly revision: number }>();

  /** @param onRelease is called once, when the revision is no longer retained */
  retain(revision: number, onRelease: () => void = () => undefined): Retained {
    const retention = { revision };
    this.#retained.add(retention);
    return {
      [Symbol.dispose]: () => {
        if (this.#retained.delete(retention)) onRelease();
      },
    };
  }

  /**
   * The revision, or the oldest retained one where that is older. A retained revision before `floor` is gone already.
   */
  bound(revision: number, floor = 0): number {
    let bound = revision;
    for (const retention of this.#retained)
      if (retention.revision >= floor) bound = Math.min(bound, retention.revision);
    return bound;
  }
}
