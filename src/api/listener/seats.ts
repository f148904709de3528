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
type SeatBound = 'connection_bound' | 'connection_evicted' | 'address_bound';

/** How much of a listener stays free for strangers at rest, however many connections have authenticated. */
const STRANGERS_PART = 1 / 4;
/** An account with more of a listener's connections at rest than this is large. There are a hundred at most. */
const LARGE_PART = 1 / 100;

/** Connections that have something in common: the strangers of one address, or those that one account has. */
interface Group {
  members: number;
  /** The ones of them that are at rest, the longest first. */
  readonly resting: Set<Seat>;
}

/**
 * The connections of a listener, and who gives way when there are too many of them. A stranger is a connection that has
 * not authenticated a request; a trusted proxy is none. A connection that has authenticated one counts for the account
 * of the first such request. At the bound the connection gives way that has been at rest longest:
 *
 * - of the strangers, while a quarter of all connections are strangers at rest. So a flood of them takes no more than
 *   that from the others, and a newcomer has its time to authenticate although all others have done so;
 * - else of the largest account, where there are large ones: nobody pays for an account that takes very many.
 */
export class Seats {
  readonly #max: number;
  readonly #perAddressMax: number;
  /** The connections at rest, the longest first. */
  readonly #strangers = new Set<Seat>();
  readonly #known = new Set<Seat>();
  readonly #addresses = new Map<string, Group>();
  readonly #accounts = new Map<string, Group>();
  readonly #largeAccounts = new Set<Group>();
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
      const gives = bound === 'address_bound' ? this.#longestRestingOf(address) : this.#longestResting();
      reached(bound === 'connection_bound' && gives !== undefined ? 'connection_evicted' : bound);
      if (gives === undefined) return undefined;
      gives.close();
      gives.leave();
    }
    this.#taken += 1;
    const seat = new Seat(this, address, close);
    if (address !== undefined) seat.group = this.count(address);
    seat.rest();
    return seat;
  }

  /** Whether an address has as many strangers as it may have. */
  isFull(address: string): boolean {
    return (this.#addresses.get(address)?.members ?? 0) >= this.#perAddressMax;
  }

  /** Counts a stranger of the address, until `discount`. */
  count(address: string): Group {
    return join(this.#addresses, address);
  }

  discount(address: string): void {
    quit(this.#addresses, address);
  }

  /** Called by a seat. */
  countAccount(account: string): Group {
    return join(this.#accounts, account);
  }

  /** Called by a seat. */
  discountAccount(account: string): void {
    quit(this.#accounts, account);
  }

  /** Called by a seat. */
  rested(seat: Seat): void {
    const { address, group } = seat;
    // The last one of its set, also where it was in it.
    this.#strangers.delete(seat);
    this.#known.delete(seat);
    (address === undefined ? this.#known : this.#strangers).add(seat);
    if (group === undefined) return;
    group.resting.delete(seat);
    group.resting.add(seat);
    if (address === undefined && this.#isLarge(group)) this.#largeAccounts.add(group);
  }

  /** Called by a seat. */
  worked(seat: Seat): void {
    const { address, group } = seat;
    this.#strangers.delete(seat);
    this.#known.delete(seat);
    group?.resting.delete(seat);
    if (address === undefined && group !== undefined && !this.#isLarge(group)) this.#largeAccounts.delete(group);
  }

  isAtRest(seat: Seat): boolean {
    return this.#strangers.has(seat) || this.#known.has(seat);
  }

  /** Called by a seat. */
  left(): void {
    this.#taken -= 1;
  }

  #isLarge({ resting }: Group): boolean {
    return resting.size > this.#max * LARGE_PART;
  }

  #boundReached(address: string | undefined): 'connection_bound' | 'address_bound' | undefined {
    if (address !== undefined && this.isFull(address)) return 'address_bound';
    return this.#taken >= this.#max ? 'connection_bound' : undefined;
  }

  #longestRestingOf(address: string | undefined): Seat | undefined {
    return address === undefined ? undefined : firstOf(this.#addresses.get(address)?.resting);
  }

  #longestResting(): Seat | undefined {
    const stranger = firstOf(this.#strangers);
    if (this.#strangers.size >= this.#max * STRANGERS_PART) return stranger;
    return firstOf(this.#largestAccount()?.resting) ?? firstOf(this.#known) ?? stranger;
  }

  #largestAccount(): Group | undefined {
    let largest: Group | undefined;
    for (const account of this.#largeAccounts) {
      if (largest === undefined || account.resting.size > largest.resting.size) largest = account;
    }
    return largest;
  }
}

const firstOf = (resting: ReadonlySet<Seat> | undefined): Seat | undefined => resting?.values().next().value;

function join(groups: Map<string, Group>, name: string): Group {
  let group = groups.get(name);
  if (group === undefined) groups.set(name, (group = { members: 0, resting: new Set() }));
  group.members += 1;
  return group;
}

function quit(groups: Map<string, Group>, name: string): void {
  const group = groups.get(name);
  if (group === undefined) return;
  group.members -= 1;
  if (group.members === 0) groups.delete(name);
}

/** The seat of one connection. */
export class Seat {
  /** The seats of the same address, or of the same account; undefined for a trusted proxy. */
  group: Group | undefined;
  readonly #seats: Seats;
  /** The address of a stranger; undefined for one that is none, or no longer. */
  #address: string | undefined;
  #account: string | undefined;
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
    this.#seats.worked(this);
  }

  /** It serves none, from now on. */
  rest(): void {
    if (this.#isTaken) this.#seats.rested(this);
  }

  /** It has authenticated a request of the account. */
  authenticated(account: string): void {
    if (this.#address === undefined) return;
    const isAtRest = this.#seats.isAtRest(this);
    this.#leaveGroup();
    this.#account = account;
    this.group = this.#seats.countAccount(account);
    // It goes to the end of the others.
    if (isAtRest) this.rest();
  }

  /** The connection is closed. */
  leave(): void {
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#leaveGroup();
    this.#seats.left();
  }

  #leaveGroup(): void {
    this.work();
    if (this.#address !== undefined) this.#seats.discount(this.#address);
    if (this.#account !== undefined) this.#seats.discountAccount(this.#account);
    this.#address = this.#account = this.group = undefined;
  }
}
