import type { Clock } from '../../time/clock.ts';

/** An answer about a clock holds for this long: there is a new one twice as often. */
const HEARD_MS = 60_000;

/** The skew of other replicas' clocks by question and answer, in milliseconds. */
export class HeardClocks {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** The skew of each replica, and when it was told, on the monotonic clock. */
  readonly #heard = new Map<string, { readonly skewMs: number; readonly at: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  heard(replicaId: string, skewMs: number): void {
    this.#heard.set(replicaId, { skewMs, at: this.#clock.monotonic() });
  }

  /** Undefined where none was heard within the last minute. */
  skewOf(replicaId: string): number | undefined {
    const heard = this.#heard.get(replicaId);
    return heard && this.#clock.monotonic() - heard.at <= HEARD_MS ? heard.skewMs : undefined;
  }

  /** The greatest of the last minute, whatever its sign; 0 where none was heard. */
  greatestSkewMs(): number {
    let greatest = 0;
    for (const replicaId of this.#heard.keys()) {
      const skewMs = this.skewOf(replicaId);
      if (skewMs === undefined) this.#heard.delete(replicaId);
      else greatest = Math.max(greatest, Math.abs(skewMs));
    }
    return greatest;
  }
}
