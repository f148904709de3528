import type { Screen } from '../terminal/terminal.ts';

const TTY_EVERY_MS = 250;
const PLAIN_EVERY_MS = 5000;

/** A line that shows the progress: rewritten in place on a terminal, else a new line every few seconds. */
export class LiveLine implements Disposable {
  readonly #counters: { toString(): string };
  readonly #screen: Screen;
  #timer: NodeJS.Timeout | undefined;

  /** @param counters are told by `toString`; what matters least comes last, since a narrow terminal cuts it off */
  constructor(counters: { toString(): string }, screen: Screen) {
    this.#counters = counters;
    this.#screen = screen;
  }

  start(): void {
    this.#timer = setInterval(() => this.#write(), this.#screen.isTTY ? TTY_EVERY_MS : PLAIN_EVERY_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#write();
    if (this.#screen.isTTY) void this.#screen.write('\n');
  }

  #write(): void {
    const { isTTY, columns = 80 } = this.#screen;
    const line = String(this.#counters);
    // A line that wraps could not be written over.
    void this.#screen.write(isTTY ? `\r\u{1b}[2K${line.slice(0, columns - 1)}` : `${line}\n`);
  }
}
