import process from 'node:process';

const TTY_EVERY_MS = 250;
const PLAIN_EVERY_MS = 5000;

/** Counts what the fleet has done so far. */
export class FleetCounters {
  enrolled = 0;
  polls = 0;
  unchanged = 0;
  changes = 0;
  received = 0;
  acknowledged = 0;
  upgrades = 0;
  revoked = 0;
  /** The longest time from the answer to a revocation until the daemon was refused. */
  slowestCutOffMs = 0;

  /** The least important number comes last: a narrow terminal cuts it off. */
  toString(): string {
    const cutOff =
      this.revoked === 0 ? '0 cut off' : `${this.revoked} cut off (≤ ${Math.ceil(this.slowestCutOffMs)} ms)`;
    return (
      `${this.polls} polls, ${this.unchanged} × 304, ${this.received} new · ${this.acknowledged} acks · ` +
      `${this.changes} changes · ${cutOff} · ${this.enrolled} enrolled · ${this.upgrades} upgrades`
    );
  }
}

/** A line that shows the progress: rewritten in place on a terminal, else a new line every few seconds. */
export class LiveLine implements Disposable {
  readonly #counters: { toString(): string };
  #timer: NodeJS.Timeout | undefined;

  constructor(counters: { toString(): string }) {
    this.#counters = counters;
  }

  start(): void {
    this.#timer = setInterval(() => this.#write(), process.stdout.isTTY ? TTY_EVERY_MS : PLAIN_EVERY_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#write();
    if (process.stdout.isTTY) process.stdout.write('\n');
  }

  #write(): void {
    const line = String(this.#counters);
    if (!process.stdout.isTTY) process.stdout.write(`${line}\n`);
    // A line that wraps could not be written over.
    else process.stdout.write(`\r\u{1b}[2K${line.slice(0, process.stdout.columns - 1)}`);
  }
}
