import type { Clock } from '../../../time/clock.ts';
import type { Failure } from './failure.ts';

/**
 * A failure that may pass by itself is told of once the resource has failed for so long without a success between. It
 * is longer than a leader of etcd or an API server needs to come back, and than the first attempts of the back-off.
 */
export const TOLD_AFTER_MS = 15_000;

/** Since when each resource fails, on the monotonic clock: one entry for each key of the work queue that fails. */
export class FailingResources {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #since = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Notes a failed attempt. @returns whether the resource is to say so */
  failed(key: string, { stays }: Pick<Failure, 'stays'>): boolean {
    const now = this.#clock.monotonic();
    const since = this.#since.get(key) ?? now;
    this.#since.set(key, since);
    return stays || now - since >= TOLD_AFTER_MS;
  }

  /** Forgets the failures of a key: an attempt succeeded, or its resource is gone. */
  forget(key: string): void {
    this.#since.delete(key);
  }
}
