import type { Reply } from '../http/reply.ts';

/**
 * A12: a download lasts for as long as its client takes it, and its reader's right may end before. So its reader is
 * judged anew before each piece is sent; what `judge` throws breaks the download off.
 */
export function whileJudged(reply: Reply, judge: () => Promise<void>): Reply {
  if (!('stream' in reply)) return reply;
  const begin = async () => {
    const stream = await reply.stream();
    return {
      pieces: () => judged(stream.pieces(), judge),
      [Symbol.asyncDispose]: async () => await stream[Symbol.asyncDispose](),
    };
  };
  return { ...reply, stream: begin };
}

async function* judged(pieces: AsyncIterable<string>, judge: () => Promise<void>): AsyncGenerator<string, void> {
  for await (const piece of pieces) {
    await judge();
    yield piece;
  }
}
