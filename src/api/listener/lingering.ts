import { Socket } from 'node:net';
import type { Debt } from '../http/pieces/debt.ts';

/**
 * The end of a connection on which long answers were sent. A closed socket leaves to the kernel what its client has not
 * read, which lies there for minutes and is counted for nobody. So such a socket is ended, and stays counted until its
 * client has had the time to read: then it is reset, which frees the kernel's part. Whatever closes a connection,
 * node's own code as well, does so by `destroy`.
 */
export class Lingering {
  readonly #socket: Socket;
  readonly #raw: Socket;
  readonly #debt: Debt;
  readonly #began: () => void;
  #isOver = false;
  isLingering = false;

  /** @param raw the TCP socket @param began is called when the connection has ended and its client may still read */
  constructor(socket: Socket, raw: Socket, debt: Debt, began: () => void) {
    this.#socket = socket;
    this.#raw = raw;
    this.#debt = debt;
    this.#began = began;
    socket.destroy = (error?: Error) => this.#destroy(error);
  }

  /** From here on the connection is closed at once, like every other one. */
  stop(): void {
    this.#isOver = true;
    if (this.isLingering) this.#socket.destroy();
  }

  /** As `reset`. */
  reset(error?: Error): void {
    this.#isOver = true;
    reset(this.#socket, this.#raw, error);
  }

  #destroy(error: Error | undefined): Socket {
    const socket = this.#socket;
    if (this.#isOver || !this.#debt.isOpen || this.#raw.destroyed) return Socket.prototype.destroy.call(socket, error);
    if (this.isLingering) return socket;
    if (error !== undefined || socket.writableLength > 0) {
      this.reset(error);
      return socket;
    }
    this.isLingering = true;
    socket.end();
    this.#began();
    return socket;
  }
}

/** Closes a connection of which the kernel keeps nothing. @param raw the TCP socket; the same one without TLS */
export function reset(socket: Socket, raw: Socket, error?: Error): void {
  // The system does not reset what it is about to shut down, and node would then keep it open.
  const isShuttingDown = socket.writableEnded && !socket.writableFinished;
  if (!isShuttingDown && !raw.destroyed) raw.resetAndDestroy();
  socket.destroy(error);
}
