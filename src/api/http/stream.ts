import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Debt } from './pieces/debt.ts';

/**
 * Sends the pieces and ends the response. A piece is asked for only when the client has taken most of those before, so
 * that memory holds one of them. The iteration ends when the client is gone: the listener gives up one that takes
 * nothing for `LIMITS.untakenMs`.
 * @param debt counts what the client has not taken
 * @throws whatever the pieces throw; the response is then broken off
 */
export async function sendPieces(response: ServerResponse, pieces: AsyncIterable<string>, debt: Debt): Promise<void> {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  try {
    for await (const piece of pieces) {
      if (response.destroyed) return;
      debt.give(Buffer.byteLength(piece));
      if (response.req.socket.destroyed) return;
      if (!response.write(piece)) await taken(response, closed.signal);
      if (response.destroyed) return;
      // Pieces that are ready at once, with a fast client, would leave no turn of the event loop to other requests.
      await nextTurn();
    }
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  }
}

async function taken(response: ServerResponse, closed: AbortSignal): Promise<void> {
  await once(response, 'drain', { signal: closed }).catch(() => undefined);
}
