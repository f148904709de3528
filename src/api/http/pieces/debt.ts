import type { Socket } from 'node:net';
import { LIMITS } from '../../../domain/limits.ts';
import type { Group } from './owed-pool.ts';

/** A connection, as far as it can owe something to its client. */
export interface Debtor {
  /** Undefined until its first long answer. */
  readonly debt: Debt | undefined;
  owes(debt: Debt): void;
  /** Closes the connection, of which the kernel keeps nothing. */
  giveUp(): void;
}

interface DebtorSocket extends Socket {
  debtor?: Debtor;
}

/** Tells who gives up the connection of a socket. */
export function setDebtor(socket: DebtorSocket, debtor: Debtor): void {
  socket.debtor = debtor;
}

export const debtorOf = (socket: DebtorSocket): Debtor | undefined => socket.debtor;

/** Gives up a connection whose client does not take what it asked for. */
export function giveUp(socket: Socket): void {
  const debtor = debtorOf(socket);
  if (debtor === undefined) socket.destroy();
  else debtor.giveUp();
}

/**
 * The long answers of one connection that its client is not known to have: the body of the one that is being sent, and
 * what was handed to the system, of all of them, since the client last sent a request that nothing waited for. Such a
 * request comes from a client that has read. Pipelined requests tell nothing, and neither does the end of the client's
 * side.
 */
export class Debt {
  readonly giveUp: () => void;
  #given = 0;
  #body: Buffer | undefined;
  #group: Group | undefined;

  constructor(giveUp: () => void) {
    this.giveUp = giveUp;
  }

  /** Whether the kernel may hold some of a long answer. */
  get isOpen(): boolean {
    return this.#given > 0;
  }

  /** A long answer begins. @param group of its client @param body that is kept for it; undefined where none is */
  begin(group: Group, body: Buffer | undefined): void {
    if (group !== this.#group) {
      this.leave();
      this.#group = group;
    }
    group.join(this, this.#given);
    this.#body = body;
    if (body !== undefined) group.hold(body);
  }

  /** The client has taken what it was given before, and is given so much more. */
  give(bytes: number): void {
    const more = Math.min(bytes, LIMITS.kernelBytesPerConnectionMax - this.#given);
    this.#given += more;
    this.#group?.moved(this, more);
  }

  /** The answer is closed: all of it was handed over, or its connection is closed. */
  end(): void {
    if (this.#body !== undefined) this.#group?.release(this.#body);
    this.#body = undefined;
  }

  /** The client has sent a request that nothing waited for. */
  prove(): void {
    if (this.#group !== undefined) this.leave();
  }

  /** Nothing is owed any more. */
  leave(): void {
    this.end();
    this.#group?.leave(this, this.#given);
    this.#group = undefined;
    this.#given = 0;
  }
}
