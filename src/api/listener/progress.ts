import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { LIMITS } from '../../domain/limits.ts';

/** Checks in the time in which a client must take something of its answer. */
export const CHECKS = 4;
const LEFT_MS_MAX = (LIMITS.kernelBytesPerConnectionMax * 1000) / LIMITS.leastBytesPerSecond;

/** The fields of node's handles that the public side of a socket does not show. */
interface Handle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

/**
 * Whether the client of a connection reads at least at the least speed. What it reads is not seen: the kernel takes
 * bytes in steps of up to a third of what it holds, and all of an answer that it has room for. So the client has the
 * time that it needs, at that speed, for what the kernel took, as far as the kernel may still hold it, and `graceMs`
 * beside it.
 */
export class Progress {
  /** The TCP socket: that of TLS does not know what the kernel has taken. */
  readonly #raw: Socket;
  readonly #graceMs: number;
  /** Undefined where nothing was to be taken. */
  #taken: number | undefined;
  /** The rest of the client's time for what the kernel took. */
  #leftMs = 0;
  /** How long it has been over. */
  #overMs = 0;

  /** @param graceMs for a client to take anything of an answer */
  constructor(raw: Socket, graceMs: number) {
    this.#raw = raw;
    this.#graceMs = graceMs;
  }

  /** Something long is about to be sent. */
  begin(): void {
    this.#taken ??= takenBytes(this.#raw);
  }

  /** Nothing is to be taken. */
  rest(): void {
    this.#taken = undefined;
    this.#leftMs = 0;
    this.#overMs = 0;
  }

  /**
   * Called every quarter of the grace.
   * @param response that is being sent; undefined where all were handed over
   * @returns whether a client that reads fast enough would have more by now
   */
  isSpent(response: ServerResponse | undefined): boolean {
    const everyMs = this.#graceMs / CHECKS;
    const taken = takenBytes(this.#raw);
    const moreMs = ((taken - (this.#taken ?? taken)) * 1000) / LIMITS.leastBytesPerSecond;
    const leftMs = Math.max(0, this.#leftMs - everyMs) + moreMs;
    // A response may be ended and owe nothing for a moment; one that goes on, such as a stream of events, for hours.
    const isOwed = response === undefined || response.writableEnded || isUntaken(this.#raw, response);
    const isOver = this.#taken === taken && leftMs === 0 && isOwed;
    this.#overMs = isOver ? this.#overMs + everyMs : 0;
    this.#taken = taken;
    this.#leftMs = Math.min(leftMs, LEFT_MS_MAX);
    return this.#overMs >= this.#graceMs;
  }
}

/** The bytes of a connection that the kernel has taken since it was opened. */
function takenBytes(raw: Socket): number {
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(raw) ?? {};
  return bytesWritten - writeQueueSize;
}

function isUntaken(raw: Socket, response: ServerResponse): boolean {
  return response.writableLength > 0 || (handleOf(raw)?.writeQueueSize ?? 0) > 0;
}

function handleOf(raw: Socket): Handle | undefined {
  const { _handle: handle } = raw as Socket & { readonly _handle?: Handle | null };
  return handle ?? undefined;
}
