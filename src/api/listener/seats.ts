import { Link, LinkedList } from './linked-list.ts';

/** The bounds of a listener's connections. */
export interface SeatOptions {
  /** Open connections. Without it there is no bound. */
  readonly connectionsMax?: number;
  /**
   * Connections from one address that have not authenticated a request; 0 is no bound. On the connections of a trusted
   * proxy, requests of one client that have not authenticated.
   */
  readonly strangersPerAddressMax?: number;
}

/** Which bound was reached; `connection_evicted` where a connection gave way at that of all connections. */
export type SeatBound = 'connection_bound' | 'connection_evicted' | 'address_bound';

/** The strangers of one address. */
interface Address {
  strangers: number;
  /** Those of them that are at rest, the longest first. */
  readonly resting: LinkedList<Seat>;
}

/**
 * The connections of a listener, and who gives way when there are too many of them: the one that has been at rest
 * longest, strangers first. A stranger is a connection that has not authenticated a request; a trusted proxy is none.
 */
export class Seats {
  readonly #max: number;
  readonly #perAddressMax: number;
  readonly #strangers = new LinkedList<Seat>();
  readonly #known = new LinkedList<Seat>();
  readonly #addresses = new Map<string, Address>();
  #taken = 0;

  constructor({ connectionsMax, strangersPerAddressMax = 0 }: SeatOptions) {
    this.#max = connectionsMax ?? Number.POSITIVE_INFINITY;
    this.#perAddressMax = strangersPerAddressMax === 0 ? Number.POSITIVE_INFINITY : strangersPerAddressMax;
  }

  /**
   * Seats a new connection, at rest. Where a bound is reached, another one is closed for it.
   * @param address of a stranger; undefined for a trusted proxy
   * @param close closes the connection
   * @param reached is called where a bound is reached
   * @returns undefined where nobody could give way
   */
  take(address: string | undefined, close: () => void, reached: (bound: SeatBound) => void): Seat | undefined {
    const bound = this.#boundReached(address);
    if (bound !== undefined) {
      const gives = bound === 'address_bound' ? this.#restingOf(address) : (this.#strangers.first ?? this.#known.first);
      reached(bound === 'connection_bound' && gives !== undefined ? 'connection_evicted' : bound);
      if (gives === undefined) return undefined;
      gives.value.close();
      gives.value.leave();
    }
    this.#taken += 1;
    const seat = new Seat(this, address, close);
    if (address !== undefined) this.count(address);
    seat.rest();
    return seat;
  }

  /** Whether an address has as many strangers as it may have. */
  isFull(address: string): boolean {
    return (this.#addresses.get(address)?.strangers ?? 0) >= this.#perAddressMax;
  }

  /** Counts a stranger of the address, until `discount`. */
  count(address: string): void {
    const counted = this.#addresses.get(address);
    if (counted) counted.strangers += 1;
    else this.#addresses.set(address, { strangers: 1, resting: new LinkedList() });
  }

  discount(address: string): void {
    const counted = this.#addresses.get(address);
    if (counted === undefined) return;
    counted.strangers -= 1;
    if (counted.strangers === 0) this.#addresses.delete(address);
  }

  /** Called by a seat. */
  rested(seat: Seat): void {
    (seat.address === undefined ? this.#known : this.#strangers).push(seat.link);
    if (seat.address !== undefined) this.#addresses.get(seat.address)?.resting.push(seat.linkOfAddress);
  }

  /** Called by a seat. */
  left(): void {
    this.#taken -= 1;
  }

  #boundReached(address: string | undefined): 'connection_bound' | 'address_bound' | undefined {
    if (address !== undefined && this.isFull(address)) return 'address_bound';
    return this.#taken >= this.#max ? 'connection_bound' : undefined;
  }

  #restingOf(address: string | undefined): Link<Seat> | undefined {
    return address === undefined ? undefined : this.#addresses.get(address)?.resting.first;
  }
}

/** The seat of one connection. */
export class Seat {
  readonly link: Link<Seat> = new Link<Seat>(this);
  readonly linkOfAddress: Link<Seat> = new Link<Seat>(this);
  readonly #seats: Seats;
  /** The address of a stranger; undefined for one that is none, or no longer. */
  #address: string | undefined;
  #isTaken = true;
  /** Closes the connection. */
  close: () => void;

  constructor(seats: Seats, address: string | undefined, close: () => void) {
    this.#seats = seats;
    this.#address = address;
    this.close = close;
  }

  get address(): string | undefined {
    return this.#address;
  }

  /** It serves a request: it does not give way. */
  work(): void {
    this.link.remove();
    this.linkOfAddress.remove();
  }

  /** It serves none, from now on. */
  rest(): void {
    if (this.#isTaken) this.#seats.rested(this);
  }

  /** It has authenticated a request. */
  authenticated(): void {
    if (this.#address === undefined) return;
    this.#forgetAddress();
    // One that is at rest goes to the end of the others.
    if (this.link.list !== undefined) this.rest();
  }

  /** The connection is closed. */
  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.work();
    this.#forgetAddress();
    this.#seats.left();
  }

  #forgetAddress(): void {
    if (this.#address === undefined) return;
    this.linkOfAddress.remove();
    this.#seats.discount(this.#address);
    this.#address = undefined;
  }
}
