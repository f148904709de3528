/** A connection, as the backlog closes it. */
interface Closable {
  giveUp(): void;
}

/**
 * The pipelined requests of a listener that wait for the responses before them. One segment may bring thousands, before
 * the reading can stop: above the bound the connection is closed that has the most of them, of several the one that
 * has waited longest.
 */
export class Backlog {
  readonly #max: number;
  /** How many wait on each connection that has some, in the order in which they began to wait. */
  readonly #waiting = new Map<Closable, number>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** One more waits. Above the bound of all, the connection with the most is closed: perhaps this one. */
  add(connection: Closable): void {
    this.#change(connection, 1);
    if (this.#count > this.#max) this.#closeLargest();
  }

  /** One begins. */
  remove(connection: Closable): void {
    this.#change(connection, -1);
  }

  /** The connection is closed: none of its requests waits any longer. */
  end(connection: Closable): void {
    this.#count -= this.#waiting.get(connection) ?? 0;
    this.#waiting.delete(connection);
  }

  #change(connection: Closable, more: number): void {
    const waiting = (this.#waiting.get(connection) ?? 0) + more;
    this.#count += more;
    if (waiting === 0) this.#waiting.delete(connection);
    else this.#waiting.set(connection, waiting);
  }

  // It looks at each, and closes one: whoever makes it look pays with a connection.
  #closeLargest(): void {
    let largest: Closable | undefined;
    let most = 0;
    for (const [connection, waiting] of this.#waiting) if (waiting > most) [largest, most] = [connection, waiting];
    if (largest === undefined) return;
    largest.giveUp();
    // At once, and not when the socket has closed: the rest of a segment would have others closed as well.
    this.end(largest);
  }
}
