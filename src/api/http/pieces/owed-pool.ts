/** The debt of one connection. */
interface Owing {
  /** Nothing is owed any more. */
  leave(): void;
  /** Gives up the connection. */
  readonly giveUp: () => void;
}

/** Bytes that lie in memory: what was handed over for each connection, and each body once, however many share it. */
class Held {
  bytes = 0;
  readonly #bodies = new Map<Buffer, number>();

  hold(body: Buffer): void {
    const holders = this.#bodies.get(body) ?? 0;
    if (holders === 0) this.bytes += body.length;
    this.#bodies.set(body, holders + 1);
  }

  release(body: Buffer): void {
    const holders = this.#bodies.get(body) ?? 0;
    if (holders > 1) return void this.#bodies.set(body, holders - 1);
    if (this.#bodies.delete(body)) this.bytes -= body.length;
  }
}

/** The debts of one principal. */
export class Group {
  readonly #pool: OwedPool;
  readonly #name: string;
  readonly held = new Held();
  /** The one that moved last comes last. */
  readonly debts = new Set<Owing>();

  constructor(pool: OwedPool, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  join(debt: Owing, given: number): void {
    if (!this.debts.has(debt)) this.#add(given);
    this.#touch(debt);
  }

  leave(debt: Owing, given: number): void {
    if (!this.debts.delete(debt)) return;
    this.#add(-given);
    if (this.debts.size === 0) this.#pool.forget(this.#name);
  }

  moved(debt: Owing, more: number): void {
    this.#add(more);
    this.#touch(debt);
    this.#pool.trim();
  }

  hold(body: Buffer): void {
    this.held.hold(body);
    this.#pool.held.hold(body);
    this.#pool.trim();
  }

  release(body: Buffer): void {
    this.held.release(body);
    this.#pool.held.release(body);
  }

  #add(bytes: number): void {
    this.held.bytes += bytes;
    this.#pool.held.bytes += bytes;
  }

  #touch(debt: Owing): void {
    this.debts.delete(debt);
    this.debts.add(debt);
  }
}

/** Debts with one bound. Above it the principal that holds most gives up the one that has not moved for longest. */
export class OwedPool {
  readonly held = new Held();
  readonly #max: number;
  readonly #groups = new Map<string, Group>();

  /** @param max bytes, all in all */
  constructor(max: number) {
    this.#max = max;
  }

  /** The bytes that are owed now. */
  get sum(): number {
    return this.held.bytes;
  }

  /** The group of a principal. */
  of(principal: string): Group {
    let group = this.#groups.get(principal);
    if (group === undefined) {
      group = new Group(this, principal);
      this.#groups.set(principal, group);
    }
    return group;
  }

  /** Called by a group without a debt. */
  forget(principal: string): void {
    this.#groups.delete(principal);
  }

  /** Called by a group that has grown. */
  trim(): void {
    while (this.held.bytes > this.#max) {
      const [longest] = this.#largest()?.debts ?? [];
      if (longest === undefined) return;
      longest.leave();
      longest.giveUp();
    }
  }

  #largest(): Group | undefined {
    let largest: Group | undefined;
    for (const group of this.#groups.values()) {
      if (largest === undefined || group.held.bytes > largest.held.bytes) largest = group;
    }
    return largest;
  }
}
