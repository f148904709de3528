import { collectorScalar } from '../../opamp/collector-scalar.ts';
import { Latencies } from './latencies.ts';

/** Counts what a simulated fleet has done so far. */
export class FleetCounters {
  enrolled = 0;
  polls = 0;
  unchanged = 0;
  /** Polls that had no answer, or one that the daemon must wait out. */
  failed = 0;
  changes = 0;
  received = 0;
  acknowledged = 0;
  detections = 0;
  upgrades = 0;
  revoked = 0;
  /** The longest time from the answer to a revocation until the daemon was refused. */
  slowestCutOffMs = 0;
  /** From a change to each daemon that received it. */
  readonly receipts = new Latencies();
  readonly #changedAt = new Map<string, number>();
  /** The endpoints of the changes, the latest last. */
  readonly #endpoints: string[] = [];

  /** A change begins to be carried out. @param endpoint tells it from others */
  changing(endpoint: string, at: number): void {
    this.changes += 1;
    this.#changedAt.set(endpoint, at);
    this.#endpoints.push(endpoint);
  }

  /** The endpoint of the latest change that stands in a collector's configuration; undefined where none does. */
  endpointIn(configuration: string): string | undefined {
    return this.#endpoints.findLast((endpoint) => configuration.includes(collectorScalar(endpoint)));
  }

  /**
   * A daemon has received another configuration than it had. Where nobody has told of the change, it counts from the
   * first daemon that received it.
   */
  receivedChange(endpoint: string, revision: number, at: number): void {
    const change = this.#changedAt.has(endpoint) ? endpoint : `revision ${revision}`;
    const since = this.#changedAt.get(change);
    if (since === undefined) this.#changedAt.set(change, at);
    else this.receipts.add(at - since);
  }

  toString(): string {
    const cutOff =
      this.revoked === 0 ? '0 cut off' : `${this.revoked} cut off (≤ ${Math.ceil(this.slowestCutOffMs)} ms)`;
    return (
      `${this.polls} polls, ${this.unchanged} unchanged, ${this.received} new · ${this.acknowledged} acks · ` +
      `${this.changes} changes · ${cutOff} · ${this.enrolled} enrolled · ${this.upgrades} upgrades · ` +
      `${this.detections} detections`
    );
  }
}
