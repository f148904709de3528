import type { Retained } from './port.ts';

/** The revisions that somebody still lists at, and which compactions therefore leave alone. */
export class Retentions {
  private readonly retained = new Set<{ readonly revision: number }>();

  /** `over` is called once, when it is no longer retained. */
  retain(revision: number, over: () => void = () => undefined): Retained {
    const retention = { revision };
    this.retained.add(retention);
    return {
      [Symbol.dispose]: () => {
        if (this.retained.delete(retention)) over();
      },
    };
  }

  /** The revision, or the oldest retained one where that is older. What lies before `floor` is gone, and binds nobody. */
  bound(revision: number, floor = 0): number {
    let bound = revision;
    for (const retention of this.retained) if (retention.revision >= floor) bound = Math.min(bound, retention.revision);
    return bound;
  }
}
