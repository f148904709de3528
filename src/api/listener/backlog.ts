/** The requests of one connection that wait. */
export interface Waiting {
  /** One more waits. Above the bound of all, the connection with the most is closed: perhaps this one. */
  add(): void;
  /** One begins. */
  remove(): void;
  /** The connection is closed: none of its requests waits any longer. */
  end(): void;
}

/**
 * The pipelined requests of a listener that wait for the responses before them. One segment may bring thousands, before
 * the reading can stop: above the bound the connection is closed that has the most of them, of several the one that
 * has waited longest.
 */
export class Backlog {
  readonly #max: number;
  /** The connections with waiting requests, in the order in which they began to wait. */
  readonly #connections = new Set<WaitingRequests>();
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @param close closes the connection */
  of(close: () => void): Waiting {
    return new WaitingRequests(this, close);
  }

  /** Called by a connection's requests. @param more may be negative */
  changed(requests: WaitingRequests, more: number): void {
    this.#count += more;
    if (requests.count === 0) this.#connections.delete(requests);
    else this.#connections.add(requests);
    if (this.#count > this.#max) this.#closeLargest();
  }

  // It looks at each, and closes one: whoever makes it look pays with a connection.
  #closeLargest(): void {
    let largest: WaitingRequests | undefined;
    for (const requests of this.#connections) {
      if (largest === undefined || requests.count > largest.count) largest = requests;
    }
    largest?.close();
    // At once, and not when the socket has closed: the rest of a segment would have others closed as well.
    largest?.end();
  }
}

class WaitingRequests implements Waiting {
  readonly #backlog: Backlog;
  readonly close: () => void;
  count = 0;

  constructor(backlog: Backlog, close: () => void) {
    this.#backlog = backlog;
    this.close = close;
  }

  add(): void {
    this.#change(1);
  }

  remove(): void {
    this.#change(-1);
  }

  end(): void {
    if (this.count > 0) this.#change(-this.count);
  }

  #change(more: number): void {
    this.count += more;
    this.#backlog.changed(this, more);
  }
}
