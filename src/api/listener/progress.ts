import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Checks in a row that find nothing taken of a response before it is given up. */
export const STALLED_CHECKS = 4;

/** Whether the client of a connection takes what it is sent. */
export class Progress {
  readonly #socket: Socket;
  #response: ServerResponse | undefined;
  #untaken = 0;
  #given = 0;
  #checks = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
  }

  /**
   * Called at regular intervals.
   * @param response that is being sent
   * @returns whether the client has taken nothing of it for `STALLED_CHECKS` of them
   */
  isStalled(response: ServerResponse | undefined): boolean {
    const untaken = response?.headersSent === true ? untakenBytes(this.#socket) : 0;
    // A response may be ended and owe nothing for a moment; one that goes on, such as a stream of events, for hours.
    const isOwed = untaken > 0 || response?.writableEnded === true;
    const given = this.#socket.bytesWritten;
    const isSame = response === this.#response && untaken === this.#untaken && given === this.#given;
    this.#checks = isOwed && isSame ? this.#checks + 1 : 0;
    this.#response = response;
    this.#untaken = untaken;
    this.#given = given;
    return this.#checks >= STALLED_CHECKS;
  }
}

/** The fields of node's handles that the public side of a socket does not show. A handle of TLS has that of TCP below it. */
interface Handle {
  readonly writeQueueSize?: number;
  readonly _parent?: Handle | null;
}

/**
 * A number that changes whenever the kernel takes bytes. The public length counts a buffer as a whole until its last
 * byte is taken; the handle has what is left of it, and node's own idle time of a socket goes by that.
 */
function untakenBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: Handle | null };
  const { writeQueueSize = 0, _parent: below } = handle ?? {};
  return socket.writableLength + writeQueueSize + (below?.writeQueueSize ?? 0);
}
